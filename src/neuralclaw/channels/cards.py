"""What a tool call, a question and the state of the chat look like on a terminal: a few quiet lines, nothing in boxes.

Cards are lines joined by newlines, without one at the end, each at most `width` cells. What a model or a tool wrote is made harmless.
"""

from collections.abc import Iterable
from typing import Any

from ..types.events import ApprovalRequested, ToolFinished, ToolStarted
from ..types.sentences import says_itself
from .control_characters import exact
from .markdown.styled_text import LineWrapper, StyledLine, chop, fit, harmless, paint, width_of
from .markdown.styled_text import cell_width as cells_of
from .question_prompts import about, choices, heading, outcome

_DIFF_LINES, _HEAD_LINES, _TAIL_LINES, _REASON_LINES = 24, 3, 5, 6
_TELLING = ("command", "path", "url", "query", "pattern", "name")
"""Arguments that say by themselves what a call is about; the first one there is shown without its name."""
_SHOWN_ELSEWHERE = ("content", "old", "new")
"""Arguments of a change, which its diff shows."""
_ARGUMENT = 60
_DIFF_COLOURS = {"+": "32", "-": "31", "@": "36"}


def tool_card(
    started: ToolStarted, finished: ToolFinished | None, *, width: int, colour: bool = True, elapsed_ms: int | None = None, whole: bool = False
) -> str:
    """A tool call: sign, name, arguments in short, time; below it what came of it, `whole` or folded. `finished` None: it runs, since `elapsed_ms`."""
    sign, style = _sign(finished)
    took = finished.duration_ms if finished is not None else elapsed_ms
    diff = _diff_of(finished)
    facts: list[StyledLine] = []
    if diff:
        facts.append([(f"+{sum(line[0] == '+' for line in diff)}", "32"), (" ", ""), (f"-{sum(line[0] == '-' for line in diff)}", "31")])
    if took is not None and (finished is None or finished.refused is None):
        facts.append([(duration(took), "2")])
    end: StyledLine = [part for fact in facts for part in [("  ", ""), *fact]]
    name = _one_line(started.name)
    room = width - cells_of(f"{sign} {name}  ") - width_of(end)
    arguments = fit(_arguments(started.arguments, changes=bool(diff)), room) if room > 8 else ""
    head: StyledLine = [(sign, style), (" ", ""), (name, "1")] + ([("  ", ""), (arguments, "")] if arguments else []) + end
    lines = chop(head, width)[:1] + [
        [("  ", ""), *line] for line in (_all_of(finished, diff, max(width - 2, 1)) if whole else _outcome(finished, diff, max(width - 2, 1)))
    ]
    return _joined(lines, width, colour)


def question_card(question: ApprovalRequested, *, width: int, colour: bool = True) -> str:
    """What a person is asked to agree to, whole: what would be done, the exact command and change, where, and what the answers cover."""
    action = question.action
    lines: list[StyledLine] = _wrapped(_one_line(heading(question)), "1;33", width)
    for line in _exact_lines(action.show):
        lines += _whole(line, "", width)
    for line in _exact_lines(action.diff.rstrip("\n")) if action.diff else ():
        lines += _whole(line, _diff_style(line), width)
    for text in about(question):
        lines += [[("  ", ""), *line] for line in _wrapped(" ".join(_exact_lines(text)), "2", max(width - 2, 1))]
    if question.choices:
        lines += [[("  ", ""), *line] for line in _wrapped(harmless(choices(question)), "1", max(width - 2, 1))]
    return _joined(lines, width, colour)


def status_line(*, model: str, context_used: int, context_window: int, usd: float | None, waiting: str, width: int) -> str:
    """One plain line: model, tokens in the context (of its window, in %), cost in dollars where known, and what waits.

    On a narrow screen the less telling parts go first; what waits stays longest.
    """
    model, waiting = _one_line(model), _one_line(waiting)
    share = f"{100 * context_used / context_window:.0f} %" if context_window > 0 else f"{context_used:,} tokens"
    cost = "" if usd is None else f"${usd:.2f}" if usd >= 0.01 or usd <= 0 else f"${usd:.4f}"
    short = model.rpartition(":")[2].rpartition("/")[2] or model
    for parts in (
        (model, f"context {share}", cost, waiting),
        (short, f"context {share}", cost, waiting),
        (short, share, cost, waiting),
        (short, share, waiting),
        (short, waiting),
    ):
        line = " · ".join(part for part in parts if part)
        if cells_of(line) <= width:
            return line
    return fit(waiting or short, width)


def duration(ms: int) -> str:
    """A time as people read it: `12 ms`, `1.2 s`, `2 min 05 s`."""
    if ms < 1000:
        return f"{ms} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds:02d} s"


def _sign(finished: ToolFinished | None) -> tuple[str, str]:
    if finished is None:
        return "○", "33"
    if finished.refused is not None:
        return "⊘", "31"
    return ("✓", "32") if finished.ok else ("✗", "31")


def _arguments(arguments: dict[str, Any], *, changes: bool) -> str:
    left = {name: value for name, value in arguments.items() if value is not None and not (changes and name in _SHOWN_ELSEWHERE)}
    first = next((name for name in _TELLING if isinstance(left.get(name), str)), None)
    words = [_one_line(str(left.pop(first)))] if first is not None else []
    if not words and len(left) == 1:
        words = [_one_line(str(value)) for value in left.values()]
    else:
        words += [f"{_one_line(name)}={fit(_one_line(str(value)), _ARGUMENT)}" for name, value in left.items() if value is not False]
    return " ".join(words)


