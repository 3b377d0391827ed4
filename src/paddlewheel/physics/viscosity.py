"""Viscosity: the velocity that changes least, and loses least by friction.  B08.

    min  ∭ ρ |u − ũ|²  +  2 Δt ∭ μ |(∇u + ∇uᵀ)/2|²        over the liquid's volume

in all components at once, with one volume around each face and each sample of
strain, at centres and edges. It is implicit: stable for any μ and Δt. There is
no condition at the surface to set; where the liquid ends, so does the integral,
and the traction is zero of itself. A rigid motion has no strain and is not
changed.

Per face, in units of a cell's mass, with κ = μ Δt/(ρ h²),

    V_u (u − ũ)  =  Σ_a δ_a ( κ V (δ_a u + δ_u u_a) )

The volumes V leave out air and include solids, at which u is known: a wall
holds the liquid on it, at its true distance (ghost fluid, B08 §5.2). Where
walls let it slip they are left out like air; that they are not passed through
is then the pressure's work.

Schemes that others have used are here for comparison: `viscous(scheme=…)`.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from paddlewheel.grid.levelset import liquid_box
from paddlewheel.grid.octants import liquid_octants
from paddlewheel.solve.cg import conjugate_gradients
from paddlewheel.solve.strain import System, apply, from_known, pack_faces, strain, unpack_faces
from paddlewheel.solve.strain_idle import without_idle
from paddlewheel.solve.strain_multigrid import StrainMultigrid
from paddlewheel.solve.strain_rigid import NOBODY, Rigid, carry, rigid_bodies
from paddlewheel.solve.strain_slip import Slip, slip
from paddlewheel.solve.strain_steps import explicit, imex, whole_cells
from paddlewheel.types import AXES, Boundary, Faces, Grid, SolveInfo

__all__ = ["RigidBodies", "Rubbed", "viscous"]

MOST_ITERATIONS = 300
MOST_AT_SLIP = 1200  # with solids to slip along, of which the preconditioner does not know
ROUGH = 0.5  # of a velocity: if less of it has the least energy, it is a bad start
ROUNDINGS = 16  # about as many as a row has terms in 3-D
MOST_ROUNDING = 1e-2
TOUCHING = 1e-4  # cells
MARGIN = 2  # cells around the liquid that have a part in some strain, or may have
_FAR = 1e3  # cells


class RigidBodies(NamedTuple):
    """How the bodies of a boundary move.

    centres   (n, 3) [m] of their masses
    motion    (n, 6): velocity [m/s] and angular velocity [rad/s]
    inverse   (n, 6, 6): of their masses, restricted to the motions each has
    """

    centres: np.ndarray
    motion: np.ndarray
    inverse: np.ndarray


class Rubbed(NamedTuple):
    """What viscosity leaves behind.

    velocity  [m/s], float32
    known     the faces on which it is known then: in liquid, a little beyond its surface, and in solids that hold it
    motion    of the bodies, (n, 6); None if they take no part
    info      how the solve went
    """

    velocity: Faces
    known: Faces
    motion: np.ndarray | None
    info: SolveInfo


class _Problem(NamedTuple):
    """A viscous solve as linear algebra, in a box of cells with its thin axis, if any, first.

    octants   part of each that is liquid, and
    weights   the same × κ
    distance  [cells] of each component's faces from where it is known
    known     its values there [m/s]; None if they are zero
    """

    octants: np.ndarray
    weights: np.ndarray
    distance: list[np.ndarray]
    known: list[np.ndarray] | None

    def multigrid(self, matrix, coupled: bool, parts: int = 1) -> StrainMultigrid:
        """A preconditioner of the problem's matrix, or of one for so small a part of the time."""
        return StrainMultigrid(matrix, self.octants, self.weights / np.float32(parts), self.distance, coupled)


