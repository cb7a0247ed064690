"""The slash commands of the chat: only those whose rooms stand."""

from . import output
from .conversation import Chat, SlashTable
from .parsing import UsageError
from .run import TRUST


def _idle(chat: Chat) -> None:
    if chat.running:
        raise UsageError("a turn runs: /stop it first")


async def _help(chat: Chat, rest: str) -> None:
    chat.say("\n".join(f"/{name:14}{text}" for name, (text, _) in chat.commands.items()))


async def _new(chat: Chat, rest: str) -> None:
    _idle(chat)
    chat.session = rest or None
    chat.say(f"session {rest}" if rest else "a new session begins with the next message")


async def _sessions(chat: Chat, rest: str) -> None:
    rows = output.plain(await chat.agent.do("sessions.list"))
    chat.say("\n".join(f"{row['session']}  {row['state']}  {row['updated']}  {row['title']}" for row in rows) or "there is no session yet")


async def _resume(chat: Chat, rest: str) -> None:
    _idle(chat)
    shown = output.plain(await chat.agent.do("sessions.show", session=rest))
    chat.session = str(shown["session"])
    chat.say(f"session {chat.session}: {shown['title']}")


async def _trust(chat: Chat, rest: str) -> None:
    if rest not in TRUST:
        raise UsageError(f"/trust wants one of {', '.join(TRUST)}")
    chat.options["trust"] = rest
    chat.say(f"trust {rest} from the next message on, until you leave")


async def _model(chat: Chat, rest: str) -> None:
    if ":" not in rest:
        raise UsageError("/model wants PROVIDER:MODEL")
    chat.options["model"] = rest
    chat.say(f"model {rest} from the next message on")


async def _tools(chat: Chat, rest: str) -> None:
    rows = output.plain(await chat.agent.do("tools.list"))
    chat.say("\n".join(f"{row['name']:16}{row['risk']:10}{row['description'].splitlines()[0]}" for row in rows))


async def _queue(chat: Chat, rest: str) -> None:
    if not rest:
        raise UsageError("/queue wants a text")
    chat.queued.append(rest)


async def _stop(chat: Chat, rest: str) -> None:
    await chat.interrupted()


async def _approve(chat: Chat, rest: str) -> None:
    await chat.answer(rest or "once")


async def _deny(chat: Chat, rest: str) -> None:
    await chat.answer("no")


async def _quit(chat: Chat, rest: str) -> None:
    chat.leaving = True
    if chat.running and chat.session is not None:
        await chat.agent.cancel(chat.session)


SLASH: SlashTable = {
    "help": ("this", _help),
    "new": ("[ID]: begin another session", _new),
    "sessions": ("the sessions", _sessions),
    "resume": ("ID: go on with a session", _resume),
    "model": ("P:M: change the model", _model),
    "trust": ("low|medium|high: how much runs without asking", _trust),
    "tools": ("what the agent can do", _tools),
    "approve": ("[session|always]: yes to the question on the screen", _approve),
    "deny": ("no to the question on the screen", _deny),
    "queue": ("TEXT: send it when the running turn has ended", _queue),
    "stop": ("stop the running turn", _stop),
    "quit": ("leave", _quit),
}
