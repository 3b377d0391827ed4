"""R B Rᵀ from neighbourhoods and coarse levels, against a V-cycle for every row."""

import numpy as np
import pytest

from paddlewheel.solve.multigrid import Multigrid
from paddlewheel.solve.packed import pack
from paddlewheel.solve.response import WIDTH, Response
from paddlewheel.solve.system import Rows, System, oriented
from paddlewheel.types import Faces


def random_system(shape, terms, width=6, holes=0.2, seed=0):
    """Couplings over many orders, cells without an unknown, and terms on random cells, some of them shared."""
    rng = np.random.default_rng(seed)
    unknown = rng.random(shape) >= holes
    coupling = []
    for a in range(3):
        c = np.zeros([n + (a == d) for d, n in enumerate(shape)], np.float32)
        low, high = (np.moveaxis(unknown, a, 0)[s] for s in (slice(-1), slice(1, None)))
        inner = np.moveaxis(c, a, 0)[1:-1]
        inner[...] = np.where(low & high, 10.0 ** rng.uniform(-4, 0, inner.shape), 0)
        coupling.append(c)
    extra = np.where(unknown & (rng.random(shape) < 0.05), rng.random(shape), 0.0)
    cells = [rng.choice(np.flatnonzero(unknown), min(12, unknown.sum()), replace=False) for _ in range(terms)]
    start = np.cumsum([0, *(len(c) for c in cells)])
    cells = np.concatenate([*cells, np.empty(0, np.int64)])
    rows = Rows(start, cells, rng.standard_normal((start[-1], width)))
    return oriented(System(Faces(*coupling), extra, np.zeros(shape), unknown, rows))


def places(layout, rows):
    """Where the cells of rows are in a vector, as flat indices."""
    where = np.unravel_index(rows.cell, layout.shape)
    colour = (np.sum(where, axis=0) + 1) % 2
    return colour * layout.size + layout.starts[where[0] + 1, where[1] + 1] + (where[2] + 1) // 2


def as_vectors(layout, rows):
    at, width = places(layout, rows), rows.value.shape[1]
    R = np.zeros((rows.count, 2, layout.size), np.float32)
    for t in range(len(rows.start) - 1):
        own = slice(rows.start[t], rows.start[t + 1])
        for p in range(width):
            np.add.at(R[t * width + p].reshape(-1), at[own], rows.value[own, p])
    return R


def by_columns(multigrid, rows):
    layout = multigrid.packed.layout
    R = as_vectors(layout, rows)
    z, out = layout.zeros(np.float32), np.empty((rows.count, rows.count))
    for n, row in enumerate(R):
        multigrid(z, row)
        out[n] = np.einsum("ncs,cs->n", R.astype(np.float64), z)
    return out


@pytest.mark.parametrize("shape", [(3, 1, 2), (9, 14, 11), (40, 25, 1), (24, 26, 30)])
@pytest.mark.parametrize("width", [1, 6])
def test_response_is_what_v_cycles_give(shape, width):
    system = random_system(shape, terms=1 if shape == (3, 1, 2) else 5, width=width, holes=0 if shape[0] == 3 else 0.2)
    multigrid = Multigrid(pack(system))
    expected, found = by_columns(multigrid, system.rows), Response(multigrid, system.rows).matrix
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("width", [1, 5, 6])
def test_response_of_small_terms_far_apart(width):
    """Of these, sweeps of the coarse levels reach a few planes only; they are in no order, and more than go at once."""
    shape, size = (120, 6, 7), 3
    system, rng = random_system(shape, terms=0, holes=0.05), np.random.default_rng(3)
    box = np.stack(np.meshgrid(*3 * [np.arange(size)], indexing="ij"), axis=-1).reshape(-1, 3)
    corners = rng.integers(0, np.array(shape) - size, (15, 3))
    cells = [np.ravel_multi_index(tuple((box + corner).T), shape) for corner in corners]
    cells = [own[system.unknown.reshape(-1)[own]] for own in cells]
    start = np.cumsum([0, *(len(own) for own in cells)])
    rows = Rows(start, np.concatenate(cells), rng.standard_normal((start[-1], width)))
    multigrid = Multigrid(pack(system._replace(rows=rows)))
    expected, found = by_columns(multigrid, rows), Response(multigrid, rows).matrix
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("shape", [(3, 1, 2), (9, 14, 11), (40, 25, 1), (24, 26, 30)])
@pytest.mark.parametrize("width", [1, 6])
def test_correction_half_way_through_a_v_cycle_is_that_of_two(shape, width):
    """B r − B Rᵀ Y R B r = B (r − Rᵀ Y R B r), whatever the symmetric Y."""
    system = random_system(shape, terms=1 if shape == (3, 1, 2) else 5, width=width, holes=0 if shape[0] == 3 else 0.2)
    packed, rows = pack(system), system.rows
    multigrid, layout = Multigrid(packed), packed.layout
    response, R = Response(multigrid, rows), as_vectors(layout, rows).astype(np.float64)
    reply = np.linalg.inv(np.eye(rows.count) + response.matrix)
    r = np.where(packed.inverse > 0, np.random.default_rng(1).standard_normal((2, layout.size)), 0).astype(np.float32)
    expected, found = layout.zeros(np.float32), layout.zeros(np.float32)
    multigrid(expected, r)
    push = reply @ np.einsum("ncs,cs->n", R, expected)
    multigrid(expected, (r - np.einsum("ncs,n->cs", R, push)).astype(np.float32))
    response.corrected(rows._replace(cell=places(layout, rows)), reply)(found, r)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_term_without_cells_has_no_response():
    system = random_system((8, 8, 8), terms=2)
    rows = system.rows._replace(start=np.append(system.rows.start, system.rows.start[-1]))
    found = Response(Multigrid(pack(system)), rows).matrix
    assert found[:12, :12].any()
    assert not found[12:].any()
    assert not found[:, 12:].any()


def test_too_many_rows_to_a_term_are_refused():
    system = random_system((8, 8, 8), terms=2, width=WIDTH + 1)
    with pytest.raises(ValueError, match=f"width {WIDTH + 1}"):
        Response(Multigrid(pack(system)), system.rows)