class _Box:
    """A box of cells that may reach beyond a grid, and the order in which its axes are taken.

    They are turned round until the longest is last, as kernels go through long rows faster; or a thin one first.
    """

    def __init__(self, grid: Grid, phi: np.ndarray):
        inner = liquid_box(phi)
        last = 1 if grid.is_2d else int(np.argmax([s.stop - s.start for s in inner]))
        self.order = ((last + 1) % 3, (last + 2) % 3, last)
        self.low = [s.start - MARGIN * (not (grid.is_2d and a == 2)) for a, s in enumerate(inner)]
        self.high = [s.stop + MARGIN * (not (grid.is_2d and a == 2)) for a, s in enumerate(inner)]

    def turned(self, field: np.ndarray, more=(0, 0, 0)) -> np.ndarray:
        """The part of a field in the box, with `more` values along each axis; beyond the grid as at its end."""
        at = [
            np.clip(np.arange(low, high + m), 0, n - 1)
            for low, high, m, n in zip(self.low, self.high, more, field.shape, strict=True)
        ]
        return np.ascontiguousarray(field[np.ix_(*at)].transpose(self.order))

    def faces(self, fields) -> list[np.ndarray]:
        """The parts of a field's components, in the box's order."""
        return [self.turned(fields[a], [int(d == a) for d in range(3)]) for a in self.order]

    def put_back(self, fields, turned, where) -> None:
        """Set the components of a field to values in the box, at the faces `where`, bool, that the grid has."""
        back = np.argsort(self.order)
        for a, values, mask in zip(self.order, turned, where, strict=True):
            values, mask = values.transpose(back), mask.transpose(back)
            shape = fields[a].shape
            to = tuple(
                slice(max(low, 0), min(low + n, m)) for low, n, m in zip(self.low, values.shape, shape, strict=True)
            )
            own = tuple(slice(s.start - low, s.stop - low) for s, low in zip(to, self.low, strict=True))
            np.copyto(fields[a][to], values[own], where=mask[own])

    def coordinates(self, axis: int, on_faces: bool) -> np.ndarray:
        """Of cell centres or faces along an axis of the grid [cells], to be broadcast in the box's order."""
        x = np.arange(self.low[axis], self.high[axis] + on_faces) + (0.0 if on_faces else 0.5)
        shape = [1, 1, 1]
        shape[self.order.index(axis)] = -1
        return x.reshape(shape)