def _diff_of(finished: ToolFinished | None) -> list[str]:
    """The lines of the change that a call tells, without the names of the files."""
    text = finished.metadata.get("diff") if finished is not None else None
    if not isinstance(text, str):
        return []
    lines = harmless(text).split("\n")
    return [line for line in (lines[2:] if lines[0].startswith("--- ") else lines) if line]


def _outcome(finished: ToolFinished | None, diff: list[str], width: int) -> list[StyledLine]:
    if finished is None:
        return []
    shortened = _shortened(finished, width)
    if finished.refused is not None:
        return _reason(finished, f"{'not allowed' if finished.refused == 'forbid' else 'not approved'}: ", width)
    if "exit_code" in finished.metadata and finished.metadata.get("command") is not None:
        return _command(finished, width) + shortened
    if not finished.ok:
        return _reason(finished, "", width) + shortened
    if diff:
        shown = [[(fit(line.expandtabs(4), width), _diff_style(line))] for line in diff[:_DIFF_LINES]]
        return shown + _more(len(diff) - _DIFF_LINES)
    return _summary(finished, width) + shortened


def folds(finished: ToolFinished, width: int) -> bool:
    """Whether the card of the call leaves something out."""
    diff = _diff_of(finished)
    return len(_outcome(finished, diff, width)) < len(_all_of(finished, diff, width))


def _all_of(finished: ToolFinished | None, diff: list[str], width: int) -> list[StyledLine]:
    """Everything that a call gave back, as far as the event holds it."""
    if finished is None:
        return []
    if diff:
        return [row for line in diff for row in chop([(line.expandtabs(4), _diff_style(line))], width)]
    text = harmless((finished.error or "") if finished.refused is not None else finished.content or finished.error or "").expandtabs(4).rstrip("\n")
    rows = [row for line in text.split("\n") for row in chop([(line, "2")], width)] if text else []
    return rows + _shortened(finished, width)


def _shortened(finished: ToolFinished, width: int) -> list[StyledLine]:
    """That the model read a part, and what has the rest where the model was told so."""
    if not finished.truncated:
        return []
    return _wrapped("shortened for the model" + ("; read_result has the rest" if "read_result" in finished.note else ""), "2", width)


def _reason(finished: ToolFinished, before: str, width: int) -> list[StyledLine]:
    text = harmless(before + outcome(finished)).expandtabs(4).strip()
    lines = [line for part in text.split("\n") for line in _wrapped(part, "33" if says_itself(finished) else "31", width)]
    return lines[:_REASON_LINES] + _more(len(lines) - _REASON_LINES)


def _command(finished: ToolFinished, width: int) -> list[StyledLine]:
    """First and last lines of what a command printed, and how it ended where that was not well."""
    about = finished.metadata
    printed = [text.rstrip("\n") for text in (str(about.get("stdout") or ""), str(about.get("stderr") or "")) if text.strip()]
    lines = harmless("\n".join(printed)).expandtabs(4).split("\n") if printed else []
    over = len(lines) - _HEAD_LINES - _TAIL_LINES
    if over > 1:
        shown = _dim(lines[:_HEAD_LINES], width) + _more(over) + _dim(lines[-_TAIL_LINES:], width)
    else:
        shown = _dim(lines, width)
    if about.get("timed_out"):
        return shown + _reason(finished, "", width)
    if about["exit_code"]:
        return [*shown, [(fit(f"exit code {about['exit_code']}", width), "31")]]
    return shown


def _summary(finished: ToolFinished, width: int) -> list[StyledLine]:
    """What a call that went well gave back, on one line."""
    about = finished.metadata
    if "first" in about and "lines" in about:
        text = f"{about['lines']:,} lines" if about.get("whole") and about["first"] == 1 and about.get("last") == about["lines"] else ""
        text = text or f"lines {about['first']:,} to {about.get('last', about['lines']):,} of {about['lines']:,}"
        return [[(fit(text, width), "2")]]
    lines = [line for line in harmless(finished.content).expandtabs(4).split("\n") if line.strip()]
    more = f"  (+{len(lines) - 1:,} lines)" if len(lines) > 1 else ""
    return [[(fit(lines[0].strip(), max(width - len(more), 1)), "2"), (more, "2")]] if lines else []


def _dim(lines: Iterable[str], width: int) -> list[StyledLine]:
    return [[(fit(line, width), "2")] for line in lines]


def _more(count: int) -> list[StyledLine]:
    return [[(f"… {count:,} more line{'s' if count > 1 else ''}", "2")]] if count > 0 else []


def _whole(line: str, style: str, width: int) -> list[StyledLine]:
    """A line that must be seen whole: over several rows where it is long, with a sign on those that continue."""
    margin = "    " if width > 12 else ""
    rows = chop([(line, style)], max(width - 4, 1) if margin else max(width, 1))
    return [[(margin if i == 0 or not margin else "  ↳ ", "2"), *row] for i, row in enumerate(rows)]


def _wrapped(text: str, style: str, width: int) -> list[StyledLine]:
    wrap = LineWrapper()
    wrap.add([(text, style)], width)
    wrap.end(width)
    return wrap.lines


def _exact_lines(text: str) -> list[str]:
    return exact(text).split("\n")


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", "\\n").replace("\t", " ")


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "2"
    return _DIFF_COLOURS.get(line[:1], "")


def _joined(lines: list[StyledLine], width: int, colour: bool) -> str:
    return "\n".join(paint(row, colour=colour) for line in lines for row in chop(line, max(width, 1)))
