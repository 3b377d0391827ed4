"""Threads, the cache of compiled kernels, and arithmetic that keeps NaN."""

import gc
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest

import paddlewheel
from paddlewheel import kernel as module
from paddlewheel.kernel import kernel, prange

COMPILING = "compiling kernels (first run only)"
SHOW_CACHE = "import numba, paddlewheel.kernel; print(numba.config.CACHE_DIR)"
SHOW_THREADS = "from paddlewheel.kernel import threads; print(threads())"
RUN_KERNEL = "from paddlewheel.benchmark import triad_bandwidth; triad_bandwidth(16, 1)"
RUN_LIQUID = """
import hashlib
from paddlewheel import Simulation
from paddlewheel.gallery import hollow
simulation = Simulation(hollow.scene(cells=24))
for _ in range(6):
    simulation.step()
state = simulation.state
print(hashlib.sha256(b"".join(a.tobytes() for a in (*state.velocity, *state.particles, state.pressure))).hexdigest())
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment
    )  # fmt: skip


def test_threads_are_as_many_as_asked_for():
    for count in (1, numba.config.NUMBA_NUM_THREADS):
        assert run(SHOW_THREADS, PADDLEWHEEL_THREADS=str(count)).stdout.split() == [str(count)]


def test_one_thread_is_left_to_others_unless_the_user_says_how_many():
    code, most = (
        f"from paddlewheel.kernel import leave_one; leave_one(); {SHOW_THREADS}",
        numba.config.NUMBA_NUM_THREADS,
    )
    unset = {name: value for name, value in os.environ.items() if name != "PADDLEWHEEL_THREADS"}
    left = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=unset)
    assert left.stdout.split() == [str(max(1, most - 1))]
    assert run(code, PADDLEWHEEL_THREADS=str(most)).stdout.split() == [str(most)]


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", "two", "", "100000"])
def test_a_wrong_number_of_threads_is_named(wrong):
    done = run(SHOW_THREADS, PADDLEWHEEL_THREADS=wrong)
    assert done.returncode != 0
    assert f"ValueError: PADDLEWHEEL_THREADS={wrong!r}: expected a whole number from 1 to" in done.stderr


def test_the_cache_is_keyed_by_the_sources(tmp_path):
    """An edit in any file, not only in the one a kernel stands in, must compile anew."""
    copy = tmp_path / "paddlewheel"
    shutil.copytree(Path(paddlewheel.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PADDLEWHEEL_CACHE_KEY": ""}
    before = run(SHOW_CACHE, **environment).stdout.strip()
    assert Path(before).parent == tmp_path / "cache"
    assert run(SHOW_CACHE, **environment).stdout.strip() == before
    with (copy / "types.py").open("a") as file:
        file.write("\nEDITED = True\n")
    assert run(SHOW_CACHE, **environment).stdout.strip() not in ("", before)


def test_only_the_first_run_compiles_and_says_so(tmp_path):
    first = run(RUN_KERNEL, NUMBA_CACHE_DIR=str(tmp_path))
    second = run(RUN_KERNEL, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.returncode == second.returncode == 0
    assert first.stderr.count(COMPILING) == 1
    assert COMPILING not in second.stderr


@pytest.mark.slow
def test_compiled_kernels_do_what_loaded_ones_do(tmp_path):
    """To the last bit, or a run that is resumed would not be the unbroken one."""
    first = run(RUN_LIQUID, NUMBA_CACHE_DIR=str(tmp_path))
    second = run(RUN_LIQUID, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stderr.count(COMPILING) == 1
    assert COMPILING not in second.stderr
    assert len(first.stdout) > 64
    assert first.stdout == second.stdout


def test_a_home_that_cannot_be_written_to_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    assert run(RUN_KERNEL, NUMBA_CACHE_DIR=str(blocked)).returncode == 0


HOMELESS = """
import pathlib

def home(*_):
    raise RuntimeError("Could not determine home directory.")

pathlib.Path.home = home
"""


def test_a_user_without_a_home_has_a_private_cache(tmp_path):
    done = run(HOMELESS + SHOW_CACHE, NUMBA_CACHE_DIR="", XDG_CACHE_HOME="", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    base = Path(done.stdout.strip()).parent
    assert base == tmp_path / f"paddlewheel-{os.getuid()}"
    assert stat.S_IMODE(base.stat().st_mode) == 0o700


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The name the cache has in the temporary directory, not yet made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"paddlewheel-{os.getuid()}"


def test_a_cache_others_could_read_is_made_private(temporary):
    temporary.mkdir(mode=0o755)
    assert module._temporary_cache() == temporary
    assert stat.S_IMODE(temporary.stat().st_mode) == 0o700


def another_owner(path, monkeypatch):
    path.mkdir()
    real = Path.lstat

    def lstat(self):
        found = list(real(self))
        found[stat.ST_UID] += self == path
        return os.stat_result(found)

    monkeypatch.setattr(Path, "lstat", lstat)


def others_may_write(path, monkeypatch):
    path.mkdir()
    path.chmod(0o777)


def a_link(path, monkeypatch):
    (path.parent / "elsewhere").mkdir()
    path.symlink_to(path.parent / "elsewhere")


def a_file(path, monkeypatch):
    path.write_text("")


@pytest.mark.parametrize("planted", [another_owner, others_may_write, a_link, a_file])
def test_a_cache_someone_else_may_have_filled_is_not_used(planted, temporary, monkeypatch):
    """Compiled kernels are code: loading them from there would run whatever lies there."""
    planted(temporary, monkeypatch)
    cache = module._temporary_cache()
    assert cache.parent == temporary.parent
    assert cache.name not in (temporary.name, "elsewhere")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


@kernel
def _not_finite(out, values):
    for i in prange(values.shape[0]):
        out[i, 0] = np.isnan(values[i])
        out[i, 1] = np.isinf(values[i])
        out[i, 2] = values[i] != values[i]
        out[i, 3] = not values[i] < 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fast_arithmetic_still_sees_what_is_not_finite(dtype):
    """Full fast maths would fold all four tests to False."""
    values = np.array([0.5, np.nan, np.inf, -np.inf, 2.0], dtype)
    out = np.empty((5, 4), bool)
    _not_finite(out, values)
    expected = [np.isnan(values), np.isinf(values), np.isnan(values), ~(values < 1)]
    np.testing.assert_array_equal(out, np.transpose(expected))


def test_garbage_is_collected_again_after_compiling():
    """If it was before, and after an error as well."""
    before = gc.isenabled()
    try:
        for on in (True, False):
            (gc.enable if on else gc.disable)()
            seen = []
            compiled = numba.njit(lambda x: x + 1)  # not to be found on disk
            with numba.core.event.install_listener("numba:compile", _Watch(seen)):
                assert compiled(1) == 2
            assert seen == [False]
            assert gc.isenabled() == on
            with pytest.raises(numba.TypingError):
                numba.njit(lambda x: x.nowhere)(1)
            assert gc.isenabled() == on
    finally:
        (gc.enable if before else gc.disable)()


class _Watch(numba.core.event.Listener):
    def __init__(self, seen):
        self._seen = seen

    def on_start(self, event):
        self._seen.append(gc.isenabled())

    def on_end(self, event):
        pass
