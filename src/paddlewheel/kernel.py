"""How kernels are compiled: one decorator, one cache, one place for threads.

    @kernel
    def _scale(out, factor):
        for i in prange(out.shape[0]):
            out[i] *= factor

A kernel is compiled when it is first called and kept on disk. Numba's cache
looks only at the file a kernel stands in, so the cache directory is named by
a hash of all the package's sources: an edit anywhere compiles anew.
"""

import atexit
import ctypes
import gc
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import numba
import numpy as np
from llvmlite import ir
from numba import prange
from numba.core import event
from numba.extending import intrinsic, overload, register_jitable

from paddlewheel import interrupt

__all__ = [
    "compile_seconds",
    "kernel",
    "leave_one",
    "lowest_bit",
    "prange",
    "share",
    "source_hash",
    "threads",
    "threads_worth",
    "words",
]

# Full fast maths would delete tests for NaN and infinity. Sums must keep their order: with "reassoc" machine code of
# the process that compiled a kernel adds up in another one than that which is loaded from the cache, and a run that is
# resumed would differ from the unbroken one. It costs no time that could be measured.
_FAST = {"contract", "nsz", "arcp"}
_declared: list[str] = []

FEW = 4000  # items a kernel goes through in about the time it takes to wake a thread and wait for it


def kernel(function=None, *, parallel=True, inline=False):
    """Compile a function of arrays, named tuples and scalars with Numba.

    `parallel=False` is for functions called inside a kernel or too small to
    share out; `inline=True` writes such a function into its callers.
    """

    def declare(python):
        if parallel:
            _declared.append(f"{python.__module__.removeprefix('paddlewheel.')}.{python.__name__}")
        return numba.njit(
            parallel=parallel,
            cache=True,
            fastmath=_FAST,
            error_model="numpy",
            inline="always" if inline else "never",
            no_cfunc_wrapper=True,  # nothing in C calls them: one wrapper fewer to compile
        )(python)

    return declare if function is None else declare(function)


@register_jitable
def share(block, n, blocks):
    """The range of n items that one of some blocks has."""
    return n * np.int64(block) // blocks, n * (np.int64(block) + 1) // blocks


def lowest_bit(word):
    """The place of the lowest bit of a word, uint64, that is set."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


@overload(lowest_bit)
def _lowest_bit(word):
    return lambda word: _count_trailing_zeros(word)


@intrinsic
def _count_trailing_zeros(_, word):
    def generate(_, builder, __, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate


def words(bits: int) -> int:
    """How many words of 64 bits so many take."""
    return -(-bits // 64)


def threads() -> int:
    """Number of threads the kernels run on; a ValueError if PADDLEWHEEL_THREADS asks for what cannot be."""
    if _mistake:
        raise ValueError(_mistake)
    return 1 if _ThreadsWorth.is_inside() else numba.get_num_threads()


def leave_one() -> None:
    """Run kernels on one thread fewer from now on, if there are two: another program needs its core.

    Unless PADDLEWHEEL_THREADS says how many. A thread that waits for one whose core is taken waits for long.
    """
    if threads() > 1 and "PADDLEWHEEL_THREADS" not in os.environ:
        numba.set_num_threads(threads() - 1)


def threads_worth(items: int) -> "_ThreadsWorth":
    """Run kernels on one thread inside, if they have so few items that waking the others costs more than it saves."""
    return _ThreadsWorth(items)


class _ThreadsWorth:
    """Neither a generator, nor one that asks Numba again inside another: a step of a small scene enters it more than
    twenty times, and each of these took a fiftieth of it."""

    _inside = threading.local()

    def __init__(self, items: int):
        self._few, self._before = items <= FEW, 0

    @classmethod
    def is_inside(cls) -> bool:
        """Whether this runs inside one that left a single thread."""
        return getattr(cls._inside, "one", False)

    def __enter__(self) -> None:
        if self._few and not self.is_inside():
            self._before = threads()
            self._inside.one = True
            if self._before > 1:
                numba.set_num_threads(1)

    def __exit__(self, *_) -> None:
        if self._before:
            self._inside.one = False
            if self._before > 1:
                numba.set_num_threads(self._before)


def compile_seconds() -> float:
    """Seconds this process has spent compiling kernels rather than loading them from the cache."""
    return _listener.seconds


@cache
def source_hash() -> str:
    """Twelve hex digits that change whenever any source file of the package does, or Numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _cache_key() -> str:
    """The hash of the sources.

    PADDLEWHEEL_CACHE_KEY overrules it, for work on the package itself: only kernels whose own file was edited are
    compiled anew then, and those that call them from other files are not.
    """
    key = os.environ.get("PADDLEWHEEL_CACHE_KEY", "")
    return key if key.isidentifier() else source_hash()


