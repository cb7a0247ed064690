"""The slash commands of the chat: only those whose rooms stand."""

from ..errors import NeuralClawError, UsageError
from . import output
from .conversation import Chat, SlashCommand
from .parsing import did_you_mean
from .words import TRUST


def _idle(chat: Chat) -> None:
    if chat.running:
        raise UsageError("a turn runs: /stop it first")


async def _help(chat: Chat, rest: str) -> None:
    groups: dict[str, list[str]] = {}
    for name, command in chat.commands.items():
        groups.setdefault(command.group, []).append(f"  {f'/{name} {command.takes}'.rstrip():28}{command.does}")
    chat.say("\n".join(line for group, lines in groups.items() for line in (group, *lines)))


async def _new(chat: Chat, rest: str) -> None:
    _idle(chat)
    chat.session = rest or None
    chat.face.standing.reset()
    if chat.session is not None:
        await chat.look(chat.session)
    chat.say(f"session {rest}" if rest else "a new session begins with the next message")


async def _sessions(chat: Chat, rest: str) -> None:
    rows = output.plain(await chat.agent.do("sessions.list"))
    chat.say("\n".join(f"{row['session']}  {row['state']}  {row['updated']}  {row['title']}" for row in rows) or "there is no session yet")


async def _resume(chat: Chat, rest: str) -> None:
    _idle(chat)
    if not rest:
        await _sessions(chat, rest)
        return
    shown = output.plain(await chat.agent.do("sessions.show", session=rest))
    chat.session = str(shown["session"])
    await chat.look(chat.session)
    chat.say(f"session {chat.session}: {shown['title']}")
    if shown["state"] not in ("idle", "running"):
        chat.pick_up()


async def _trust(chat: Chat, rest: str) -> None:
    if not rest:
        chat.say(f"trust {chat.options.get('trust') or chat.agent.trust}; /trust {'|'.join(TRUST)} changes it")
        return
    if rest not in TRUST:
        raise UsageError(f"/trust wants one of {', '.join(TRUST)}{did_you_mean(rest, TRUST)}")
    chat.options["trust"] = rest
    chat.say(f"trust {rest} from the next message on, until you leave")


async def _model(chat: Chat, rest: str) -> None:
    if not rest:
        found = output.plain(await chat.agent.do("models.list"))
        chat.say("\n".join(f"{'* ' if row['model'] == chat.face.standing.model else '  '}{row['model']:40} {row['context']:>9,} tokens" for row in found))
        return
    told = output.plain(await chat.agent.do("models.show", model=rest, usable=True))
    chat.options["model"] = told["model"]
    chat.face.standing.model, chat.face.standing.window = told["model"], told["context"]
    chat.say(f"model {told['model']} from the next message on")


async def _tools(chat: Chat, rest: str) -> None:
    rows = output.plain(await chat.agent.do("tools.list"))
    chat.say("\n".join(f"{row['name']:16}{row['risk']:10}{row['description'].splitlines()[0]}" for row in rows))


async def _cost(chat: Chat, rest: str) -> None:
    chat.say(f"this session: {chat.face.standing.summary()}")


async def _queue(chat: Chat, rest: str) -> None:
    if not rest:
        raise UsageError("/queue wants a text")
    chat.queue(rest)


async def _stop(chat: Chat, rest: str) -> None:
    if not chat.running:
        raise UsageError("no turn runs")
    await chat.interrupted()


async def _approve(chat: Chat, rest: str) -> None:
    await chat.answer(rest or "once")


async def _deny(chat: Chat, rest: str) -> None:
    await chat.answer("no", rest or None)


async def _quit(chat: Chat, rest: str) -> None:
    try:
        await chat.leave()
    except NeuralClawError as error:
        chat.told(error)


_SESSION, _TURN, _AGENT, _CHAT = "Sessions", "The running turn", "The agent", "The chat"

SLASH = {
    "new": SlashCommand(_SESSION, "[ID]", "begin another session", _new),
    "sessions": SlashCommand(_SESSION, "", "the sessions", _sessions),
    "resume": SlashCommand(_SESSION, "ID", "go on with a session", _resume),
    "approve": SlashCommand(_TURN, "[session|always]", "yes to the question on the screen", _approve),
    "deny": SlashCommand(_TURN, "[TEXT]", "no to the question on the screen; the model reads TEXT", _deny),
    "queue": SlashCommand(_TURN, "TEXT", "send it when the running turn has ended", _queue),
    "stop": SlashCommand(_TURN, "", "stop the running turn", _stop),
    "model": SlashCommand(_AGENT, "[P:M]", "the models there are, or change the model", _model),
    "trust": SlashCommand(_AGENT, "low|medium|high", "how much runs without asking", _trust),
    "tools": SlashCommand(_AGENT, "", "what the agent can do", _tools),
    "cost": SlashCommand(_AGENT, "", "tokens and money of this session", _cost),
    "help": SlashCommand(_CHAT, "", "this", _help),
    "quit": SlashCommand(_CHAT, "", "leave", _quit),
}
