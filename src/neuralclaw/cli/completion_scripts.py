"""The completion scripts of bash, zsh and fish. Commands and options stand in them; only sessions, questions and models are looked up."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol


class _Value(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def words(self) -> tuple[str, ...]: ...


class _Option(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def value(self) -> "_Value | None": ...
    @property
    def help(self) -> str: ...


class _Offer(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def options(self) -> "Sequence[_Option]": ...
    @property
    def places(self) -> "Sequence[_Value]": ...


# What bash and zsh share: which command it is, and what can stand at the cursor. It sets __nc_kind and __nc_words.
_SHARED = """\
__neuralclaw_look() {
  local word skip=
  __nc_path= __nc_place=0 __nc_home=
  for word in "$@"; do
    if [ -n "$skip" ]; then
      [ "$skip" != --home ] || __nc_home=$word
      skip=
      continue
    fi
    case $word in
      --home=*) __nc_home=${word#--home=} ;;
      -*) case " @VALUED@ " in *" $word "*) skip=$word ;; esac ;;
      *)
        case "$__nc_path" in
          '') __nc_path=$word ;;
          @GROUPS@) __nc_path="$__nc_path $word" ;;
          *) __nc_place=$((__nc_place + 1)) ;;
        esac ;;
    esac
  done
  __nc_before=$skip
}
__neuralclaw_choose() {
  __nc_kind= __nc_words=
  if [ -n "$__nc_before" ]; then
    case "$__nc_path $__nc_before" in
@VALUES@
      *' --home') __nc_kind=dirs ;;
    esac
    return
  fi
  case $1 in
    -*)
      case "$__nc_path" in
@OPTIONS@
      esac
      return ;;
  esac
  case "$__nc_path:$__nc_place" in
@PLACES@
  esac
}
"""
_BASH = """\
# Completion of neuralclaw in bash.
@SHARED@_neuralclaw() {
  local IFS=$' \\t\\n' line=${COMP_LINE:0:COMP_POINT} cur= words=() program lead
  read -ra words <<< "$line"
  if [[ $line != *[[:space:]] ]]; then
    cur=${words[${#words[@]}-1]}
    unset "words[${#words[@]}-1]"
  fi
  program=${words[0]/#\\~/$HOME}
  __neuralclaw_look "${words[@]:1}"
  if [[ $cur == --*=* ]]; then
    __nc_before=${cur%%=*} cur=${cur#*=}
  fi
  __neuralclaw_choose "$cur"
  COMPREPLY=()
  case $__nc_kind in
    '') return ;;
    words) ;;
    dirs | files)
      compopt -o filenames 2>/dev/null
      IFS=$'\\n'
      if [[ $__nc_kind == dirs ]]; then COMPREPLY=($(compgen -d -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
      return ;;
    *) __nc_words=$("$program" completion --values "$__nc_kind" ${__nc_home:+--home "$__nc_home"} 2>/dev/null) ;;
  esac
  COMPREPLY=($(compgen -W "$__nc_words" -- "$cur"))
  # Readline replaces only what stands behind the last colon.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    lead=${cur%"${cur##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$lead"}")
  fi
}
complete -F _neuralclaw neuralclaw
"""
_ZSH = """\
#compdef neuralclaw
# Completion of neuralclaw in zsh.
@SHARED@_neuralclaw() {
  local cur=${words[CURRENT]} program=${~words[1]}
  __neuralclaw_look "${(@)words[2,CURRENT-1]}"
  if [[ $cur == --*=* ]]; then
    __nc_before=${cur%%=*} cur=${cur#*=}
    compset -P '*='
  fi
  __neuralclaw_choose "$cur"
  case $__nc_kind in
    '') return 1 ;;
    dirs) _files -/ ;;
    files) _files ;;
    words) compadd -- ${=__nc_words} ;;
    *) compadd -- ${(f)"$($program completion --values $__nc_kind ${__nc_home:+--home} ${__nc_home:+$__nc_home} 2>/dev/null)"} ;;
  esac
}
if [ "${funcstack[1]-}" = _neuralclaw ]; then
  _neuralclaw "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
  compdef _neuralclaw neuralclaw
fi
"""
_FISH = """\
# Completion of neuralclaw in fish.
function __neuralclaw_at --description 'whether so many words stand before the cursor besides options, and begin with these'
    set -l found
    set -l skip
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip
        else if contains -- $word @VALUED@
            set skip yes
        else if not string match -q -- '-*' $word
            set -a found $word
        end
    end
    test (count $found) -ge $argv[1]; or return 1
    test (count $argv) -eq 1; or test "$argv[2..]" = "$found[1..$argv[1]]"
