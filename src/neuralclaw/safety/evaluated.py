"""Text that bash evaluates once more: arithmetic, subscripts, and names of variables that builtins set. There `a[$(COMMAND)]` runs COMMAND, so
only plain numbers and variables that surely hold one are followed; anything else counts as code.
"""

import re
from collections.abc import Callable, Sequence

from ..types.risk import Power, Risk
from .analysis_state import AnalysisState, ExpandedCommand, environment, positional
from .bounds import Exceeded
from .command_line import SimpleCommand
from .lazy_regex import lazy_pattern
from .printed_text import printed
from .programs import variable_risk
from .shell_words import ShellWord

NUMBER = lazy_pattern(r"[-+]?\d*")
NAME = lazy_pattern(r"[A-Za-z_]\w*")
_COUNTS = lazy_pattern(r"\$\{#\w+(?:\[[@*]\])?\}|\$[#?$!]")
_VALUES = lazy_pattern(r"(?<![\w}$])\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))(?![\w${(\[])")
_PLAIN = lazy_pattern(r"[\w\s+\-*/%<>=!&|^~?:(),]*")
_NAMES = lazy_pattern(r"(?<!\w)[A-Za-z_]\w*")
_SETS = lazy_pattern(r"([A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)")
_SUBSCRIPT = lazy_pattern(r"([A-Za-z_]\w*)\[([^\[\]]*)\]")
_PARAMETER = lazy_pattern(r"#?(?:[A-Za-z_]\w*|\d+|[@*#?$!-])")
_LISTED = lazy_pattern(r"!\w+(?:\[[@*]\]|[@*])")
VARIABLE = lazy_pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
ONLY_LOOKS = frozenset("-n -z -e -f -d -s -r -w -x -L -h -b -c -p -S -nt -ot -ef = == !=".split())
"""Operators of a test that evaluate none of their operands."""
COUNTERS = frozenset("RANDOM SECONDS LINENO UID EUID PPID BASHPID EPOCHSECONDS OPTIND SHLVL".split())
"""Variables that the shell itself keeps a number in."""
MAX_PARENTHESES = 100
WHY = "it evaluates text that may run commands"
SETTINGS = frozenset("errexit nounset pipefail xtrace noglob verbose noclobber noexec monitor notify errtrace functrace".split())


def again(state: AnalysisState, simple: ExpandedCommand, shown: str) -> None:
    """This text is evaluated once more, and what that runs is not known."""
    state.understood = False
    state.alters = True
    found = SimpleCommand(argv=(shown,), via=simple.via, powers=frozenset({Power.EXECUTE}), risk=Risk.HIGH, only_reads=False, reason=WHY, unresolved=True)
    if found not in state.commands[-20:]:
        state.add(found)


def assign(state: AnalysisState, name: str, *, source: str = "$", number: bool = False) -> None:
    """A variable is set from `source` (shell text), surely to a number where `number`. One that the shell or its programs obey decides what runs."""
    state.alters = True
    state.assigned.add(name)
    text = source[1:-1] if len(source) > 1 and source[0] == source[-1] == '"' else source
    other = VARIABLE.fullmatch(text)
    if other is not None and not number:
        state.copied.setdefault(other.group(1) or other.group(2), set()).add(name)
    elif not number and not NUMBER.fullmatch(text) and not _COUNTS.fullmatch(text) and not _sum(text):
        state.texts.add(name)


def lasting(state: AnalysisState, simple: ExpandedCommand, name: str) -> None:
    """A variable that the shell's own children inherit or that the shell itself obeys."""
    if variable_risk(name) is Risk.HIGH:
        environment(state, simple, name)


def _sum(text: str) -> bool:
    return text.startswith("$((") and text.endswith("))") and text.find("))") == len(text) - 2


def arithmetic(state: AnalysisState, simple: ExpandedCommand, text: str) -> bool:
    """Arithmetic over plain numbers and names is followed; the names must hold numbers wherever the line sets them. False for anything else."""
    state.bounds.step(100 + len(text))
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    rest = _VALUES.sub(lambda m: f" {m.group(1) or m.group(2)} ", _COUNTS.sub(" 0 ", text))
    if not _PLAIN.fullmatch(rest) or not _closed(rest):
        again(state, simple, text)
        return False
    for one, other in _SETS.findall(rest):
        assign(state, one or other, number=True)
        simple.scene.variables[one or other] = ("", False)
        lasting(state, simple, one or other)
    for name in _NAMES.findall(rest):
        state.relied.setdefault(name, simple)
    return True


