"""Ctrl-C ends the command whenever it comes, and with one line.

Importing takes half a second, most of it in other packages, which may swallow
a KeyboardInterrupt or turn it into an error of their own. So until `cli` takes
over, the signal itself ends the process. Later it is a KeyboardInterrupt. One
that comes while Python frees an object (LLVM's do much when they are freed) is
lost there, and is sent again; one inside LLVM's calls back to Python breaks the
process, so that while a kernel is compiled or loaded it waits. The package
imports this module first; in a process that is not the command it does nothing.
"""

import os
import signal
import sys
import threading
from itertools import pairwise
from pathlib import Path

INTERRUPTED = 130
A_MOMENT = 0.01  # s

_depth = 0  # of what must not be interrupted
_waiting = False  # whether Ctrl-C came meanwhile


def hold() -> None:
    """End the process at Ctrl-C, if it is the command, and the signal is not ignored or somebody else's."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def release() -> None:
    """Let Ctrl-C be a KeyboardInterrupt again, and none be lost."""
    if signal.getsignal(signal.SIGINT) is _leave:
        sys.unraisablehook = _send_again
        signal.signal(signal.SIGINT, _interrupt)


def begin() -> None:
    """From here on Ctrl-C waits for the `end`, if this is the main thread, which alone it interrupts."""
    global _depth
    if threading.current_thread() is threading.main_thread():
        _depth += 1


def end() -> None:
    """The end of what must not be interrupted: a Ctrl-C that waited comes now."""
    global _depth, _waiting
    if threading.current_thread() is threading.main_thread():
        _depth -= 1
        if _waiting and not _depth:
            _waiting = False
            signal.raise_signal(signal.SIGINT)


def _is_command() -> bool:
    """Whether this process is `paddlewheel` or `python -m paddlewheel`."""
    script = sys.argv[0] if sys.argv else ""
    if script == "-m":  # so it is called until the module has been found
        return ("-m", "paddlewheel") in pairwise(sys.orig_argv)
    return Path(script).stem == "paddlewheel"


def _leave(number, frame) -> None:
    os.write(2, b"paddlewheel: interrupted\n")
    os._exit(INTERRUPTED)


def _interrupt(number, frame) -> None:
    global _waiting
    if not _depth:
        raise KeyboardInterrupt
    _waiting = True


def _send_again(lost) -> None:
    """What Python calls with an exception that nobody can catch: a KeyboardInterrupt comes again in a moment."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(A_MOMENT, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)


hold()
