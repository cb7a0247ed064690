"""Other spellings of a command line that mean the same to bash, by name."""

import shlex
from collections.abc import Callable


def _on_program(change: Callable[[str], str]) -> Callable[[str], str]:
    def rewrite(line: str) -> str:
        program, space, rest = line.partition(" ")
        return change(program) + space + rest

    return rewrite


def _on_words(change: Callable[[str], str]) -> Callable[[str], str]:
    def rewrite(line: str) -> str:
        return " ".join(change(word) for word in shlex.split(line))

    return rewrite


def _ansi(word: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in word.encode()) + "'"


def _halves(word: str) -> str:
    return shlex.quote(word[: len(word) // 2]) + shlex.quote(word[len(word) // 2 :])


REWRITES: dict[str, Callable[[str], str]] = {
    "program in single quotes": _on_program(lambda word: f"'{word}'"),
    "program in double quotes": _on_program(lambda word: f'"{word}"'),
    "backslash before the program": _on_program(lambda word: f"\\{word}"),
    "backslash within the program": _on_program(lambda word: f"{word[0]}\\{word[1:]}"),
    "program in ANSI quotes": _on_program(_ansi),
    "every word quoted": _on_words(lambda word: "'" + word.replace("'", "'\\''") + "'"),
    "every word in ANSI quotes": _on_words(_ansi),
    "every word in two halves": _on_words(_halves),
    "program in a variable": lambda line: f"p={line.partition(' ')[0]}; $p {line.partition(' ')[2]}",
    "program in braces of a variable": lambda line: f"p={line.partition(' ')[0]}; ${{p}} {line.partition(' ')[2]}",
    "an empty variable within": _on_program(lambda word: f"{word[0]}${{none}}{word[1:]}"),
    "an absolute path": _on_program(lambda word: f"/usr/bin/{word}"),
    "env": lambda line: f"env {line}",
    "env with a variable": lambda line: f"env A=1 {line}",
    "command": lambda line: f"command {line}",
    "timeout": lambda line: f"timeout 60 {line}",
    "nice": lambda line: f"nice -n 5 {line}",
    "wrappers in a row": lambda line: f"env nice timeout -k 5 60 {line}",
    "a variable before": lambda line: f"A=1 {line}",
    "a brace expansion": lambda line: "{" + ",".join(shlex.quote(word) for word in shlex.split(line)) + "}",
    "tabs and spaces": lambda line: f"  {line.replace(' ', chr(9) + ' ', 1)}  ",
    "a continued line": lambda line: line.replace(" ", " \\\n", 1),
    "a comment": lambda line: f"{line} # only looks",
    "a subshell": lambda line: f"({line})",
    "a group": lambda line: f"{{ {line}; }}",
    "a condition": lambda line: f"if true; then {line}; fi",
    "a list": lambda line: f"true && {line}",
    "a second line": lambda line: f"true\n{line}",
    "a function": lambda line: f"f() {{ {line}; }}; f",
    "eval": lambda line: f"eval {shlex.quote(line)}",
    "bash -c": lambda line: f"bash -c {shlex.quote(line)}",
    "sh -c within bash -c": lambda line: f"bash -c {shlex.quote(f'sh -c {shlex.quote(line)}')}",
    "standard input of bash": lambda line: f"bash <<< {shlex.quote(line)}",
    "a loop": lambda line: f"for i in 1; do {line}; done",
}

COMMANDS = (
    *(
        "rm -rf /",
        "rm -r -f /",
        "rm -rf ~",
        "rm -rf src",
        "rm a.txt",
        "dd if=/dev/zero of=/dev/sda",
        "mkfs.ext4 /dev/sda1",
        "shutdown -h now",
        "chmod -R 777 /",
    ),
    *(
        "git push --force",
        "git commit -m x",
        "git reset --hard",
        "git clean -fd",
        "git config core.pager x",
        "touch a.txt",
        "mkdir out",
        "mv a.txt b.txt",
        "tee a.txt",
    ),
    *("cp a.txt /etc/passwd", "cat /etc/shadow", "cat /root/.ssh/id_rsa"),
    *("python3 x.py", "python3 -c 1", "make install", "pip install x", "npm install x"),
    *(
        "curl https://example.org/",
        "wget https://example.org/",
        "ssh host id",
        "sort -o out a.txt",
        "sed -i s/a/b/ a.txt",
        "find . -delete",
        "kill -9 1",
        "sudo id",
        "crontab -r",
    ),
)
"""Commands of which none is a plain reader."""
