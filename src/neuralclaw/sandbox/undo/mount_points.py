"""What is mounted inside a directory, also from the same file system."""


def mounted_below(root: str) -> list[str]:
    """The places; none where the system has no such table."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            points = [line.split(" ", 5)[4] for line in table]
    except OSError:
        return []
    return [place for point in points if (place := _unescaped(point)).startswith(root.rstrip("/") + "/")]


def _unescaped(point: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, char)
    return point
