"""Shared by all tests: threads."""

import os

# Before OpenMP is loaded. Threads that spin at barriers make small solves ten times slower on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numba
import pytest


@pytest.fixture
def on_threads():
    """on_threads(n, function, *arguments): the function's result on n threads, at most those there are."""
    before = numba.get_num_threads()

    def run(n, function, *arguments, **options):
        numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
        return function(*arguments, **options)

    yield run
    numba.set_num_threads(before)
