"""Every kernel of the grid is also plain Python, which says where an index runs out of bounds; Numba does not."""

import os
import subprocess
import sys

import numpy as np
import pytest

from paddlewheel.grid.extrapolate import constrain, extrapolate
from paddlewheel.grid.fractions import WEIGHTS, open_fractions
from paddlewheel.grid.levelset import extend, extend_into_solids
from paddlewheel.grid.stencil import divergence, gradient
from paddlewheel.types import Boundary, Faces, Grid


def everything():
    """The results of every public function on tiny grids, one of them 2-D, as a dict of arrays."""
    results = {}
    for grid in (Grid((4, 3, 2), 0.5), Grid((4, 3, 1), 0.5)):
        rng = np.random.default_rng(1)
        phi = (rng.random(grid.node_shape) - 0.6).astype(np.float32)
        level = rng.random(grid.shape) - 0.6
        u = Faces(*(rng.random(grid.face_shape(a)).astype(np.float32) for a in range(3)))
        weights = {name: open_fractions(phi, name) for name in WEIGHTS}
        w = weights["area"]
        faces = weights | {
            "gradient": gradient(level, grid.h),
            "extrapolate": extrapolate(u, Faces(*(v > 0 for v in w)), 2)[0],
            "constrain": constrain(u, Boundary(phi, w, u)),
        }
        cells = {
            "divergence": divergence(u, w, grid.h, u),
            "extend_into_solids": extend_into_solids(rng.normal(0, grid.h, grid.shape), phi, grid.h),
            "extend": extend(level, rng.random(grid.shape) < 0.3, grid.h),
        }
        results |= {f"{grid.shape} {name} {a}": f[a] for name, f in faces.items() for a in range(3)}
        results |= {f"{grid.shape} {name}": f for name, f in cells.items()}
    return results


def test_plain_python_gives_the_same(tmp_path):
    file = tmp_path / "plain.npz"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, __file__, str(file)], check=True, env=environment, timeout=120)
    plain, compiled = np.load(file), everything()
    assert set(plain) == set(compiled)
    for name, field in compiled.items():
        assert field.dtype == plain[name].dtype
        assert field == pytest.approx(plain[name], rel=1e-5, abs=2e-6), name


if __name__ == "__main__":
    np.savez(sys.argv[1], **everything())