def _use_cache() -> None:
    """Point Numba's cache at a directory of this very version of the sources."""
    try:
        folder = _lasting_cache() / _cache_key()
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except (OSError, RuntimeError):  # the latter from Path.home() of a user without any
        writable = False
    if not writable:  # kernels then live as long as the temporary directory
        folder = _temporary_cache() / _cache_key()
    numba.config.CACHE_DIR = str(folder)


def _lasting_cache() -> Path:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddlewheel"


def _temporary_cache() -> Path:
    """A temporary directory that only this user can write to: what lies in it is run as code."""
    path = Path(tempfile.gettempdir()) / f"paddlewheel-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()  # of a link itself, not of what it points to
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            path.chmod(0o700)
            return path
    except OSError:
        pass
    own = tempfile.mkdtemp(prefix="paddlewheel-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)


def _keep_memory() -> None:
    """Let the C library keep freed memory for the next step instead of giving it back to the system.

    A step allocates what the step before freed, and faults on fresh pages took up to a fifth of a pressure solve. To
    keep 64 MB at the end of the heap is enough: with all of it 4 million particles took 50 MB more, and as long;
    8 million 30 MB more, and 4 % less time.
    Only glibc knows how; MALLOC_TRIM_THRESHOLD_ in the environment overrules.
    """
    if not sys.platform.startswith("linux") or "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h
        mallopt(mmap_threshold, 32 << 20)  # the most that glibc takes
        mallopt(trim_threshold, 64 << 20)


def _use_threads() -> str | None:
    """Honour PADDLEWHEEL_THREADS; prefer OpenMP, whose launch costs 3 µs against tbb's 16 to 84.

    A thread that waits for another spins for milliseconds by OpenMP's default. Beside any other busy program that
    takes the processor from the very thread it waits for, and a solve took 3 to 10 times as long. Not to spin at all
    costs 50 µs for each of the thousand waits of a solve; and on a virtual machine a thread that sleeps is often woken
    on the core of the one that wakes it, and stays there for seconds, while the other core is idle. So it spins for
    about half a millisecond, which is longer than most of what lies between two kernels. `Pace` finds out where even
    that is too much.
    """
    numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    wanted = os.environ.get("PADDLEWHEEL_THREADS")
    if wanted is None:
        return None
    most = numba.config.NUMBA_NUM_THREADS
    if not wanted.isdecimal() or not 1 <= int(wanted) <= most:
        # Not raised here: an import that fails would leave the command line no way to say it in one line.
        return f"PADDLEWHEEL_THREADS={wanted!r}: expected a whole number from 1 to {most} on this machine"
    numba.set_num_threads(int(wanted))
    return None


class _Progress(event.Listener):
    """Shows on stderr that kernels are being compiled: the one wait a new user would not understand."""

    def __init__(self):
        self.seconds = 0.0
        self.count = 0
        self._depth = 0
        self._started = 0.0
        self._lock = threading.RLock()

    def on_start(self, event):
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._started = time.perf_counter()
            if self._depth == 1 and _is_ours(event):
                self.count += 1
                self._show(event.data["dispatcher"].py_func.__name__.lstrip("_"))

    def on_end(self, event):
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._started
                if sys.stderr.isatty():
                    sys.stderr.write("\r\x1b[K")
                    sys.stderr.flush()

    def _show(self, name: str) -> None:
        line = "paddlewheel: compiling kernels (first run only)"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line} {self.count}, at most {len(_declared)}: {name} …")
        elif self.count == 1:
            sys.stderr.write(line + " …\n")
        sys.stderr.flush()


class _Undisturbed(event.Listener):
    """Lets Ctrl-C wait while a kernel is compiled or loaded."""

    def on_start(self, event):
        interrupt.begin()

    def on_end(self, event):
        interrupt.end()


class _Uncollected(event.Listener):
    """Lets garbage lie while a kernel is compiled: to look for it takes a sixteenth of that time."""

    def __init__(self):
        self._depth, self._was_on = 0, False

    def on_start(self, event):
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event):
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


def _is_ours(started) -> bool:
    return started.data["dispatcher"].py_func.__module__.startswith("paddlewheel")


_use_cache()
_keep_memory()
_mistake = _use_threads()
_listener = _Progress()
event.register("numba:compile", _listener)
event.register("numba:compile", _Uncollected())
event.register("numba:compiler_lock", _Undisturbed())
