"""What all benchmarks share: cases in processes of their own, memory, and what the machine is and can do."""

import contextlib
import json
import os
import pickle
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numba
import numpy as np

from paddlewheel.kernel import kernel, prange, threads

BUSY = 0.5  # load average above which something else is running


def checked_cells(cells: Iterable[int]) -> tuple[int, ...]:
    """Cells along each side of the grids of a ladder."""
    cells = tuple(cells)
    if not cells:
        raise ValueError("cells is empty: expected whole numbers from 8 to 1024")
    for n in cells:
        if not 8 <= n <= 1024:
            raise ValueError(f"cells={n}: expected whole numbers from 8 to 1024")
    return cells


def checked_count(name: str, count: int) -> int:
    """How many steps or frames are timed."""
    if not 1 <= count <= 1000:
        raise ValueError(f"{name}={count}: expected a whole number from 1 to 1000")
    return count


def in_process(function: Callable[..., dict], *arguments, name: str | None = None, environment=None) -> dict:
    """The result of function(*arguments) in a new process; errors call it by its `name`."""
    code = "import json, pickle, sys; f, arguments = pickle.load(sys.stdin.buffer); print(json.dumps(f(*arguments)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((function, arguments)),
        capture_output=True,
        env=os.environ | (environment or {}),
    )
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise OSError(f"{name or f'{function.__name__}{arguments}'} did not finish: {last}")
    return json.loads(done.stdout)


def triad_bandwidth(size: int = 1 << 23, repetitions: int = 8) -> float:
    """Bytes per second of a = b + s c in float64, 24 bytes an element: the best of a few."""
    a, b, c = (np.full(size, value) for value in (0.0, 1.0, 2.0))
    _triad(a[:16], b[:16], c[:16], 3.0)
    best = np.inf
    for _ in range(repetitions):
        began = time.perf_counter()
        _triad(a, b, c, 3.0)
        best = min(best, time.perf_counter() - began)
    return 24 * size / best


@kernel
def _triad(a, b, c, s):
    for i in prange(a.shape[0]):
        a[i] = b[i] + s * c[i]


def load() -> float:
    """How many programs were running on average in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def machine(rows: list[dict] | None = None, load: float = 0.0) -> dict:
    """What the machine is, and if there are rows, its bandwidth, the median of theirs, and its load at the start."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    found = {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "threads": threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
    return found | {"triad": float(np.median([row["triad"] for row in rows])), "load": load} if rows else found


def remarks(result: dict) -> list[str]:
    """What the machine is, in words, and whether it was busy."""
    machine, compiling = result["machine"], max(row["compile_seconds"] for row in result["rows"])
    lines = [
        f"{machine['processor']}, {machine['threads']} threads, triad {machine['triad'] / 1e9:.1f} GB/s; "
        f"kernels compiled in {compiling:.1f} s, not counted above"
    ]
    if machine["load"] > BUSY:
        lines.append(f"the machine was busy (load {machine['load']:.1f} at the start): times are too long")
    return lines


def forget_peak() -> None:
    """Let the peak start again from what is held now, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Most memory this process has held [bytes] since the peak was last forgotten."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike getrusage, without what the parent held when it started this process
        return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