end
function __neuralclaw_place --description 'whether so many words of the command itself stand before the cursor'
    set -l count (math $argv[1] + $argv[2])
    __neuralclaw_at $argv[2..]; and __neuralclaw_at $count; and not __neuralclaw_at (math $count + 1)
end
function __neuralclaw_values
    set -l program (commandline -opc)[1]
    $program completion --values $argv[1] 2>/dev/null
end
complete -c neuralclaw -f
"""


def _case(pattern: str, value: _Value | None, indent: int) -> str:
    """One line of a `case`: what stands in this place."""
    if value is None or not value.kind:
        return ""
    words = f" __nc_words={shlex.quote(' '.join(value.words))}" if value.words else ""
    return f"{' ' * indent}{pattern}) __nc_kind={value.kind}{words} ;;\n"


class _WordList:
    """Words that are offered in one place."""

    def __init__(self, words: Iterable[str]) -> None:
        self.kind, self.words = "words", tuple(words)


def _shared(offers: Sequence[_Offer]) -> str:
    nouns = list(dict.fromkeys(offer.name.split()[0] for offer in offers))
    grouped = [noun for noun in nouns if any(offer.name.startswith(f"{noun} ") for offer in offers)]
    places = _case("':0'", _WordList(nouns), 4)
    for noun in grouped:
        places += _case(f"'{noun}:0'", _WordList(offer.name.split()[1] for offer in offers if offer.name.startswith(f"{noun} ")), 4)
    values, options = "", _case("''", _WordList(("--help", "--home", "--version")), 8)
    for offer in offers:
        options += _case(f"'{offer.name}'", _WordList(name for option in offer.options for name in option.names), 8)
        places += "".join(_case(f"'{offer.name}:{number}'", value, 4) for number, value in enumerate(offer.places))
        values += "".join(_case(f"'{offer.name} {name}'", option.value, 6) for option in offer.options for name in option.names if name != "--home")
    parts = {"VALUED": _valued(offers), "GROUPS": " | ".join(grouped), "VALUES": values, "OPTIONS": options, "PLACES": places}
    return _filled(_SHARED, {name: part.rstrip("\n") for name, part in parts.items()})


def _valued(offers: Sequence[_Offer]) -> str:
    """The options that take a value, of all commands."""
    return " ".join(dict.fromkeys(name for offer in offers for option in offer.options if option.value for name in option.names))


def _filled(text: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def bash(offers: Sequence[_Offer]) -> str:
    """The script for bash, from 3.2 on."""
    return _filled(_BASH, {"SHARED": _shared(offers)})


def zsh(offers: Sequence[_Offer]) -> str:
    """The script for zsh: to be sourced, or kept as `_neuralclaw` in a directory of `fpath`."""
    return _filled(_ZSH, {"SHARED": _shared(offers)})


def fish(offers: Sequence[_Offer]) -> str:
    """The script for fish, with a description beside each word."""
    lines = [_filled(_FISH, {"VALUED": _valued(offers)}).rstrip("\n")]
    seen = set[str]()
    for offer in offers:
        noun, _, verb = offer.name.partition(" ")
        if noun not in seen:
            about = "" if verb else f" -d {shlex.quote(offer.summary)}"
            lines.append(f"complete -c neuralclaw -n 'not __neuralclaw_at 1' -a {noun}{about}")
            seen.add(noun)
        if verb:
            lines.append(f"complete -c neuralclaw -n '__neuralclaw_place 0 1 {noun}' -a {verb} -d {shlex.quote(offer.summary)}")
        lines += _fish_lines(offer)
    return "\n".join(lines) + "\n"


def _fish_lines(offer: _Offer) -> list[str]:
    count = len(offer.name.split())
    lines = []
    for option in offer.options:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        takes = f" {_fish_value(option.value)}" if option.value else ""
        lines.append(f"complete -c neuralclaw -n '__neuralclaw_at {count} {offer.name}' {names}{takes} -d {shlex.quote(option.help)}")
    for number, value in enumerate(offer.places):
        if value.kind:
            lines.append(f"complete -c neuralclaw -n '__neuralclaw_place {number} {count} {offer.name}' {_fish_value(value, place=True)}")
    return lines


def _fish_value(value: _Value, *, place: bool = False) -> str:
    """What may stand in a place, or behind an option (`-x`: nothing else, `-r`: or files)."""
    if value.kind == "files":
        return "-F" if place else "-r"
    found = {"": "", "words": " ".join(value.words), "dirs": "(__fish_complete_directories)"}.get(value.kind, f"(__neuralclaw_values {value.kind})")
    words = f"-a {shlex.quote(found)}" if found else ""
    return words if place else f"-x {words}".rstrip()


SCRIPTS: dict[str, Callable[[Sequence[_Offer]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
