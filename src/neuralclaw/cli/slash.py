"""The slash commands of the chat that there are."""

import os

from ..app.capabilities import capabilities_of
from ..app.option_checks import new_session
from ..channels.value_text import sentence, value_text
from ..errors import NeuralClawError, UsageError
from ..plugins import CAPABILITIES, load
from ..types.suggestions import did_you_mean
from . import output
from .conversation import Chat, SlashCommand
from .option_choices import TRUST
from .status_text import status_rows

_COLUMNS = ("session", "state", "updated", "title")
_HEADING = tuple(name.upper() for name in _COLUMNS)
_LEAST = (2, 3)
"""Columns that a narrow screen does without, the first one first."""


def _idle(chat: Chat) -> None:
    if chat.running:
        raise UsageError("a turn runs: /stop it first")


_KEYS = (
    ("Enter", "send; Alt-Enter or Ctrl-J begins a line"),
    ("Tab", "complete a command, or a file after @"),
    ("Esc, Ctrl-C", "stop the running turn"),
    ("Ctrl-O", "show thinking and output of the last turn whole; again, or Esc, closes them"),
    ("Ctrl-R", "search what was typed before"),
    ("Ctrl-D", "leave"),
)
"""Keys of the chat at a terminal, and what they do."""


async def _help(chat: Chat, rest: str) -> None:
    if rest:
        _help_of(chat, rest.removeprefix("/"))
        return
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, command in chat.commands.items():
        groups.setdefault(command.group, []).append((f"  /{name} {command.takes}".rstrip(), command.does))
    if chat.interface.keys:
        groups["Keys"] = [(f"  {key}", does) for key, does in _KEYS]
    names = max(len(name) for rows in groups.values() for name, _ in rows)
    for group, rows in groups.items():
        chat.say(group)
        chat.table([(name.ljust(names), does) for name, does in rows])


def _help_of(chat: Chat, name: str) -> None:
    command = chat.commands.get(name)
    if command is None:
        raise UsageError(f"there is no /{name}", hint="/help shows the commands")
    if command.help is not None:
        chat.say(command.help())
        return
    chat.table([(f"/{name} {command.takes}".rstrip(), command.does)])
    if name in _NOUNS:
        help_of_rows = _rows(chat, name).help
        assert help_of_rows is not None, "a command that is made from rows"
        chat.say(help_of_rows())


async def _new(chat: Chat, rest: str) -> None:
    _idle(chat)
    chat.session = new_session(rest) if rest else None
    chat.interface.session_status.reset()
    if chat.session is not None:
        await chat.look(chat.session)
    chat.say(f"session {rest}" if rest else "a new session begins with the next message")


async def _export(chat: Chat, rest: str) -> None:
    if chat.session is None:
        raise UsageError("there is no session yet: it begins with the first message")
    name = rest or f"{chat.session}.md"
    file = os.path.join(chat.client.defaults.turn.workspace, os.path.expanduser(name))  # noqa: ASYNC240, PTH111, PTH118
    done = await chat.desk.do("sessions.export", session=chat.session, output=file, markdown=not name.endswith(".json"))
    chat.say(str(load("record.exported")(done)))


async def _fork(chat: Chat, rest: str) -> None:
    _idle(chat)
    if chat.session is None:
        raise UsageError("there is no session yet: it begins with the first message")
    done = output.plain(await chat.desk.do("sessions.fork", session=f"{chat.session}@{rest}" if rest else chat.session))
    chat.session = str(done["session"])
    await chat.look(chat.session)
    chat.say("\n".join(line for line, _ in load("record.forked")(done)))


async def _compact(chat: Chat, rest: str) -> None:
    if rest not in ("", "preview"):
        raise UsageError(f"/compact takes preview or nothing, not {rest!r}; nothing was changed", hint="/compact preview shows what would be summarised")
    _idle(chat)
    if chat.session is None:
        raise UsageError("there is no session yet: it begins with the first message")
    done = output.plain(await chat.desk.do("sessions.compact", session=chat.session, preview=bool(rest)))
    chat.say("\n".join(line for line, _ in load("record.compacted")(done)))


def _rows(chat: Chat, noun: str) -> SlashCommand:
    """The command of a noun that is made from the rows of its verbs."""
    found: SlashCommand = load("chat.rows")(capabilities_of(chat.client.settings), [noun])[noun]
    return found


async def _row(chat: Chat, noun: str, rest: str) -> None:
    await _rows(chat, noun).run(chat, rest)


async def _sessions(chat: Chat, rest: str) -> None:
    if rest:
        await _row(chat, "sessions", rest)
        return
    rows = output.plain(await chat.desk.do("sessions.list"))
    if rows:
        seen = [value_text(row) for row in rows]
        chat.table([_HEADING, *([str(row[name] or "-") for name in _COLUMNS] for row in seen)], drop=_LEAST)
    else:
        chat.say("there is no session yet")


async def _resume(chat: Chat, rest: str) -> None:
    _idle(chat)
    if not rest:
        await _sessions(chat, "")
        chat.say("/resume ID resumes one of them; the first characters of its ID are enough")
        return
    shown = output.plain(await chat.desk.do("sessions.show", session=rest))
    chat.session = str(shown["session"])
    await chat.look(chat.session)
    chat.say(f"session {chat.session}: {shown['title']}")
    if shown["state"] not in ("idle", "running"):
        chat.pick_up()


