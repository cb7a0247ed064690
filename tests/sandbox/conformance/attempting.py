"""`main` makes one attempt: NAME CONTEXT. Prints `escaped`, `held REASON` or `broken REASON`."""

import errno
import json
import os
import sys

from . import attempts, granted_attempts, more_attempts, planting_attempts


def main() -> None:
    name, context = sys.argv[1], json.loads(sys.argv[2])
    try:
        {**vars(attempts), **vars(more_attempts), **vars(planting_attempts), **vars(granted_attempts)}[name](context)
    except OSError as error:
        print("held", errno.errorcode.get(error.errno or 0, "?"), error)
    except BaseException as error:
        print("broken", type(error).__name__, error)
    else:
        print("escaped")
    sys.stdout.flush()
    os._exit(0)
