import numba
import pytest


@pytest.fixture
def on_threads():
    """on_threads(n, function, *arguments): the function's result on n threads, at most those there are."""
    before = numba.get_num_threads()

    def run(n, function, *arguments):
        numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
        return function(*arguments)

    yield run
    numba.set_num_threads(before)
