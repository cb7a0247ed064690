"""Questions at a terminal: how one is shown, and what a typed line means for it."""

from collections.abc import Iterable

import msgspec

from ..types.events import ApprovalRequested, ApprovalResolved, ToolFinished
from ..types.questions import Shown
from ..types.sentences import answered
from .screen import Screen, exact
from .text_layout import folded

CHOICES = {"once": "[y] once", "session": "[s] this session", "always": "[a] always", "no": "[n] no"}
"""Answer -> how it is offered."""
LETTERS = {"y": "once", "s": "session", "a": "always", "n": "no"}
_WORDS = {**LETTERS, "": "no", "yes": "once", **{word: word for word in CHOICES}}
_WHY = "?"
_ELSEWHERE = {"owner": "answered from another terminal: {}"}

DIGITS, TARGETS = 16, 8
"""Digits of a digest, and files that a command changes, that are shown before they are only counted."""
_OUTSIDE = "external"
_OWN = "workspace"
"""The source of `AGENTS.md`: nothing that a person has to be told at a question."""
_SOURCES = {"tool": "tool", "web": "web page", "mcp": "MCP server", "file": "file"}
"""Kind of a source with a name behind it -> how it is called."""
_SOURCES_ALONE = {"web": "the web", "mcp": "an MCP server", "tool": "a tool from outside"}


class TypedAnswer(msgspec.Struct, frozen=True):
    """What a person typed at a question: a decision, and with a no the words for the model."""

    decision: str
    text: str | None = None


def choices(question: ApprovalRequested) -> str:
    """What may be typed, in words."""
    keys = "  ".join(CHOICES.get(c, exact(c)) for c in question.choices)
    return f"{keys}  [?] why" if question.reasons else keys


def heading(question: ApprovalRequested) -> str:
    """What would be done, in one sentence."""
    return f"{exact(question.summary or f'{question.action.tool} wants to run')} (question {exact(question.approval_id)})"


def about(question: ApprovalRequested) -> list[str]:
    """What a person must know beside the exact command or change: where it runs, with what, how risky it is, and what each answer covers."""
    action = question.action
    facts = [exact(action.tool) + (f" in {exact(action.cwd)}" if action.cwd else "") + (f", risk {question.risk}" if question.risk else "")]
    if not question.summary and question.reasons:
        facts.append(exact("; ".join(question.reasons)))
    if bound := _bound(action):
        facts.append(bound)
    if action.variables:
        facts.append("added variables: " + exact(", ".join(f"{name}={value}" for name, value in action.variables.items())))
    if action.headers:
        facts.append("added headers: " + exact(", ".join(f"{name}: {value}" for name, value in action.headers.items())))
    if read := have_read(question.sources):
        facts.append(f"this session has read content from: {exact(', '.join(read))}")
    for letter, words in (("s", question.covers.session), ("a", question.covers.always)):
        if words is not None:
            facts.append(f"[{letter}] covers {exact(words)}")
    return facts


def _bound(action: Shown) -> str:
    """The programs, the code and the files that are changed, as a person reads them."""
    said = []
    if action.programs:
        said.append(f"runs {', '.join(dict.fromkeys(action.programs.values()))}")
    if action.files:
        named = [f"{_seen_from(path, action.cwd)} (SHA-256 {digest[:DIGITS]}…)" for path, digest in action.files.items() if not path.endswith("/")]
        trees = [f"all code below {path.rstrip('/')} as it is now" for path in action.files if path.endswith("/")]
        said.append("code: " + ", ".join([*named, *trees]))
    if action.targets:
        named = [_seen_from(target.partition(" ")[2], action.cwd) for target in action.targets]
        said.append("changes " + ", ".join(named[:TARGETS]) + (f" and {len(named) - TARGETS} more" if len(named) > TARGETS else ""))
    return exact("; ".join(said))


def _seen_from(path: str, place: str) -> str:
    return path.removeprefix(f"{place}/") if place else path


def have_read(sources: Iterable[str]) -> list[str]:
    """What a session has read from outside, in words; the instructions that the workspace itself gives are not told."""
    named = [label.partition(":")[2] if label.startswith(f"{_OUTSIDE}:") else label for label in sources]
    return [_in_words(name) for name in named if name != _OWN]


