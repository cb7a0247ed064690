"""What people say to the offline grammar in their own words: each sentence is understood rightly, or not at all."""

from typing import Any

import pytest

from neuralclaw.channels.input_completion import named
from neuralclaw.providers.offline.grammar import Step, parse

RIGHT: dict[str, tuple[str, dict[str, Any]]] = {
    "grep TODO notes.txt": ("terminal", {"command": "grep TODO notes.txt"}),
    "grep -rn TODO src": ("terminal", {"command": "grep -rn TODO src"}),
    'grep "two words" notes.txt': ("terminal", {"command": 'grep "two words" notes.txt'}),
    "grep TODO": ("search_files", {"pattern": "TODO", "path": "."}),
    "grep TODO in notes.txt": ("search_files", {"pattern": "TODO", "path": "notes.txt"}),
    "grep for TODO in src": ("search_files", {"pattern": "TODO", "path": "src"}),
    "search hello world": ("search_files", {"pattern": "hello world", "path": "."}),
    "search in src for TODO": ("search_files", {"pattern": "TODO", "path": "src"}),
    "search all files for TODO": ("search_files", {"pattern": "TODO", "path": "."}),
    "search for TODO in all files": ("search_files", {"pattern": "TODO", "path": "."}),
    'search "in a house" in src': ("search_files", {"pattern": "in a house", "path": "src"}),
    "look for TODO in src": ("search_files", {"pattern": "TODO", "path": "src"}),
    "search for TODO in the src folder": ("search_files", {"pattern": "TODO", "path": "src"}),
    "find files containing TODO": ("search_files", {"pattern": "TODO", "path": "."}),
    "find all files that contain TODO in src": ("search_files", {"pattern": "TODO", "path": "src"}),
    "find all python files": ("find_files", {"pattern": "*.py", "path": "."}),
    "find the python files in src": ("find_files", {"pattern": "*.py", "path": "src"}),
    "find all .py files": ("find_files", {"pattern": "*.py", "path": "."}),
    "find py files": ("find_files", {"pattern": "*.py", "path": "."}),
    "list all markdown files": ("find_files", {"pattern": "*.md", "path": "."}),
    "show me all json files": ("find_files", {"pattern": "*.json", "path": "."}),
    "list the python files in src": ("find_files", {"pattern": "*.py", "path": "src"}),
    "list *.py": ("find_files", {"pattern": "*.py", "path": "."}),
    "find *.md in docs": ("find_files", {"pattern": "*.md", "path": "docs"}),
    "find files named config.yaml": ("find_files", {"pattern": "config.yaml", "path": "."}),
    "find the file notes.txt": ("find_files", {"pattern": "notes.txt", "path": "."}),
    "find config.yaml": ("find_files", {"pattern": "config.yaml", "path": "."}),
    "list files": ("list_files", {"path": "."}),
    "list all files": ("list_files", {"path": "."}),
    "list everything": ("list_files", {"path": "."}),
    "list all the files in src": ("list_files", {"path": "src"}),
    "list the files and folders in src": ("list_files", {"path": "src"}),
    "list the current directory": ("list_files", {"path": "."}),
    "show the src folder": ("list_files", {"path": "src"}),
    "list the contents of src": ("list_files", {"path": "src"}),
    'list "my documents"': ("list_files", {"path": "my documents"}),
    "read the file notes.txt": ("read_file", {"path": "notes.txt"}),
    "read file notes.txt": ("read_file", {"path": "notes.txt"}),
    "read the README.md": ("read_file", {"path": "README.md"}),
    'read "my notes.txt"': ("read_file", {"path": "my notes.txt"}),
    "read 'file 2.txt'": ("read_file", {"path": "file 2.txt"}),
    'read my "plan a.txt"': ("read_file", {"path": "plan a.txt"}),
    "show me notes.txt": ("read_file", {"path": "notes.txt"}),
    "read the contents of notes.txt": ("read_file", {"path": "notes.txt"}),
    "read @'my picture.png'": ("read_file", {"path": "my picture.png"}),
    "read @picture.png": ("read_file", {"path": "picture.png"}),
    "what is in the file notes.txt": ("read_file", {"path": "notes.txt"}),
    'what is in "my notes.txt"?': ("read_file", {"path": "my notes.txt"}),
    "write hello to the file notes.txt": ("write_file", {"path": "notes.txt", "content": "hello"}),
    "write \"hello\" to 'my notes.txt'": ("write_file", {"path": "my notes.txt", "content": "hello"}),
    'write "it" to a.txt': ("write_file", {"path": "a.txt", "content": "it"}),
    "create a new file called a.txt with hello": ("write_file", {"path": "a.txt", "content": "hello"}),
    'create a file "my a.txt" with hello': ("write_file", {"path": "my a.txt", "content": "hello"}),
    "create a folder called docs": ("terminal", {"command": "mkdir -p -- docs"}),
    "make a new directory docs": ("terminal", {"command": "mkdir -p -- docs"}),
    'delete "my notes.txt"': ("delete_file", {"path": "my notes.txt"}),
    "delete the file notes.txt": ("delete_file", {"path": "notes.txt"}),
    'in "my notes.txt" replace a with b': ("edit_file", {"path": "my notes.txt", "old": "a", "new": "b"}),
    "run make test": ("terminal", {"command": "make test"}),
    'run "the program"': ("terminal", {"command": "the program"}),
    "fetch example.com/notes.txt": ("web_fetch", {"url": "https://example.com/notes.txt"}),
    "download https://example.com/a.pdf": ("web_fetch", {"url": "https://example.com/a.pdf"}),
    "calculate 2+2": ("calculate", {"expression": "2+2"}),
    "what is 7 - 2?": ("calculate", {"expression": "7 - 2"}),
    "remember that it rains": ("remember", {"text": "it rains"}),
    "show the running processes": ("process_list", {}),
    "find the word TODO in notes.txt": ("search_files", {"pattern": "TODO", "path": "notes.txt"}),
    "find TODO in notes.txt": ("search_files", {"pattern": "TODO", "path": "notes.txt"}),
    "search for the word TODO in notes.txt": ("search_files", {"pattern": "TODO", "path": "notes.txt"}),
    "search for the phrase 'all TODOs' in notes.txt": ("search_files", {"pattern": "all TODOs", "path": "notes.txt"}),
    'find "hello world" in notes.txt': ("search_files", {"pattern": "hello world", "path": "notes.txt"}),
    'write "the result" to r.txt': ("write_file", {"path": "r.txt", "content": "the result"}),
    "write the text hello to a.txt": ("write_file", {"path": "a.txt", "content": "hello"}),
    'replace "the first" with "a second" in a.txt': ("edit_file", {"path": "a.txt", "old": "the first", "new": "a second"}),
    "replace the word x with y in a.txt": ("edit_file", {"path": "a.txt", "old": "x", "new": "y"}),
    "replace x with y in a.txt": ("edit_file", {"path": "a.txt", "old": "x", "new": "y"}),
    "replace every x with y in a.txt": ("edit_file", {"path": "a.txt", "old": "x", "new": "y", "all": True}),
    "calculate 20 % 6": ("calculate", {"expression": "20 % 6"}),
    "what is 20%6?": ("calculate", {"expression": "20%6"}),
    "calculate 2+2.": ("calculate", {"expression": "2+2"}),
    "echo The result is fine": ("echo", {"text": "The result is fine"}),
    'write "5 lines" to a.txt': ("write_file", {"path": "a.txt", "content": "5 lines"}),
    "echo the end": ("echo", {"text": "the end"}),
}

