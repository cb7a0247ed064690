"""Plain text on a screen: lines break between words, tables fit, whatever the text and however it arrives."""

import fcntl
import os
import pty
import select
import struct
import termios

from neuralclaw.channels.control_characters import colourless
from neuralclaw.channels.markdown.styled_text import cell_width
from neuralclaw.channels.screen import Screen
from neuralclaw.channels.text_layout import Flowing, folded, table

URL = "https://example.org/a/rather/long/address?with=parameters"
TEXT = f"    The quick brown fox reads {URL} and 東京都の天気は晴れです today.\nshort\n\n  - a list item that is somewhat longer than the screen\n"


def test_lines_break_between_words_and_go_on_below_their_beginning() -> None:
    for width in (20, 30, 60):
        lines = folded(TEXT, width).split("\n")
        assert all(cell_width(line) <= width or line.strip() == URL for line in lines)
        assert lines[0].startswith("    The quick")
        assert lines[1].startswith("    ")
        assert "".join("".join(lines).split()) == "".join(TEXT.split())
        words = set(" ".join(lines).split())
        assert {word for word in TEXT.split() if word.isascii()} <= words
    assert folded(TEXT, 500) == TEXT


def test_text_in_pieces_flows_as_the_whole_would() -> None:
    for size in (1, 3, 17):
        flowing = Flowing()
        shown = "".join(flowing.feed(TEXT[at : at + size], 30) for at in range(0, len(TEXT), size)) + flowing.rest(30)
        assert shown == folded(TEXT, 30)


def test_a_word_longer_than_the_line_stays_whole() -> None:
    assert folded(f"see {URL} now", 20) == f"see\n{URL}\nnow"


def test_a_table_is_as_wide_as_the_screen_and_cells_go_on_below() -> None:
    rows = [("NAME", "WHAT"), ("one", "a short text"), ("two", "a text that is much longer than the others and has to be broken somewhere"), ("三つ", "wide")]
    wide = table(rows, 0)
    assert len(wide) == 4
    assert wide[2] == f"two   {rows[2][1]}"
    assert wide[3] == "三つ  wide"
    narrow = table(rows, 30)
    assert all(cell_width(line) <= 30 for line in narrow)
    assert set(" ".join(narrow).split()) == set(" ".join(wide).split())
    assert table([], 80) == []


def test_a_narrow_table_keeps_times_and_words_whole_and_does_without_the_columns_of_least_use() -> None:
    rows = [
        ("SESSION", "STATE", "UPDATED", "TITLE"),
        ("4kq0z81xwm", "unfinished", "2026-11-22 04:21", "the rivers of the north"),
        ("4kq0z81xwn", "idle", "2026-11-21 14:07", "lakes"),
    ]
    assert table(rows, 40, drop=(1, 2)) == [
        "SESSION     UPDATED           TITLE",
        "4kq0z81xwm  2026-11-22 04:21  the rivers",
        "                              of the",
        "                              north",
        "4kq0z81xwn  2026-11-21 14:07  lakes",
    ]
    assert table(rows, 24, drop=(1, 2))[0].split() == ["SESSION", "TITLE"]
    assert table(rows, 80, drop=(1, 2))[0].split() == ["SESSION", "STATE", "UPDATED", "TITLE"]


def test_colours_go_and_the_rest_stays() -> None:
    assert (
        colourless("\x1b[1;36m>\x1b[0m \x1b[31mred\x1b[0m \x1b[2mdim\x1b[0m \x1b[92;4mx\x1b[0m")
        == "\x1b[1m>\x1b[0m red\x1b[0m \x1b[2mdim\x1b[0m \x1b[4mx\x1b[0m"
    )


def test_a_screen_of_forty_columns_breaks_notices_and_answers_between_words() -> None:
    master, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with os.fdopen(side, "w", encoding="utf-8") as out:
        screen = Screen(out, plain=True)
        screen.line("The workspace is more than one task should write to: it is read-only.")
        for piece in ("An answer that arri", "ves in pie", "ces and is longer than ", "the screen is wide", "."):
            screen.stream_text(piece)
        screen.fresh()
        screen.line("end")
        data = b""
        while b"end\r\n" not in data and select.select([master], [], [], 5)[0]:
            data += os.read(master, 4096)
    os.close(master)
    assert data.decode().replace("\r", "").splitlines() == [
        "The workspace is more than one task",
        "should write to: it is read-only.",
        "An answer that arrives in pieces and is",
        "longer than the screen is wide.",
        "end",
    ]
