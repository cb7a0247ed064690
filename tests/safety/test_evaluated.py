"""Text that bash evaluates once more, and variables that decide what runs: never a plain read, and never under a standing answer."""

import pytest

from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Power, Risk
from neuralclaw.types.signals import Parked

from .parts import TERMINAL, action, gate, judge, standing

pytestmark = pytest.mark.anyio

RUNS_ANYTHING = r"""
[[ 'a[$(echo hacked > hacked.txt)]' -eq 0 ]]
let 'a[$(touch PW)]=1'
x='a[$(touch PW)]'; [[ $x -eq 1 ]]
x='a[$(touch PW)]'; [[ x -eq 1 ]]
x='a[$(touch PW)]'; ((x))
x='a[$(touch PW)]'; echo $((x))
x='a[$(touch PW)]'; y=$x; echo $((y))
x='a[$(touch PW)]'; y=$((x+1))
: 'a[$(touch PW)]'; ((_))
mapfile -C 'touch PW #' -c 1 a <<< x
PS4='$(touch PW)'; set -x; ls
HOME=.; git status
PATH=. ; ls
read 'a[$(touch PW)]'
declare 'a[$(touch PW)]=x'
declare "a[\$(touch PW)]=x"
readonly -a 'a[$(touch PW)]=x'
x='a[$(touch PW)]'; for ((;x;)); do ls; done
for ((i='a[$(touch PW)]';;)); do ls; done
hash -p ./evil ls; ls
BASH_CMDS[ls]=./evil; ls
LD_PRELOAD=./e.so; ls
BASH_ENV=./x; bash -c ls
GIT_DIR=x; git log
[ 1 -eq 'a[$(touch PW)]' ]
test 1 -eq 'a[$(touch PW)]'
test -v 'a[$(touch PW)]'
[ -v 'a[$(touch PW)]' ]
[[ -v 'a[$(touch PW)]' ]]
unset 'a[$(touch PW)]'
unset "a[$x]"
systemd-run ls
systemd-run --user ls
x='a[$(touch PW)]'; echo ${b[x]}
x='a[$(touch PW)]'; echo ${b:x}
x='a[$(touch PW)]'; echo ${b:0:x}
x='$(touch PW)'; y=${x@P}
x='a[$(touch PW)]'; y=${!x}
x='a[$(touch PW)]'; a[x]=1
x='a[$(touch PW)]'; a=([x]=1)
x='a[$(touch PW)]'; echo $[x]
while :; do ((x)); x='a[$(touch PW)]'; done
declare -i x; x='a[$(touch PW)]'
declare -i x='a[$(touch PW)]'
declare -n r='a[$(touch PW)]'
typeset -a a='([$(touch PW)]=1)'
for PATH in .; do ls; done
read PATH <<< .; ls
printf -v PATH .; ls
printf -v 'a[$(touch PW)]' x
wait -p PATH; ls
unset PATH; ls
: ${PATH:=.}; ls
echo ${PATH=.}; ls
((PATH=1)); ls
export PATH=.; ls
declare -x PATH=.; ls
builtin declare PATH=.; ls
command export PATH=.; ls
getopts a PATH; ls
mapfile PATH < f; ls
set -a; x=1; ls
set -o allexport; ls
jobs -x touch PW
cat <<< $((a[0$(touch PW)]))
x='a[$(touch PW)]'; echo "${z:-$((x))}"
bash -c '((x))' ; x='a[$(touch PW)]'
x='a[$(touch PW)]' bash -c '((x))'
((echo a) && (touch PW))
x='a[$(touch PW)]'; ls=$x; cat <<E%$((ls))%E
ls='a[$(touch PW)]'; ! ((ls))
x='a[$(touch PW)]'; y="$x"; z=${y}; ((z))
x=PATH; declare $x=.; ls
for x in 'a[$(touch PW)]'; do ((x)); done
read x <<< 'a[$(touch PW)]'; ((x))
f() { PATH=.; }; f; ls
PATH+=:.; ls
""".strip().split("\n")

PLAIN = r"""
i=0; i=$((i+1))
i=$((i+1))
x=3; echo $x
n=5; [ "$n" -gt 3 ]
n=5; [[ "$n" -gt 3 ]] && ls
n=5; [[ $n -gt 3 && -f a ]] && ls
for i in 1 2 3; do y=$((i*2)); done
for ((i=0;i<3;i++)); do ls; done
((i=1)); ls
i=0; while [ $i -lt 3 ]; do i=$((i+1)); done
a=(1 2 3); echo hi
set -euo pipefail; ls
set -e; ls
x=abc; y=${x#a}
x=abc; y=${x:1:2}
x=abc; y=${#x}
[ -f a ] && cat a || echo none
[[ -f a ]] && cat a
test -d src && ls src
[ 3 -eq 3 ]
echo $((1+2))
unset x
read -r line < a.txt
a=(); a[0]=x
printf '%s\n' a
name="ann"; echo "hi $name"
export LANG=C; ls
""".strip().split("\n")

SETS = r"""
PATH=.; make
printf -v PATH . ; make
for PATH in .; do make; done
wait -p PATH; make
unset PATH; make
HOME=/x; make
MAKEFLAGS=-fevil; make
BASH_ENV=x; make
test -v 'a[$(id>x)]' ; make
printf -v 'a[$(touch z)]' x; make
x=1; make
x=1 make
LANG=C make
read x; make
[ -f a ]; make
echo ${x:=1}; make
((x=1)); make
for ((i=0;i<1;i++)); do make; done
cd sub && unset x; make
shopt -s expand_aliases; make
alias make=ls; make
set -a; make
declare x; make
printf x; make
""".strip().split("\n")


@pytest.mark.parametrize("text", RUNS_ANYTHING)
async def test_a_line_that_may_run_any_code_is_a_great_risk_and_asks(text: str) -> None:
    verdict = await judge(text.replace("%", "\n"))
    assert (verdict.decision, verdict.risk) == (Decision.ASK, Risk.HIGH), verdict.rules
    assert Power.EXECUTE in verdict.powers


@pytest.mark.parametrize("text", PLAIN)
async def test_an_ordinary_script_with_variables_and_numbers_stays_understood(text: str) -> None:
    verdict = await judge(text)
    assert (verdict.decision, verdict.risk, verdict.understood) == (Decision.ALLOW, Risk.LOW, True), verdict.rules


@pytest.mark.invariant("gate.covers")
@pytest.mark.parametrize("text", SETS)
async def test_a_line_that_sets_anything_is_covered_by_no_standing_answer_and_offers_none(text: str) -> None:
    with pytest.raises(Parked) as asked:
        await gate().authorize(action(TERMINAL, command="make"), Answers())
    with pytest.raises(Parked) as parked:
        await gate().authorize(action(TERMINAL, command=text), standing(asked.value.question))
    assert parked.value.question.choices == ("once", "no")
