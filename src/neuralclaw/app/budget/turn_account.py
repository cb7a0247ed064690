"""The caps of one turn, and what each of its model calls reserves under them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import msgspec

from ...config import LoadedSettings
from ...errors import BudgetError, CapReached, ConfigError
from ...lookups import session as session_row
from ...ports import Clock, Store
from ...types.ids import new_id
from ...types.messages import AssistantMessage, ModelInfo, Price, Request, ToolMessage, Usage, UserMessage
from ...types.options import TurnOptions
from ...types.records import Caps, Reservation, SpentReservation

OUTPUT = 4096
"""Tokens of a reply at most, where neither the settings nor the request say."""
LEAST_OUTPUT = 16
"""Tokens of a reply that are worth a call; OpenAI's Responses refuse fewer."""
IMAGE_TOKENS = 5000
"""Tokens of a picture at most: 4,784 for the largest that Anthropic takes without making it smaller, fewer with OpenAI."""
PER_MESSAGE = 16
"""Tokens around a message."""
CACHE_WRITE = 1.25
"""What a token costs that is written into the service's prompt cache, in those of the prompt (Anthropic)."""
_TRIES = 4


class HeldCall(msgspec.Struct, frozen=True):
    """What is reserved for one call, and what it is made of."""

    id: str
    max_tokens: int
    prompt_tokens: int
    price: Price


class TurnAccount:
    """Reserves the calls of a turn of a session. `root`: the session and turn that they count for, another one's where the session works for it.
    `of_run`: the cap of the turn is that of its run (`--max-budget-usd`)."""

    def __init__(self, store: Store, session: str, root: tuple[str, int], caps: Callable[[], Caps], *, of_run: bool) -> None:
        self._store, self._session, self._root, self._caps = store, session, root, caps
        self._run_cap = of_run

    async def reserve(self, request: Request, info: ModelInfo) -> HeldCall:
        """See `providers.metered.SpendingAccount`. The reply gets as many tokens as fit under every cap."""
        caps, price = self._caps(), info.price
        if price is None and caps.money:
            raise BudgetError(f"the price of {request.model} is not known, so that no cap of money can be kept; it was not asked", hint=UNPRICED)
        price = price or Price(0.0, 0.0)
        prompt, output = prompt_tokens(request), request.max_tokens or OUTPUT
        for _ in range(_TRIES):
            held = HeldCall(new_id(16), output, prompt, price)
            row = Reservation(id=held.id, root=self._root, usd=cost(price, prompt, output), tokens=prompt + output, caps=caps)
            try:
                await self._store.append(self._session, [], rows=[row])
            except CapReached as reached:
                room = _room(reached, price, prompt)
                if room < LEAST_OUTPUT or room >= output:
                    raise _told(reached, self._run_cap) from reached
                output = room
            else:
                return held
        raise BudgetError("the caps were passed by other calls at the same time; the model was not asked", hint="try again")

    async def spend(self, reservation: HeldCall, usage: Usage | None, text_bytes: int) -> None:
        """See `providers.metered.SpendingAccount`."""
        prompt, price = reservation.prompt_tokens, reservation.price
        if usage is None:
            output = min(reservation.max_tokens, text_bytes)
            row = SpentReservation(reservation.id, cost(price, prompt, output), prompt + output)
        else:
            row = SpentReservation(reservation.id, cost(price, usage.input, usage.output) if usage.usd is None else usage.usd, usage.input + usage.output)
        await self._store.append(self._session, [], rows=[row])


UNPRICED = "give its price: llm.providers.SERVICE.models.MODEL.price, or take the cap out"


async def account_of(store: Store, clock: Clock, loaded: LoadedSettings, session: str, turn: int, options: TurnOptions) -> TurnAccount | None:
    """The account of a turn; None where it has no cap."""
    caps = caps_of(loaded, options)
    if caps == Caps():
        return None
    root = (session, turn)
    if options.origin.parent:
        row = await session_row(store, options.origin.parent)
        root = (options.origin.parent, row.open_turn or row.last_turn) if row is not None else root
    zone = loaded.settings.scheduler.timezone
    of_run = options.budget_usd is not None and options.budget_usd == caps.turn_usd
    return TurnAccount(store, session, root, lambda: msgspec.structs.replace(caps, day=day_of(clock.now(), zone)), of_run=of_run)