def viscous(
    grid: Grid,
    velocity: Faces,
    phi: np.ndarray,
    boundary: Boundary,
    dt: float,
    *,
    density: float,
    viscosity: float | np.ndarray,
    walls: dict[str, str],
    solids: str = "no-slip",
    bodies: "RigidBodies | None" = None,
    leaving: np.ndarray | None = None,
    surface: str = "natural",
    scheme: str = "variational",
    tolerance: float = 1e-6,
) -> "Rubbed":
    """What viscosity does to the velocity [m/s] in dt [s].

    velocity must go on beyond the surface by a cell or two; phi is the liquid's
    level set at centres [m], extended into the solids; viscosity μ [Pa s] a number
    or a field at centres. walls names the sides of the grid that are walls, each
    with "free-slip" or "no-slip"; solids says the same of all solids. What the
    solids hold takes their velocity. The boundary's bodies are dragged along, and
    drag, if it is told how they move. leaving are cells, bool, in which sides that
    let liquid slip let it go, too. surface is "natural", or one that does
    not let it turn, for comparison (B08 §4): "neumann", ∂u/∂n = 0 (Fält & Roble 2003), each component for itself, or
    "extrapolated", where air keeps the velocity it has; or "nichols-hirt", the natural one where cells are full or
    empty.

    scheme is "variational"; "decoupled", each component for itself (Stam 1999); or "imex" or "explicit", in sub-steps
    (see strain_steps), to which cells are full or empty, and which do not drag bodies.
    """
    substeps = scheme in ("imex", "explicit")
    whole = substeps or surface == "nichols-hirt"
    bodies = None if substeps else bodies
    box = _Box(grid, phi)
    scale = dt / (density * grid.h**2)
    there = np.full(grid.shape, -grid.h, np.float32) if surface == "extrapolated" else phi
    problem = _posed(box, grid, there, boundary, bodies is not None, viscosity, scale, walls, solids, leaving, whole)
    owner = None
    if bodies is not None and solids == "no-slip":
        owner = _owners(box, grid, boundary, problem)
    if surface == "extrapolated":
        problem = _held_at_surface(problem, box, grid, phi, velocity, whole)
    coupled = surface != "neumann" and scheme != "decoupled"
    matrix = strain(problem.octants, problem.weights, problem.distance, coupled=coupled)
    if whole:
        matrix = whole_cells(matrix, problem.octants[::2, ::2, ::2] > 0)
    elif coupled:
        matrix = without_idle(matrix)
    start = pack_faces(matrix.layout, box.faces(velocity))
    start[matrix.inverse == 0] = 0.0
    pull = 0.0 if problem.known is None else from_known(matrix, problem.distance, problem.known)
    rigid = None
    if owner is not None:
        rigid = _rigid(box, grid, boundary, bodies, matrix, problem, owner, density)
    if scheme == "explicit":
        solution, info = explicit(matrix, start, pull)
    elif scheme == "imex":
        solution, info = imex(
            matrix, start, pull, partial(problem.multigrid, coupled=False), tolerance, MOST_ITERATIONS
        )
    else:
        rhs, product, most = matrix.mass * start + pull, apply(matrix), MOST_ITERATIONS
        if solids == "free-slip":
            slippery = _slip(box, grid, phi, boundary, matrix, problem, viscosity, scale, leaving)
            slippery.add_flow(rhs)
            product, most = slippery.added_to(product), MOST_AT_SLIP
        if rigid is not None:
            rigid.add_motion(rhs)
            product = rigid.added_to(product)
        solution, info = conjugate_gradients(
            System(matrix, rhs), _scaled(start, rhs, product), product, problem.multigrid(matrix, coupled), tolerance,
            most, "viscosity",
        )  # fmt: skip
        if not info.converged:
            info = info._replace(converged=bool(info.residual <= _rounding(matrix, solution, rhs)))
    out = Faces(*(np.array(u, np.float32) for u in velocity))
    known = Faces(*(np.zeros(u.shape, bool) for u in velocity))
    inside = problem.known or [np.zeros(d.shape, np.float32) for d in problem.distance]
    motion = None
    if rigid is not None:
        motion = rigid.moved(solution)
        carry(inside, owner, bodies.centres[:, box.order], motion, _origin(box, grid), grid.h)
        motion = _turned_back(motion, box.order)
    _write(out, known, box, problem, matrix, solution, inside)
    return Rubbed(out, known, motion, info)


def _scaled(start, rhs, product) -> np.ndarray:
    """A velocity, or less of it if that makes ½ u·A u − b·u less: a rough one is a worse start than rest if κ is large.

    Not a little less: what moves as one should keep its momentum to more than the solve's tolerance.
    """
    energy = product(np.zeros_like(start), start)
    best = (start * rhs).sum() / energy if energy > 0 else 1.0
    return start if best > ROUGH else max(best, 0.0) * start


def _rounding(matrix, solution, rhs) -> float:
    """The relative residual that rounding alone leaves of a solution; zero if that is too much to be taken for one.

    What moves fast as one and is very stiff has large terms in each row, which cancel.
    """
    terms = np.divide(np.abs(solution), matrix.inverse, out=np.zeros_like(solution), where=matrix.inverse > 0)
    rounding = ROUNDINGS * np.finfo(float).eps * float(terms.max() / np.abs(rhs).max())
    return rounding if rounding < MOST_ROUNDING else 0.0


