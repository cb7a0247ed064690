"""Names of environment variables and of headers that a call may not give a value: they decide what is run, or how a request is read."""

from .cut_texts import cut_text

LONGEST = 80
"""Characters of a name that a sentence shows."""
# Variables that make a program load or run something other than what was judged.
_REDIRECTING = ("LD_", "DYLD_", "GIT_", "PERL5", "NODE_", "RUBY", "BASH_", "XDG_CONFIG", "CARGO_", "NPM_", "PIP_", "JAVA_", "MAKE", "AWK")
_REDIRECTING_NAMES = frozenset(
    "PATH IFS ENV HOME CDPATH SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND GLOBIGNORE SHELL PERLLIB PERLDB_OPTS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH GCONV_PATH"
    " LOCPATH NLSPATH HOSTALIASES RES_OPTIONS EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE LESS MORE TERMINFO TERMINFO_DIRS SSH_ASKPASS SUDO_ASKPASS"
    " RUSTC RUSTC_WRAPPER RUSTFLAGS GOFLAGS CC CXX LD TAR_OPTIONS RSYNC_RSH WGETRC CURL_HOME INPUTRC GIT TMOUT POSIXLY_CORRECT".split()
)
_HARMLESS_PYTHON = frozenset("PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8".split())
_NOT_GIVEN = frozenset(
    "host content-length content-type transfer-encoding connection upgrade te trailer expect accept accept-encoding range keep-alive".split()
)


def variable_problem(name: str) -> str:
    """Why no call may set the environment variable, as a sentence; "" where it may."""
    if not (name.isascii() and name.isidentifier()):
        return f"{cut_text(name, LONGEST)!r} is not a name for an environment variable"
    upper = name.upper()
    if upper.startswith(_REDIRECTING) or upper in _REDIRECTING_NAMES or (upper.startswith("PYTHON") and upper not in _HARMLESS_PYTHON):
        return f"the environment variable {cut_text(name, LONGEST)} may not be set: it decides which code a program loads or runs"
    return ""


def header_problem(name: str) -> str:
    """Why no call may give the header, as a sentence; "" where it may."""
    if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or name.lower() in _NOT_GIVEN:
        return f"the header {cut_text(name, LONGEST)!r} cannot be given"
    return ""
