"""Every kernel of assembly and solve is also plain Python, which says where an index runs out of bounds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # also when run as a script, below

import zoo
from paddlewheel.physics.pressure import project
from paddlewheel.types import Faces, Grid

SHAPES = [(6, 5, 6), (6, 5, 1)]


def everything():
    """Projections of a tank with a cut corner, a closed part and air, with each solver; in 3-D and in 2-D."""
    results = {}
    for shape in SHAPES:
        rng = np.random.default_rng(1)
        grid = Grid(shape, 0.1)
        x, y, z = np.moveaxis(grid.node_points(), -1, 0)
        solid = (0.3 - y - 0.5 * x - 0.1 * z).astype(np.float32) * -1
        case = zoo.build("no liquid", 0, 8)
        boundary = case.boundary._replace(
            phi=solid,
            open=Faces(*(rng.random(grid.face_shape(a)).astype(np.float32) for a in range(3))),
            velocity=Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3))),
        )
        for a in range(3):
            np.moveaxis(boundary.open[a], a, 0)[[0, -1]] = 0
        boundary.open.x[2] = 0
        velocity = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
        phi = np.where(np.arange(shape[0])[:, None, None] < 2, -1.0, rng.uniform(-1, 0.5, shape)).astype(np.float32)
        for solver in ("multigrid", "mic"):
            projection = project(grid, velocity, phi, boundary, 0.01, solver=solver, tolerance=1e-10)
            assert projection.info.converged
            name = f"{shape} {solver}"
            results |= {f"{name} {a}": projection.velocity[a] for a in range(3)}
            results |= {f"{name} pressure": projection.pressure, f"{name} lost": projection.lost}
    return results


def test_plain_python_gives_the_same(tmp_path):
    file = tmp_path / "plain.npz"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, __file__, str(file)], check=True, env=environment, timeout=300)
    plain, compiled = np.load(file), everything()
    assert set(plain) == set(compiled)
    for name, field in compiled.items():
        assert field.dtype == plain[name].dtype
        largest = np.abs(field).max(initial=0.0)
        assert np.allclose(field, plain[name], rtol=0, atol=1e-6 * largest), name


if __name__ == "__main__":
    np.savez(sys.argv[1], **everything())