def _from_when(chat: Chat) -> str:
    """From when on a new option holds: a turn keeps those of the message that began it, and a message those that it was sent under."""
    return "from the next turn on (what was sent before keeps its own), " if chat.running else "from the next message on, "


async def _trust(chat: Chat, rest: str) -> None:
    if not rest:
        chat.say(f"trust {chat.options.get('trust') or chat.client.defaults.turn.trust}; /trust {'|'.join(TRUST)} changes it")
        return
    if rest not in TRUST:
        raise UsageError(f"/trust requires one of {', '.join(TRUST)}{did_you_mean(rest, TRUST)}")
    chat.options["trust"] = rest
    chat.say(f"trust {rest} {_from_when(chat)}until you leave")


async def _models(chat: Chat, rest: str) -> None:
    if rest:
        await _row(chat, "models", rest)
        return
    found = output.plain(await chat.desk.do("models.list"))
    now = chat.interface.session_status.model
    chat.table([(f"{'*' if row['model'] == now else ' '} {row['model']}", f"{row['context']:>11,} tokens") for row in found])
    chat.say("/model P:M changes the model")


async def _model(chat: Chat, rest: str) -> None:
    if not rest:
        await _models(chat, rest)
        return
    told = output.plain(await chat.desk.do("models.show", model=rest, usable=True))
    chat.options["model"] = told["model"]
    chat.interface.session_status.model, chat.interface.session_status.window = told["model"], told["context"]
    chat.say(f"model {told['model']} {_from_when(chat)}".rstrip(", "))


async def _tools(chat: Chat, rest: str) -> None:
    if rest:
        await _row(chat, "tools", rest)
        return
    rows = output.plain(await chat.desk.do("tools.list"))
    chat.table([(row["name"], row["risk"], sentence(row["description"])) for row in rows])


async def _cost(chat: Chat, rest: str) -> None:
    chat.say(f"this session: {chat.interface.session_status.summary()}")


async def _status(chat: Chat, rest: str) -> None:
    told = output.plain(await chat.desk.do("status", session=chat.session))
    told["trust"] = chat.options.get("trust") or told["trust"]
    session_status = chat.interface.session_status
    chat.table(status_rows(told, model=session_status.model, used=session_status.summary(), queued=session_status.queued))


async def _clear(chat: Chat, rest: str) -> None:
    if not chat.interface.clear():
        raise UsageError("this screen cannot be cleared")


async def _queue(chat: Chat, rest: str) -> None:
    if not rest:
        raise UsageError("/queue requires a text")
    await chat.queue(rest)


async def _stop(chat: Chat, rest: str) -> None:
    if not chat.running:
        raise UsageError("no turn runs")
    await chat.stop()


async def _approve(chat: Chat, rest: str) -> None:
    await chat.answer(rest or "once")


async def _deny(chat: Chat, rest: str) -> None:
    await chat.answer("no", rest or None)


async def _quit(chat: Chat, rest: str) -> None:
    try:
        await chat.leave()
    except NeuralClawError as error:
        chat.show_error(error)


_MODELS = "|".join(name.partition(".")[2] for name in CAPABILITIES["models"].verbs)
_NOUNS = ("sessions", "models", "tools")
"""Commands that show something of their own without an argument, and run a verb's row with one."""
_SESSION, _TURN, _AGENT, _CHAT = "Sessions", "The running turn", "The agent", "The chat"

SLASH = {
    "new": SlashCommand(_SESSION, "[ID]", "begin another session", _new),
    "sessions": SlashCommand(_SESSION, "[list|show|VERB …]", "the sessions", _sessions),
    "export": SlashCommand(_SESSION, "[FILE]", "write the session to a file, as Markdown or .json", _export),
    "fork": SlashCommand(_SESSION, "[TURN]", "go on in a new session from the end of this turn, or the last one", _fork),
    "compact": SlashCommand(_SESSION, "[preview]", "summarise what was said before the newest turn", _compact),
    "resume": SlashCommand(_SESSION, "ID", "resume a session", _resume),
    "approve": SlashCommand(_TURN, "[session|always]", "yes to the question on the screen", _approve),
    "deny": SlashCommand(_TURN, "[TEXT]", "no to the question; the model reads TEXT", _deny),
    "queue": SlashCommand(_TURN, "TEXT", "send it when the running turn has ended", _queue),
    "stop": SlashCommand(_TURN, "", "stop the running turn", _stop),
    "models": SlashCommand(_AGENT, f"[{_MODELS}]", "the models there are", _models),
    "model": SlashCommand(_AGENT, "P:M", "change the model", _model),
    "trust": SlashCommand(_AGENT, "low|medium|high", "how much runs without asking", _trust),
    "tools": SlashCommand(_AGENT, "[list|show]", "what the agent can do", _tools),
    "cost": SlashCommand(_AGENT, "", "tokens and money of this session", _cost),
    "status": SlashCommand(_CHAT, "", "session, model, workspace, sandbox and what was used", _status),
    "clear": SlashCommand(_CHAT, "", "clear the screen", _clear),
    "help": SlashCommand(_CHAT, "[COMMAND]", "this, or the line of one command", _help),
    "exit": SlashCommand(_CHAT, "", "leave; /quit does the same", _quit),
    "quit": SlashCommand(_CHAT, "", "leave", _quit),
}