def _closed(text: str) -> bool:
    """Whether parentheses match. Where they do not, bash may take `((` for two subshells."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth > MAX_PARENTHESES:
            raise Exceeded("it is nested too deeply")
        if depth < 0:
            return False
    return depth == 0


def finish(state: AnalysisState) -> None:
    """Names that arithmetic relied on must hold numbers, whatever the order in which the line runs."""
    todo = list(state.texts)
    while todo:
        state.bounds.step()
        more = state.copied.pop(todo.pop(), set()) - state.texts
        state.texts |= more
        todo += more
    for source, names in state.copied.items():
        if source not in state.assigned and not _own(source):
            state.texts |= names
    for name, simple in state.relied.items():
        if name in state.texts or not (name in state.assigned or _own(name)):
            again(state, simple, name)


def _own(name: str) -> bool:
    """Whether a variable that the line does not set is empty or a number: what the shell itself sets has a name in capitals or `_`."""
    return name[0].islower() or name in COUNTERS


def expansion(state: AnalysisState, simple: ExpandedCommand, source: str) -> None:
    """`${…}`: subscripts and offsets are arithmetic, `!` and `@P` evaluate the value, `=` sets the variable."""
    body = source[2:-1]
    if body.startswith("!") and len(body) > 1:
        if not _LISTED.fullmatch(body):
            again(state, simple, source)
        return
    head = _PARAMETER.match(body)
    name, rest = (head.group(), body[head.end() :]) if head is not None else ("", body)
    if rest.startswith("["):
        found = _SUBSCRIPT.match("a" + rest)
        if found is None:
            again(state, simple, source)
            return
        if found.group(2) not in ("@", "*"):
            arithmetic(state, simple, found.group(2))
        rest = rest[found.end() - 1 :]
    if head is None or (rest[:1] == "@" and not re.fullmatch(r"@[QEAKkaUuL]", rest)):
        again(state, simple, source)
    elif rest.startswith(("=", ":=")):
        assign(state, name)
        simple.scene.variables[name] = (simple.scene.variables.get(name, ("", False))[0], False)
        lasting(state, simple, name)
    elif rest[:1] == ":" and rest[1:2] not in tuple("-+?"):
        for part in rest[1:].split(":"):
            arithmetic(state, simple, part)


def target(state: AnalysisState, simple: ExpandedCommand, text: str, *, shown: str = "") -> str:
    """The variable that a builtin or an assignment names; its subscript is arithmetic. "" where that is not sure."""
    if NAME.fullmatch(text):
        return text
    found = _SUBSCRIPT.fullmatch(text)
    if found is None:
        again(state, simple, shown or text)
        return ""
    if found.group(2) not in ("@", "*", ""):
        arithmetic(state, simple, found.group(2))
    return found.group(1)


def compared(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    """The operands of `test`: known ones that are compared as numbers are numbers, and `-v` names a variable."""
    for place, word in enumerate(words):
        if word.text in COMPARES:
            for operand in (*words[max(place - 1, 0) : place], *words[place + 1 : place + 2]):
                if operand.known and not NUMBER.fullmatch(operand.text.strip()):
                    again(state, simple, operand.shown)
        elif word.text in ("-v", "-R") and place + 1 < len(words):
            named = words[place + 1]
            if not named.known or not NAME.fullmatch(named.text):
                again(state, simple, named.shown)


def builtin(state: AnalysisState, simple: ExpandedCommand, name: str) -> None:
    """A builtin that sets variables, evaluates arithmetic or changes the shell."""
    check = BUILTINS.get(name)
    if check is not None:
        check(state, simple, simple.words[1:])


def _named(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord], *, number: bool = False) -> None:
    """Variables that a builtin sets."""
    for word in words:
        if not word.known or (word.glob and not _SUBSCRIPT.fullmatch(word.text)):
            again(state, simple, word.shown)
        elif name := target(state, simple, word.text):
            assign(state, name, number=number)
            lasting(state, simple, name)
            simple.scene.variables[name] = ("", False)
            if simple.stdin is not None and (simple.stdin.fetched or simple.stdin.decoded):
                simple.scene.given[name] = simple.stdin


def _options(words: Sequence[ShellWord], valued: str) -> tuple[dict[str, ShellWord], list[ShellWord]]:
    """Short options with their values (a flag has itself), and the operands."""
    options: dict[str, ShellWord] = {}
    rest = list(words)
    while rest and rest[0].text.startswith("-") and rest[0].text not in ("-", "--"):
        word = rest.pop(0)
        for place, letter in enumerate(word.text[1:], 2):
            options[letter] = word
            if letter in valued:
                options[letter] = (
                    ShellWord(word.text[place:], word.known, word.show) if place < len(word.text) else rest.pop(0) if rest else ShellWord("", known=False)
                )
                break
    return options, rest[1:] if rest and rest[0].text == "--" else rest


def _read(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    options, names = _options(words, "adinNptu")
    given = [*([options["a"]] if "a" in options else []), *(names or [ShellWord("REPLY")])]
    _named(state, simple, given)
    if simple.stdin is not None and simple.stdin.output:
        _likely(simple, given, simple.stdin.output.strip())


def _likely(simple: ExpandedCommand, names: Sequence[ShellWord], text: str) -> None:
    """Each of these variables may have this value, or a word of it."""
    parts = text.split(None, len(names) - 1) if len(names) > 1 else [text]
    for word, part in zip(names, parts, strict=False):
        if word.text in simple.scene.variables:
            simple.scene.variables[word.text] = (part, False)


def _mapfile(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    options, names = _options(words, "dnOsucC")
    if "C" in options:
        again(state, simple, options["C"].shown)
        state.parse(options["C"].text, simple, "mapfile -C")
    _named(state, simple, names or [ShellWord("MAPFILE")])


def _printf(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    options, _ = _options(words[:2], "v")
    if "v" in options:
        _named(state, simple, [options["v"]])
        _likely(simple, [options["v"]], printed("printf", words[2:] if len(words[0].text) == 2 else words[1:]) or "")


def _wait(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    options, _ = _options(words, "p")
    _named(state, simple, [options["p"]] if "p" in options else [])


def _getopts(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    _named(state, simple, [*words[1:2], ShellWord("OPTARG")])


def _unset(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    options, names = _options(words, "")
    if {"f", "n"} & set(options) or any(word.text in state.functions for word in names):
        again(state, simple, "unset")
    _named(state, simple, names, number=True)


def _history(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    if any(not word.known or set(word.text) & set("wrapsn") for word in words):
        again(state, simple, "history")


def _let(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    for word in words:
        if word.known:
            arithmetic(state, simple, word.text)
        else:
            again(state, simple, word.shown)
    state.alters = True


def _declare(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    """`declare` and its kin. With `-i`, `-n`, `-a` or `-A` a value may be evaluated once more."""
    state.alters = True
    options, names = _options(words, "")
    for word in names:
        name, equals, value = word.text.partition("=")
        whole = target(state, simple, name.removesuffix("+"), shown=word.shown)
        if not word.known or ("n" in options or (equals and {"i", "a", "A"} & set(options) and not NUMBER.fullmatch(value))):
            again(state, simple, word.shown)
        elif whole and equals:
            assign(state, whole, source=value or "0")
        if whole and "i" in options:
            state.relied.setdefault(whole, simple)
        if whole:
            lasting(state, simple, whole)


def declared(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord], assigned: Sequence[tuple[str, str, bool]]) -> None:
    """What the grammar knows as a declaration: its plain words, and name, value and whether that is a list in parentheses of each assignment in it."""
    _declare(state, simple, words)
    options, _ = _options(words, "")
    for name, value, listed in assigned:
        if name and "i" in options:
            state.relied.setdefault(name, simple)
        if "n" in options or (not listed and {"i", "a", "A"} & set(options) and not NUMBER.fullmatch(value)):
            again(state, simple, f"{name}={value}")


def _set(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    """Settings that end a script early or print more are plain; the others change what later commands mean."""
    state.alters = True
    rest = list(words)
    while rest and rest[0].text[:1] in ("-", "+") and rest[0].text not in ("-", "--"):
        word = rest.pop(0)
        if not word.known or set(word.text[1:]) - set("eufxvnCobmET"):
            again(state, simple, word.shown)
        if "o" in word.text and rest and rest.pop(0).text not in SETTINGS:
            again(state, simple, "set -o")
    if rest:
        _positional(simple, rest[rest[0].text in ("-", "--") :])


def _positional(simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    """What `set` and `shift` make of `$1`, `$2`, …: where it is done is not followed, so that none of them is sure."""
    unsure = [ShellWord(word.text, False, word.show, word.glob) for word in words]
    positional(simple.scene, [ShellWord(*simple.scene.value("0")), *unsure])


def _shift(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    state.alters = True
    count = int(words[0].text) if words and words[0].text.isdecimal() and len(words[0].text) < 6 else 1
    _positional(simple, (simple.scene.arguments or ())[count:])


def _alias(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    for word in words:
        name, equals, text = word.text.partition("=")
        if equals:
            state.parse(text, simple, f"alias {name}")


def _hash(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    if "p" in _options(words, "p")[0]:
        again(state, simple, "hash -p")


def _jobs(state: AnalysisState, simple: ExpandedCommand, words: Sequence[ShellWord]) -> None:
    options, command = _options(words[:1], "")
    if "x" in options:
        again(state, simple, "jobs -x")
        state.run(state, simple.inside([*command, *words[1:]] or [ShellWord("", known=False)], "jobs -x"))


BUILTINS: dict[str, Callable[[AnalysisState, ExpandedCommand, Sequence[ShellWord]], None]] = {
    **dict.fromkeys(("declare", "typeset", "local", "export", "readonly"), _declare),
    **dict.fromkeys(("test", "["), compared),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    "read": _read,
    "printf": _printf,
    "wait": _wait,
    "getopts": _getopts,
    "unset": _unset,
    "let": _let,
    "history": _history,
    "set": _set,
    "hash": _hash,
    "jobs": _jobs,
    "shift": _shift,
    "alias": _alias,
}
