"""A zoo of scenes that are hard on a pressure solver, by kind and seed.

    case = build("one-cell wall", seed=3)
    system = assemble(*case.arguments)

Lengths are in cells: h = 1 m. Every kind is a function of a random generator
and of the grid's shape, and a new one in KINDS is tested like all others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Shape, Sphere
from paddlewheel.types import Boundary, Faces, Grid

GRAVITY = (2.0, -9.0, 1.0)
STEP = 0.05


class Case(NamedTuple):
    """What `project` and `assemble` take."""

    grid: Grid
    velocity: Faces
    phi: np.ndarray
    boundary: Boundary
    dt: float


@dataclass
class Parts:
    """What a kind puts into its scene.

    solids  Shapes or Solids
    liquid  level set [m]: an array at centres, or f(x, y, z) of cell centres
    cuts    faces closed by a baffle of no thickness: (axis, index that selects faces of that axis)
    """

    liquid: np.ndarray | Callable
    solids: tuple = ()
    cuts: tuple = ()
    open_sides: frozenset = frozenset()


def build(kind: str, seed: int, cells: int = 24) -> Case:
    """One animal of the zoo, always the same for the same arguments."""
    rng = np.random.default_rng([seed, *kind.encode()])
    shape = (cells, cells, cells)
    if kind in FLAT:
        shape = (2 * cells, 2 * cells - 1, 1)
    elif rng.random() < 0.4:  # odd and far from cubic
        shape = tuple(int(n) for n in rng.integers(cells // 2, cells + 8, 3))
    grid = Grid(shape, 1.0)
    parts = KINDS[kind](rng, shape)

    items = [s if isinstance(s, Solid) else Solid(s) for s in parts.solids]
    boundary = measure(grid, items, 0.0, "area", parts.open_sides)
    boundary = boundary._replace(open=Faces(*(w.copy() for w in boundary.open)))
    for axis, faces in parts.cuts:
        boundary.open[axis][faces] = 0
    liquid = parts.liquid
    if callable(liquid):
        liquid = liquid(*np.moveaxis(grid.cell_points(), -1, 0))
    phi = np.ascontiguousarray(np.broadcast_to(liquid, shape), np.float32)
    velocity = Faces(
        *((g * STEP + 0.1 * rng.standard_normal(grid.face_shape(a))).astype(np.float32) for a, g in enumerate(GRAVITY))
    )
    if grid.is_2d:
        velocity.z[:] = 0
    return Case(grid, velocity, phi, boundary, STEP)


def cut_cells(cells: int) -> Case:
    """The scene of the iteration ceilings: sphere, tilted floor, wavy surface, in a box of 1 m."""
    grid = Grid((cells, cells, cells), 1.0 / cells)
    solids = [Solid(Sphere((0.5, 0.3, 0.5), 0.2)), Solid(HalfSpace((0, 0.08, 0), (-0.15, 1, 0)))]
    x, y, _ = np.moveaxis(grid.cell_points(), -1, 0)
    phi = (y - 0.35 - 0.05 * np.sin(6 * x)).astype(np.float32)
    velocity = Faces(*(np.full(grid.face_shape(a), 0.01 * g, np.float32) for a, g in enumerate(GRAVITY)))
    return Case(grid, velocity, phi, measure(grid, solids), 0.01)


def waves(rng, shape) -> Callable:
    """A wavy surface somewhere in the upper part."""
    level, height, k = shape[1] * rng.uniform(0.3, 0.8), rng.uniform(0, 3), rng.uniform(0.1, 1)
    return lambda x, y, z: y - level - height * np.sin(k * x)


def full(x, y, z):
    """Liquid everywhere."""
    return np.full(np.shape(x), -1.0)


def spheres(rng, shape, count, smallest, largest) -> list[Shape]:
    return [Sphere(rng.uniform(0, shape), rng.uniform(smallest, largest)) for _ in range(count)]


def block(center, half) -> Box:
    return Box(np.subtract(center, half), np.add(center, half))


def one_cell_wall(rng, shape):
    """Across the tank, with a slit at one end."""
    a = int(rng.integers(0, 3))
    b = (a + 1) % 3
    low, high = np.full(3, -1.0), np.array(shape) + 1.0
    low[a] = rng.integers(3, shape[a] - 3)
    high[a] = low[a] + 1
    low[b] = shape[b] * rng.uniform(0.05, 0.2)
    return Parts(waves(rng, shape), (Box(low, high),))


def tilted_wall(rng, shape):
    """1.4 cells thick, with a hole."""
    normal = rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    middle = np.array(shape) / 2
    slab = HalfSpace(middle + 0.7 * normal, normal) & HalfSpace(middle - 0.7 * normal, -normal)
    hole = Sphere(shape * rng.uniform(0.3, 0.7, 3), 0.1 * max(shape))
    return Parts(waves(rng, shape), (slab - hole,))


def baffles(rng, shape):
    """Walls of no thickness at odd indices, open by turns below and above."""
    count, reach = int(rng.integers(3, 8)), int(0.85 * shape[1])
    cuts = []
    for b in range(count):
        at = int((b + 1) * shape[0] / (count + 1)) | 1
        cuts.append((0, np.s_[at, :reach] if b % 2 else np.s_[at, -reach:]))
    return Parts(waves(rng, shape), cuts=cuts)


def cut_plane(rng, shape):
    """One wall of no thickness at an odd index, open along two rows of cells."""
    at = 2 * int(rng.integers(1, shape[0] // 2)) - 1
    return Parts(waves(rng, shape), cuts=[(0, np.s_[at, 2:])])


def closing_plane(rng, shape):
    """A wall of no thickness that shuts one part off from the surface."""
    at = 2 * int(rng.integers(1, shape[1] // 6 + 1)) + 1
    return Parts(waves(rng, shape), cuts=[(1, np.s_[:, at])])


def narrow_gaps(rng, shape):
    """Blocks with gaps of parts of a cell between them."""
    blocks = [block(shape * rng.uniform(0.1, 0.9, 3), shape * rng.uniform(0.1, 0.3, 3)) for _ in range(6)]
    return Parts(waves(rng, shape), blocks)


def drops(rng, shape):
    """Sixty balls of liquid in free flight."""
    return Parts(_liquid_balls(shape, spheres(rng, shape, 60, 0.6, 4.0)))


def closed_pockets(rng, shape):
    """Hollow balls under water: several closed regions at once."""
    size = max(shape)
    balls = [(shape * rng.uniform(0.2, 0.8, 3), size * rng.uniform(0.1, 0.2)) for _ in range(5)]
    hulls = [Sphere(c, r + 1) - Sphere(c, r - 1) for c, r in balls]
    return Parts(full if rng.random() < 0.3 else waves(rng, shape), hulls)


def tiny_fractions(rng, shape):
    """Walls that leave 10⁻⁵ to 10⁻¹ of a layer of faces open."""
    slope, rest = rng.uniform(-1e-3, 1e-3, 2), 10 ** rng.uniform(-5, -1, 2)
    floor = HalfSpace((0, rng.integers(2, 6) + rest[0], 0), (slope[0], 1, slope[1]))
    wall = HalfSpace((shape[0] - 3 - rest[1], 0, 0), (-1, 1e-4, 0))
    return Parts(waves(rng, shape), (floor, wall))


def booleans(rng, shape):
    """A dozen boxes and balls, joined and taken away."""
    size = max(shape)
    solid = Sphere(shape * rng.uniform(0, 1, 3), 0.2 * size)
    for _ in range(12):
        center = shape * rng.uniform(0, 1, 3)
        ball, box = Sphere(center, size * rng.uniform(0.05, 0.25)), block(center, shape * rng.uniform(0.05, 0.25, 3))
        part = ball if rng.random() < 0.5 else box
        solid = solid | part if rng.random() < 0.6 else solid - part
    return Parts(waves(rng, shape), (solid,))


@dataclass(frozen=True)
class Foam(Shape):
    """A lattice of rounded grains that nearly touch."""

    wave: float
    threshold: float

    def bounds(self):
        return np.full(3, -np.inf), np.full(3, np.inf)

    def _distance(self, points):
        return (np.prod(np.sin(self.wave * points), axis=1) + self.threshold) / self.wave


def porous(rng, shape):
    return Parts(waves(rng, shape), (Foam(rng.uniform(0.7, 1.1), rng.uniform(0.25, 0.45)),))


def thin_films(rng, shape):
    """A wavy sheet of liquid one to three cells thick, in the air."""
    half, k = rng.uniform(0.5, 1.5), rng.uniform(0.2, 0.4)
    return Parts(lambda x, y, z: np.abs(3 * np.sin(k * x) + y - shape[1] / 2) - half)


def full_tank(rng, shape):
    """No free surface at all, a ball in it."""
    return Parts(full, (Sphere(np.array(shape) / 2.2, 0.25 * min(shape)),))


def channels(rng, shape):
    """Channels one cell wide, bored through rock, crossing in a cave."""
    rock = Box((-1, -1, -1), np.add(shape, 1.0)) - Sphere(np.array(shape) / 2, 0.2 * min(shape))
    for _ in range(8):
        a, corner = int(rng.integers(0, 3)), rng.integers(1, np.array(shape) - 2).astype(float)
        low, high = corner.copy(), corner + 1
        low[a], high[a] = -2, shape[a] + 2
        rock = rock - Box(low, high)
    return Parts(full if rng.random() < 0.5 else waves(rng, shape), (rock,))


def open_sides(rng, shape):
    """A box without lid and without one wall, a ball half outside it."""
    ball = Sphere((0, shape[1] / 3, shape[2] / 2), shape[1] / 4)
    return Parts(waves(rng, shape), (ball,), open_sides=frozenset({"+y", ("-x", "+z")[int(rng.integers(0, 2))]}))


def pistons(rng, shape):
    """A piston that pushes into a full tank cut in two, so that no exact solution exists in one part."""
    at, speed = int(rng.integers(5, shape[0] - 2)), rng.uniform(-1, 1)
    piston = Solid(Box((-2, -2, -2), (2.3, shape[1] + 2, shape[2] + 2)), lambda t: Pose((speed * t, 0, 0)))
    return Parts(full, (piston,), cuts=[(0, np.s_[at])])


def flat_ball(rng, shape):
    center = (shape[0] * rng.uniform(0.3, 0.7), shape[1] / 3, 0.5)
    return Parts(waves(rng, shape), (Sphere(center, shape[0] * rng.uniform(0.1, 0.25)),))


def flat_maze(rng, shape):
    """Seven walls of no thickness in 2-D."""
    reach = int(0.85 * shape[1])
    cuts = [
        (0, np.s_[(b * shape[0] // 8) | 1, :reach] if b % 2 else np.s_[(b * shape[0] // 8) | 1, -reach:])
        for b in range(1, 8)
    ]
    return Parts(full if rng.random() < 0.5 else waves(rng, shape), cuts=cuts)


def no_liquid(rng, shape):
    return Parts(lambda x, y, z: y + 1, (Sphere(np.array(shape) / 2, 3.0),))


def single_cell(rng, shape):
    """One liquid cell in the air, or shut in."""
    at = tuple(int(rng.integers(1, n - 1)) for n in shape)
    phi = np.full(shape, 0.7)
    phi[at] = -rng.uniform(1e-4, 0.5)
    cuts = []
    if rng.random() < 0.5:
        cuts = [(a, tuple(slice(at[d], at[d] + 1 + (d == a)) for d in range(3))) for a in range(3)]
    return Parts(phi, cuts=cuts)


def _liquid_balls(shape, balls) -> np.ndarray:
    points = Grid(shape, 1.0).cell_points().reshape(-1, 3)
    return np.min([ball.distance(points) for ball in balls], axis=0).reshape(shape)


KINDS = {
    "one-cell wall": one_cell_wall,
    "tilted wall": tilted_wall,
    "baffles": baffles,
    "cut plane": cut_plane,
    "closing plane": closing_plane,
    "narrow gaps": narrow_gaps,
    "drops": drops,
    "closed pockets": closed_pockets,
    "tiny fractions": tiny_fractions,
    "booleans": booleans,
    "porous": porous,
    "thin films": thin_films,
    "full tank": full_tank,
    "channels": channels,
    "open sides": open_sides,
    "pistons": pistons,
    "flat ball": flat_ball,
    "flat maze": flat_maze,
    "no liquid": no_liquid,
    "single cell": single_cell,
}
FLAT = {"flat ball", "flat maze"}