NOT_UNDERSTOOD = """
read my notes.txt
read two words.txt
read file 2.txt
read my diary
read annual report 2026.pdf
read a notes.txt
read notes.txt and todo.txt
read notes.txt, todo.txt
read notes.txt carefully
read me too.txt
read *.txt
read the last 5 lines of log.txt
show my notes.txt
show two words.txt
open my notes.txt
what is in my notes.txt
what is in it?
what is in the news today
what is 2026-11-22
what is 22/11/2026?
2026-11-22
how many files are in src
list my documents
list files recursively
list large files
list src sorted by size
list src and tests
find all big files
find large files in src
find all image files
find my keys
find notes
find python
find the bug
find all files and delete them
search TODO notes.txt
search notes in my notes.txt
search for files named a.txt
search for python files
search for it
look at notes.txt
look in src
write hello to my notes.txt
write hello to two words.txt
write hello to notes.txt and read it
write it to notes.txt
save that as a.txt
append hello to notes.txt
add hello to notes.txt
create a file called my notes.txt
create a file two words.txt
create a python file a.py
create a file a.txt with hello in it
create a folder my docs
delete my notes.txt
delete the notes.txt
delete two words.txt
delete file 2.txt
delete *.log
delete all files
delete everything in src
delete notes.txt and todo.txt
remove the last line of a.txt
edit my notes.txt replace a with b
replace a with b in all files
replace a with b in my notes.txt
run the tests
run my script
run it
run all tests
fetch notes.txt
get notes.txt
download report.pdf
fetch my mail
get rid of notes.txt
copy a.txt to b.txt
rename a.txt to b.txt
move a.txt to src
summarise notes.txt
remember this
forget that
forget everything
make me a sandwich
fix the bug in a.py
calculate 6*7 then write the result to r.txt
calculate 6*7 then write result to r.txt
calculate 6*7 then write it into r.txt
calculate 6*7 then save the answer in r.txt
calculate 6*7 then echo the result
list . then write the output to r.txt
read b.txt then create a file a.txt with its contents
write the contents of b.txt to a.txt
write contents of b.txt to a.txt
write what b.txt says to a.txt
write a poem about cats to a.txt
write the current date to a.txt
write all TODOs to a.txt
create a file a.txt with the contents of b.txt
create a file a.txt with a list of files
remember the result
echo the contents of b.txt
write 5 lines to a.txt
write hello 3 times to a.txt
write ten random numbers to a.txt
calculate 5!
calculate 3! + 2
what is 5!
5! + 1
what is 20% + 5
calculate 20% + 5
what is 20% - 5?
what is 100 + 20%
calculate 20% * 30
what is (20%) + 5
find all TODOs in sub
find every TODO in notes.txt
find each TODO in notes.txt
find lines with TODO in notes.txt
find lines containing TODO in notes.txt
find empty lines in notes.txt
find the largest number in notes.txt
find largest number in notes.txt
find the TODO in notes.txt
find hello world in notes.txt
search "TODO" or "FIXME" in notes.txt
search for TODO or FIXME in notes.txt
search for "TODO" and "FIXME" in notes.txt
search for lines containing foo in notes.txt
search for all TODOs in notes.txt
search for every TODO in notes.txt
search for the largest number in notes.txt
search for occurrences of foo in notes.txt
search for TODO, FIXME in notes.txt
search for foo ignoring case in notes.txt
search not TODO in notes.txt
replace x with y, z with w in a.txt
search notes.txt for lines with foo
grep for all TODOs in notes.txt
look for the first TODO in notes.txt
find all files ending in .py
find files ending with .py
find files ending .py in src
find files modified in src
find files starting with a
find all files that end in .py
replace the first x with y in a.txt
replace first x with y in a.txt
replace the last x with y in a.txt
replace each x with y in a.txt
replace all the x with y in a.txt
replace x with the contents of b.txt in a.txt
replace x with y everywhere in a.txt
replace x with y on line 3 in a.txt
replace line 3 with y in a.txt
replace x with nothing in a.txt
replace "x" or "y" with z in a.txt
edit a.txt: replace the first x with y
in a.txt replace the second line with y
change the first x to y in a.txt
""".strip().splitlines()