def _in_words(name: str) -> str:
    """A source such as `tool/news`, as a person reads it."""
    kind, _, which = name.partition("/")
    if name == _OUTSIDE:
        return "outside"
    return f"the {_SOURCES.get(kind, kind)} {which}" if which else _SOURCES_ALONE.get(kind, kind)


def why(question: ApprovalRequested) -> list[str]:
    """All the reasons for which it asks."""
    return [f"risk {question.risk}, tier {question.tier}; it asks because", *(f"- {exact(reason)}" for reason in question.reasons)]


def answered_elsewhere(body: ApprovalResolved) -> str:
    """Who answered a question, and how, where it was not the person at this terminal."""
    return exact(answered(body, _ELSEWHERE))


def prompt(question: ApprovalRequested, width: int) -> str:
    """What is before the answer, in lines of at most so many cells (0: in one)."""
    text = f"  {choices(question)}, or a no in words, then Enter >"
    return f"{folded(text, width - 1) if width else text} "


def outcome(body: ToolFinished) -> str:
    """Why a call gave nothing back, as the person reads it who may have said no to it."""
    if body.metadata.get("no_by") != "owner":
        return body.error or body.content
    words = body.metadata.get("no_text")
    return f"not run: you said no, with the words: {words}" if words else "not run: you said no"


class QuestionPrompts:
    """The questions that wait for the person at this terminal; they are asked one at a time, in order.

    `mine` holds those that were answered from here.
    """

    def __init__(self, err: Screen) -> None:
        self._err = err
        self._open: list[ApprovalRequested] = []
        self.mine: set[str] = set()

    @property
    def current(self) -> ApprovalRequested | None:
        """The question that is on the screen."""
        return self._open[0] if self._open else None

    @property
    def count(self) -> int:
        return len(self._open)

    def add(self, question: ApprovalRequested) -> None:
        self._open.append(question)
        if len(self._open) == 1:
            self._ask(question)

    def resolved(self, body: ApprovalResolved) -> bool:
        """Forget a question that has its answer, and say whose it was where the owner gave it elsewhere; true when it was on the screen."""
        name = body.approval_id
        if body.by == "owner" and name not in self.mine and any(q.approval_id == name for q in self._open):
            self._err.line(answered_elsewhere(body), "dim")
        return self.drop(name)

    def drop(self, approval_id: str) -> bool:
        """Forget an answered question; true when it was the one on the screen. The next one is shown."""
        was = self.current is not None and self.current.approval_id == approval_id
        self._open = [q for q in self._open if q.approval_id != approval_id]
        if was:
            self._err.fresh()
            if self._open:
                self._ask(self._open[0])
        return was

    def clear(self) -> None:
        self._open.clear()

    def read(self, line: str) -> TypedAnswer | None:
        """What a typed line means for the question on the screen: one of its keys, else a no with these words. None when it is no answer: then the
        person is told why it asks, or what can be answered."""
        self._err.at_start()
        question, text = self._open[0], line.strip()
        if text == _WHY:
            self._again(why(question), prompt(question, self._err.width))
            return None
        decision = text if text in question.choices else _WORDS.get(text.lower())
        if decision is None:
            return TypedAnswer("no", text)
        if decision in question.choices:
            return TypedAnswer(decision)
        self._again([f"this question does not offer {CHOICES[decision]}: please type one of these, then Enter"], prompt(question, self._err.width))
        return None

    def _again(self, lines: list[str], prompt: str) -> None:
        """What was typed is no answer."""
        for line in lines:
            self._err.line(f"  {line}", "dim")
        self._err.write(prompt)

    def _ask(self, question: ApprovalRequested) -> None:
        err = self._err
        err.line()
        err.line(heading(question), "bold")
        for text in (question.action.show, (question.action.diff or "").rstrip("\n")):
            for line in exact(text).split("\n") if text else ():
                err.line(f"    {line}")
        for line in about(question):
            err.line(f"  {line}")
        err.write(prompt(question, err.width))
