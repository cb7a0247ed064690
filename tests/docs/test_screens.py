"""The pictures of the README are what the chat shows in a real terminal."""

import re

import pytest

from .screens import PICTURES, PLACE, taken, words


@pytest.mark.full
def test_the_chat_looks_as_the_pictures_show_it() -> None:
    now = taken()
    assert set(now) == set(PICTURES) == {path.name for path in PLACE.iterdir()}
    for name, svg in now.items():
        assert words(svg) == words((PLACE / name).read_text(encoding="utf-8")), f"{name}: python -m tests.docs.screens --write"


def test_a_picture_refers_to_nothing_outside_it() -> None:
    for path in PLACE.iterdir():
        svg = path.read_text(encoding="utf-8")
        assert not re.search(r"(?:href|src|url)\s*[=(]\s*[\"']?(?!#)\w+:", svg)
        assert "@import" not in svg
        assert "<text" in svg