def caps_of(loaded: LoadedSettings, options: TurnOptions) -> Caps:
    """The caps of a turn under these options, without the day. Of two caps of the turn the lower one holds."""
    budget = loaded.settings.budget
    turn = [cap for cap in (budget.turn_usd, options.budget_usd) if cap is not None]
    return Caps(turn_usd=min(turn) if turn else None, session_usd=budget.session_usd, day_usd=budget.day_usd, turn_tokens=budget.turn_tokens)


def check_priced(caps: Caps, infos: dict[str, ModelInfo]) -> None:
    """Raises `ConfigError` where a cap of money stands over a model without a known price. `infos`: all models that may be asked, by their full names."""
    unknown = [name for name, info in infos.items() if info.price is None]
    if caps.money and unknown:
        raise ConfigError(f"the price of {', '.join(unknown)} is not known, so that the cap of money cannot be kept; nothing was run", hint=UNPRICED)


def day_of(now: float, zone: str) -> tuple[int, int]:
    """From when to when the day lasts that `now` (epoch seconds) is in, in that time zone; epoch microseconds."""
    here = datetime.fromtimestamp(now, time_zone(zone))
    begins = here.replace(hour=0, minute=0, second=0, microsecond=0)
    ends = (begins + timedelta(days=1)).replace(tzinfo=begins.tzinfo)
    return round(begins.timestamp() * 1_000_000), round(ends.timestamp() * 1_000_000)


def time_zone(name: str) -> tzinfo:
    """A time zone of the settings, which are checked. UTC needs no table of the system."""
    return UTC if name == "UTC" else ZoneInfo(name)


def cost(price: Price, prompt: int, output: int) -> float:
    """USD at most of a prompt and a reply of so many tokens."""
    held = price.of(prompt)
    return (prompt * held.input * CACHE_WRITE + output * held.output) / 1_000_000


def prompt_tokens(request: Request) -> int:
    """Tokens of a prompt at most: one for two bytes of ASCII, which is twice what tokenizers make of English and code, one for each byte of other letters."""
    texts = [request.system, request.environment, *(text for tool in request.tools for text in (tool.name, tool.description))]
    texts += [msgspec.json.encode(tool.parameters).decode() for tool in request.tools]
    pictures = 0
    for message in request.messages:
        if isinstance(message, UserMessage | ToolMessage):
            texts.append(message.text if isinstance(message, UserMessage) else message.content)
            pictures += len(message.images)
        elif isinstance(message, AssistantMessage):
            texts += [message.text, message.reasoning, *(msgspec.json.encode(call).decode() for call in message.tool_calls)]
            texts += [msgspec.json.encode(message.state).decode()] if message.state is not None else []
    if request.answer_schema is not None:
        texts.append(msgspec.json.encode(request.answer_schema).decode())
    letters = sum(map(len, texts))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    others = min(size, (size - letters) * 3 // 2)  # bytes of letters beyond ASCII, which have two to four each
    return (size - others + 1) // 2 + others + pictures * IMAGE_TOKENS + PER_MESSAGE * (len(request.messages) + len(request.tools) + 1)


_REMEDIES = {
    "budget.turn_usd": "the next turn begins at nothing; budget.turn_usd raises the cap",
    "budget.turn_tokens": "the next turn begins at nothing; budget.turn_tokens raises the cap",
    "budget.session_usd": "a new session begins at nothing; budget.session_usd raises the cap",
    "budget.day_usd": "the cap of the day ends with the day (scheduler.timezone); budget.day_usd raises it",
}


def _told(reached: CapReached, of_run: bool) -> BudgetError:
    """What a person is told of a cap that a call does not fit under."""
    if reached.cap == "budget.turn_tokens":
        return BudgetError(f"{reached.cap} ({reached.limit:g} tokens, {reached.spent:g} spent)", hint=_REMEDIES[reached.cap])
    name, hint = reached.cap, _REMEDIES[reached.cap]
    if of_run and name == "budget.turn_usd":
        name, hint = "--max-budget-usd", "the next turn begins at nothing; --max-budget-usd X raises the cap"
    return BudgetError(f"{name} ({reached.limit:g} USD, {reached.spent:.6f} spent or reserved)", hint=hint)


def _room(reached: CapReached, price: Price, prompt: int) -> int:
    """Tokens of a reply that the cap has room for."""
    left = reached.limit - reached.spent
    if reached.cap == "budget.turn_tokens":
        return int(left) - prompt
    held = price.of(prompt)
    return int((left * 1_000_000 - prompt * held.input * CACHE_WRITE) / held.output) if held.output > 0 else 0