@pytest.mark.parametrize(("sentence", "call"), RIGHT.items(), ids=list(RIGHT))
def test_what_people_say_is_understood_rightly(sentence: str, call: tuple[str, dict[str, Any]]) -> None:
    steps = parse(sentence)
    assert isinstance(steps, list), steps
    assert [(step.tool, step.arguments) for step in steps] == [call]


@pytest.mark.parametrize("sentence", NOT_UNDERSTOOD)
def test_what_could_be_got_wrong_is_not_understood(sentence: str) -> None:
    steps = parse(sentence)
    assert not isinstance(steps, list), [(step.tool, step.arguments) for step in steps if isinstance(step, Step)]


@pytest.mark.parametrize("verb", ["read", "delete", "show", "open"])
@pytest.mark.parametrize(
    "path",
    [
        "my notes.txt",
        "the plan.txt x",
        "file 2.txt",
        "new plan.txt",
        "a b c.txt",
        "docs/two words.txt",
        "text file.txt",
        "copy of a.txt",
        "ann's file.txt",
        'a "b" c.txt',
    ],
)
def test_a_name_with_blanks_as_completion_writes_it_names_no_other_file(verb: str, path: str) -> None:
    assert not isinstance(parse(f"{verb} {path}"), list)
    (step,) = parse(f"{verb} {named(path)}")  # type: ignore[misc]
    assert step.arguments == {"path": path}
