"""Ctrl-C while the command is still being imported: one line, not a traceback of whatever was being loaded.

Importing takes half a second, most of it in other packages, which may swallow
a KeyboardInterrupt or turn it into an error of their own. So until `cli` takes
over, the signal itself ends the process. The package imports this module
first; in a process that is not the command it does nothing.
"""

import os
import signal
import sys
from itertools import pairwise
from pathlib import Path

INTERRUPTED = 130


def hold() -> None:
    """End the process at Ctrl-C, if it is the command, and the signal is not ignored or somebody else's."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def release() -> None:
    """Let Ctrl-C be a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Whether this process is `paddlewheel` or `python -m paddlewheel`."""
    script = sys.argv[0] if sys.argv else ""
    if script == "-m":  # so it is called until the module has been found
        return ("-m", "paddlewheel") in pairwise(sys.orig_argv)
    return Path(script).stem == "paddlewheel"


def _leave(number, frame) -> None:
    os.write(2, b"paddlewheel: interrupted\n")
    os._exit(INTERRUPTED)


hold()