def _posed(box, grid, phi, boundary, free_bodies, viscosity, scale, walls, solids, leaving, whole) -> _Problem:
    nodes = box.turned(boundary.phi, (1, 1, 1))
    octants = (_full_octants if whole else liquid_octants)(box.turned(phi), nodes if solids == "free-slip" else None)
    cells = [n // 2 for n in octants.shape]
    distance = []
    for a in range(3):
        d = np.full([n + (a == b) for b, n in enumerate(cells)], _FAR, np.float32)
        if solids == "no-slip":
            d = _between(nodes / np.float32(grid.h), [b for b in range(3) if b != a])
        distance.append(np.ascontiguousarray(d, np.float32))
    for b, side in enumerate(box.order):
        if grid.is_2d and side == 2:
            continue
        for sign, index in (("-", 0), ("+", grid.shape[side])):
            how = walls.get(sign + AXES[side])
            for a in range(3):
                if (a == b and how is not None) or how == "no-slip":
                    x = box.coordinates(side, a == b)
                    away = (x - index if sign == "-" else index - x).astype(np.float32)
                    if how == "free-slip" and leaving is not None:
                        along = np.broadcast_to(leaving.take([0 if sign == "-" else -1], axis=side), grid.shape)
                        along = box.turned(along, [int(d == side) for d in range(3)])
                        away = np.where(along, np.float32(_FAR), away)
                    np.minimum(distance[a], away, out=distance[a])
            if how != "no-slip":
                beyond = max(-box.low[side], 0) if sign == "-" else max(box.high[side] - index, 0)
                cut = slice(0, 2 * beyond) if sign == "-" else slice(octants.shape[b] - 2 * beyond, None)
                octants[tuple(cut if c == b else slice(None) for c in range(3))] = 0.0
    kappa = np.asarray(viscosity, float) * scale
    if kappa.ndim:
        kappa = box.turned(kappa.astype(np.float32))
        for b in range(3):
            kappa = np.repeat(kappa, 2, axis=b)
    moving = boundary.others if free_bodies else boundary.velocity
    known = box.faces(moving) if solids == "no-slip" and any(map(np.any, moving)) else None
    return _Problem(octants, octants * kappa.astype(np.float32), distance, known)


def _slip(box, grid, phi, boundary, matrix, problem, viscosity, scale, leaving) -> Slip:
    """What solids that liquid slips along, but not bodies, do to the cells it fills beside them."""
    nodes, open = box.turned(boundary.phi, (1, 1, 1)), box.faces(boundary.open)
    corners = np.lib.stride_tricks.sliding_window_view(nodes, (2, 2, 2)).min(axis=(3, 4, 5))
    beside = (box.turned(phi) < 0) & (corners <= TOUCHING * grid.h)
    if leaving is not None:
        beside &= ~box.turned(leaving)
    closed, bodies = np.zeros(beside.shape, bool), np.zeros(beside.shape, bool)
    owner = _nearest(box, grid, boundary, problem)
    for a, axis in enumerate(box.order):
        x = box.coordinates(axis, False)
        beside &= (x > 0) & (x < grid.shape[axis])
        if not (grid.is_2d and axis == 2):
            for side in (slice(-1), slice(1, None)):
                part = tuple(side if b == a else slice(None) for b in range(3))
                closed |= open[a][part] < 1
                bodies |= owner[a][part] != NOBODY
    kappa = box.turned(np.broadcast_to(np.asarray(viscosity, float) * scale, grid.shape))
    return slip(matrix, beside & closed & ~bodies, open, box.faces(boundary.velocity), kappa)


def _between(field, axes) -> np.ndarray:
    """A field half way between neighbours along some axes."""
    for a in axes:
        lower, upper = (tuple(s if b == a else slice(None) for b in range(3)) for s in (slice(-1), slice(1, None)))
        field = 0.5 * (field[lower] + field[upper])
    return field


def _full_octants(phi, solid) -> np.ndarray:
    """Octants of cells that are full or empty, by φ at their centres, and by a solid's at nodes if there is one."""
    full = phi < 0
    if solid is not None:
        full &= _between(solid, range(3)) > 0
    for a in range(3):
        full = np.repeat(full, 2, axis=a)
    return full.astype(np.float32)


def _held_at_surface(problem, box, grid, phi, velocity, whole) -> _Problem:
    """A problem in which liquid is everywhere, with the velocity in the air known as it is.

    By `whole` cells it is known first on faces in the air, not from the surface on.
    """
    distance, known = [], []
    liquid, before = box.turned(phi) / np.float32(-grid.h), box.faces(velocity)
    solid = problem.known or [np.zeros(u.shape, np.float32) for u in before]
    for a in range(3):
        ends = np.pad(liquid, [(1, 1) if b == a else (0, 0) for b in range(3)], mode="edge")
        lower, upper = (tuple(s if b == a else slice(None) for b in range(3)) for s in (slice(-1), slice(1, None)))
        depth = np.float32(0.5) * (ends[lower] + ends[upper])
        depth = (depth > 0).astype(np.float32) if whole else depth
        in_solid = (problem.distance[a] <= 0) | (problem.distance[a] < depth)
        known.append(np.where(in_solid, solid[a], before[a]))
        distance.append(np.minimum(problem.distance[a], depth))
    return problem._replace(distance=distance, known=known)


def _owners(box, grid, boundary, problem) -> list[np.ndarray]:
    """Which body each face is in, or NOBODY, int64."""
    nearest = _nearest(box, grid, boundary, problem)
    return [np.where(d <= 0, mine, NOBODY) for d, mine in zip(problem.distance, nearest, strict=True)]


def _nearest(box, grid, boundary, problem) -> list[np.ndarray]:
    """Which body is the nearest solid of each face around it, or NOBODY, int64."""
    order, owner = list(box.order), [np.full(d.shape, NOBODY, np.int64) for d in problem.distance]
    for n, body in enumerate(boundary.bodies):
        start = _start(box, grid, body)
        for mine, near in zip(owner, (body.near[a] for a in order), strict=True):
            near = near.transpose(order)
            to = tuple(
                slice(max(s, 0), max(min(s + m, k), 0)) for s, m, k in zip(start, near.shape, mine.shape, strict=True)
            )
            own = tuple(slice(t.start - s, max(t.stop - s, t.start - s)) for t, s in zip(to, start, strict=True))
            mine[to][near[own]] = n
    return owner


def _rigid(box, grid, boundary, bodies, matrix, problem, owner, density) -> Rigid:
    """The boundary's bodies in the box's order."""
    order = list(box.order)
    lows = [_start(box, grid, body) for body in boundary.bodies]
    highs = [
        [s + max(u.shape[a] for u in body.near) for s, a in zip(start, order, strict=True)]
        for start, body in zip(lows, boundary.bodies, strict=True)
    ]
    cells = np.array(matrix.layout.shape)
    low = np.clip(np.min(lows, axis=0) - 1, np.where(cells > 1, 1, 0), cells)
    high = np.clip(np.max(highs, axis=0) + 1, low, np.where(cells > 1, cells - 1, cells))
    six = [*order, *(3 + a for a in order)]
    inverse = bodies.inverse[:, six][:, :, six] * (density * grid.h**3)
    return rigid_bodies(
        matrix, problem.distance, owner, bodies.centres[:, order], inverse, bodies.motion[:, six],
        _origin(box, grid), grid.h, (low, high),
    )  # fmt: skip


def _start(box, grid, body) -> list[int]:
    """The first cell of a body's faces, in a box."""
    return [body.origin[a] - grid.first[a] - box.low[a] for a in box.order]


def _origin(box, grid) -> list[float]:
    """Where a box begins [m]."""
    return [grid.h * (grid.first[a] + box.low[a]) for a in box.order]


def _turned_back(motion, order) -> np.ndarray:
    back = np.argsort(order)
    return motion[:, [*back, *(3 + back)]]


def _write(out, known, box, problem, matrix, solution, inside) -> None:
    """Give the faces their new velocity, and those that a solid holds what is `inside` it; mark them all as known."""
    held = [d <= 0 for d in problem.distance]
    found = [np.zeros(d.shape, np.float32) for d in held]
    unpack_faces(matrix.layout, (matrix.inverse > 0).astype(np.float32), found)
    found = [f > 0 for f in found]
    solved = [np.zeros(d.shape, np.float32) for d in held]
    unpack_faces(matrix.layout, solution.astype(np.float32), solved)
    values = [np.where(f, u, v) for f, u, v in zip(found, solved, inside, strict=True)]
    determined = [f | h for f, h in zip(found, held, strict=True)]
    box.put_back(out, values, determined)
    box.put_back(known, determined, determined)
