"""Every kernel of smoke is also plain Python, which says where an index runs out of bounds; Numba does not."""

import os
import subprocess
import sys

import numpy as np
import pytest

from paddlewheel.grid.cells import open_volumes
from paddlewheel.grid.fractions import open_fractions
from paddlewheel.physics.buoyancy import lifted
from paddlewheel.physics.carried import SCHEMES, carried, carried_faces
from paddlewheel.physics.vorticity import confined
from paddlewheel.types import Boundary, Faces, Grid


def everything():
    """The results of every public function on tiny grids, one of them 2-D, as a dict of arrays."""
    results = {}
    for grid in (Grid((5, 4, 3), 0.5), Grid((5, 4, 1), 0.5)):
        rng = np.random.default_rng(1)
        phi, before = ((rng.random(grid.node_shape) - 0.3).astype(np.float32) for _ in range(2))
        u = Faces(*(rng.normal(0, 1, grid.face_shape(a)).astype(np.float32) for a in range(3)))
        q, t = (rng.random(grid.shape).astype(np.float32) for _ in range(2))
        boundary, was = (Boundary(p, open_fractions(p, "area"), u) for p in (phi, before))
        cells = {"open_volumes": open_volumes(phi)}
        faces = {
            "lifted": lifted(u, q, t, 0.5, alpha=1, beta=2, gravity=(1, -2, 3), among=q > 0.2),
            "confined": confined(u, grid.h, 0.5, 2.0, q > 0.2),
        }
        for scheme in SCHEMES:
            options = {"before": was, "scheme": scheme, "open_sides": {"-x", "+y"}, "stages": 3}
            cells |= {scheme: carried(grid, [q, t], u, boundary, 0.7, ambient=(2, 3), **options)}
            faces |= {scheme: carried_faces(grid, u, u, boundary, 0.7, ambient=(1, 2, 3), **options)}
        results |= {f"{grid.shape} faces {name} {a}": f[a] for name, f in faces.items() for a in range(3)}
        results |= {f"{grid.shape} {name}": np.array(f) for name, f in cells.items()}
    return results


def test_plain_python_gives_the_same(tmp_path):
    file = tmp_path / "plain.npz"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, __file__, str(file)], check=True, env=environment, timeout=120)
    plain, compiled = np.load(file), everything()
    assert set(plain) == set(compiled)
    for name, field in compiled.items():
        assert field.dtype == plain[name].dtype
        assert field == pytest.approx(plain[name], rel=1e-4, abs=1e-5), name


if __name__ == "__main__":
    np.savez(sys.argv[1], **everything())
