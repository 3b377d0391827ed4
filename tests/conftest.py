"""Shared by all tests: threads."""

import numba
import pytest

from paddlewheel import kernel


@pytest.fixture
def on_threads(monkeypatch):
    """on_threads(n, function, *arguments): the function's result on n threads, at most those there are."""
    monkeypatch.setattr(kernel, "FEW", 0)  # or small problems would be solved on one anyway
    before = numba.get_num_threads()

    def run(n, function, *arguments, **options):
        numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
        return function(*arguments, **options)

    yield run
    numba.set_num_threads(before)
