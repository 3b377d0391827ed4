"""How a rigid body may move, what it weighs, and where it is a moment later.

A body's velocity is  V = (v, ω)  of its centre of mass, in world axes; what acts
on it is  (force, torque)  about the same point, so that  M V̇ = (force, torque).
"""

from functools import cache, lru_cache

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solids import argument
from paddlewheel.solids.mass import Mass
from paddlewheel.solids.pose import Pose, rotation_of
from paddlewheel.solids.shapes import Capsule, Cylinder, Moved, Shape, Sphere, Torus
from paddlewheel.types import Body

COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")  # of a velocity V = (v, ω)

_TURN = 0.25  # rad that a free body turns in one stage of a step, at most
_STAGES = 10_000  # at most: what spins faster than 2500 rad in a step is a blur
_NEWTON = 20  # at most, of some 4
_NOTHING = 1e-12  # of a diagonal entry: below, nothing is left of it


def freedom(position, *, axis=None, pivot=None, locked=frozenset(), planar: bool = False) -> np.ndarray:
    """Basis F of the velocities a body may have, shape (6, k), float64:  V = F q.

    position  (3,) centre of mass [m]
    axis      a hinge: the body only turns about this axis through `pivot` [m], both fixed in the world
    locked    which of "x", "y", "z", "rx", "ry", "rz" stay zero
    planar    a 2-D scene: only x, y and rz are free
    """
    if (axis is None) != (pivot is None):
        raise ValueError(f"axis={axis!r}, pivot={pivot!r}: a hinge needs both")
    if axis is None:
        return _unlocked(frozenset(locked), planar)
    still = fixed(frozenset(locked), planar)
    axis = np.array(argument.direction("hinge", "axis", axis))
    if planar and np.abs(axis[:2]).max() > argument.UNIT_TOLERANCE:
        raise ValueError(f"hinge: axis={tuple(axis.tolist())}, expected one along z in a 2-D scene")
    arm = np.asarray(position, np.float64) - argument.vector("hinge", "pivot", pivot)
    if planar:
        axis, arm = np.array([0.0, 0.0, np.sign(axis[2])]), arm * [1, 1, 0]
    turning = np.concatenate([np.cross(axis, arm), axis])
    stuck = np.abs(turning[still]).max(initial=0) > argument.UNIT_TOLERANCE * max(1.0, np.abs(turning).max())
    return np.empty((6, 0)) if stuck else turning[:, None]


@cache
def _unlocked(locked, planar) -> np.ndarray:
    """Basis of the motions of a body without a hinge, not to be written to."""
    basis = np.ascontiguousarray(np.eye(6)[:, ~fixed(locked, planar)])
    basis.flags.writeable = False
    return basis


@cache
def fixed(locked: frozenset, planar: bool) -> np.ndarray:
    """Which components of the velocity of a body without a hinge stay zero, (6,); not to be written to."""
    unknown = sorted(locked - set(COMPONENTS))
    if unknown:
        raise ValueError(f"locked={sorted(locked)}: {unknown[0]!r} is none of {', '.join(COMPONENTS)}")
    return np.array([name in locked or (planar and name in ("z", "rx", "ry")) for name in COMPONENTS])


def lever(shape: Shape) -> np.ndarray:
    """Projection (3, 3) on the axes about which a pressure can turn a shape: none that it is round about."""
    if isinstance(shape, Moved):
        R = shape.pose.rotation
        return R @ lever(shape.shape) @ R.T
    if isinstance(shape, Sphere):
        return np.zeros((3, 3))
    if isinstance(shape, Cylinder | Capsule | Torus):
        axis = shape.axis if isinstance(shape, Torus) else np.subtract(shape.end, shape.start)
        axis = np.array(argument.direction(type(shape).__name__, "axis", axis))
        return np.eye(3) - np.outer(axis, axis)
    return np.eye(3)


def mass_matrix(mass: Mass, density: float, orientation) -> np.ndarray:
    """M = diag(m 1, R I Rᵀ) [kg, kg m²] in world axes, shape (6, 6)."""
    M = np.zeros((6, 6))
    _fill_mass(M, density, mass.volume, mass.inertia, np.asarray(orientation, np.float64))
    return M


def restricted_inverse(M: np.ndarray, F: np.ndarray) -> np.ndarray:
    """F (Fᵀ M F)⁻¹ Fᵀ, shape (6, 6): how an impulse changes a velocity that stays in the span of F."""
    out = np.zeros((6, 6))
    _invert(out, M, np.array(F))
    return out


def factor(A: np.ndarray) -> np.ndarray:
    """Lower triangular L with  L Lᵀ = A, positive semi-definite: a column of zeros where nothing is left to factor."""
    out = np.zeros(A.shape)
    _factor(out, np.ascontiguousarray(A))
    return out


def moved(body: Body, mass: Mass, dt: float, pivot=None, steady: bool = False) -> Body:
    """The body dt [s] later, if nothing acts on it.

    A free body keeps its angular momentum  L = R I Rᵀ ω  to rounding and its
    energy: ω follows from L and the new orientation. With a `pivot` [m] the
    body is hinged: its centre goes round the pivot and ω stays. `steady` keeps
    ω for bodies that are held some other way: in a plane, or by locked axes.
    """
    position, orientation = np.array(body.position, np.float64), np.array(body.orientation, np.float64)
    velocity, omega = np.array(body.velocity, np.float64), np.array(body.angular_velocity, np.float64)
    if pivot is not None or steady:
        orientation = turned(orientation, omega * dt)
    else:
        _tumble(orientation, omega, *_principal(mass.inertia.tobytes()), dt)
    if pivot is None:
        return Body(position + dt * velocity, orientation, velocity, omega)
    arm = _rotation_of(turned(np.array([1.0, 0, 0, 0]), omega * dt)) @ (position - pivot)
    return Body(np.add(pivot, arm), orientation, np.cross(omega, arm), omega)


@lru_cache
def _principal(inertia: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Principal axes (3, 3) of an inertia, right-handed, and its values along them, not to be written to."""
    values, axes = np.linalg.eigh(np.frombuffer(inertia).reshape(3, 3))
    axes[:, 0] *= np.linalg.det(axes)
    return axes, values


def placed(shape: Shape, mass: Mass, body: Body) -> Moved:
    """The shape where the body is:  x = R (x_drawn − center) + position."""
    return Moved(shape, Pose(body.position - _rotation_of(body.orientation) @ mass.center, body.orientation))


def _rotation_of(orientation: np.ndarray) -> np.ndarray:
    """The matrix of a quaternion (4,); what rounding left of its length is removed."""
    return rotation_of((orientation / np.linalg.norm(orientation)).tolist())


def turned(orientation: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """A unit quaternion (4,), turned by a vector [rad] in world axes."""
    out = np.array(orientation, np.float64)
    _turn(out, np.asarray(rotation, np.float64))
    return out


@kernel(parallel=False)
def _fill_mass(M, density, volume, inertia, orientation):
    R = _rotation(orientation / np.sqrt((orientation**2).sum()))
    for i in range(3):
        M[i, i] = density * volume
        for j in range(3):
            for k in range(3):
                for m in range(3):
                    M[3 + i, 3 + j] += density * R[i, k] * inertia[k, m] * R[j, m]


@kernel(parallel=False)
def _factor(L, A):
    """Cholesky's rule. What is left of a row is rounding, if it is a tiny part of what was there."""
    n = A.shape[0]
    for j in range(n):
        rest = A[j, j]
        for k in range(j):
            rest -= L[j, k] ** 2
        if rest <= _NOTHING * A[j, j]:
            continue
        L[j, j] = np.sqrt(rest)
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]


@kernel(parallel=False)
def _invert(out, M, F):
    """F (Fᵀ M F)⁻¹ Fᵀ = Yᵀ Y  with  L Y = Fᵀ ,  L Lᵀ = Fᵀ M F ."""
    n = F.shape[1]
    A, L, Y = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, 6))
    for i in range(n):
        for j in range(n):
            for p in range(6):
                for q in range(6):
                    A[i, j] += F[p, i] * M[p, q] * F[q, j]
    _factor(L, A)
    for i in range(n):
        for p in range(6):
            total = F[p, i]
            for k in range(i):
                total -= L[i, k] * Y[k, p]
            Y[i, p] = total / L[i, i]
    for p in range(6):
        for q in range(6):
            for i in range(n):
                out[p, q] += Y[i, p] * Y[i, q]


@kernel(parallel=False)
def _turn(q, rotation):
    """q ← exp(rotation/2) q, normalised; rotation in world axes."""
    angle = np.sqrt(rotation[0] ** 2 + rotation[1] ** 2 + rotation[2] ** 2)
    s = 0.5 - angle**2 / 48 if angle < 1e-3 else np.sin(0.5 * angle) / angle
    c = np.cos(0.5 * angle)
    x, y, z = s * rotation[0], s * rotation[1], s * rotation[2]
    a, b, d, e = q[0], q[1], q[2], q[3]
    q[0] = c * a - x * b - y * d - z * e
    q[1] = c * b + x * a + y * e - z * d
    q[2] = c * d + y * a + z * b - x * e
    q[3] = c * e + z * a + x * d - y * b
    q /= np.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)


@kernel(parallel=False)
def _tumble(q, omega, axes, principal, dt):
    """Turn a free body: q and omega are changed in place.

    In its principal axes the momentum obeys  ṁ = m × I⁻¹ m. The implicit midpoint rule

        m' = m − τ Ω × μ ,    μ = (m + m')/2 ,    Ω = I⁻¹ μ

    keeps |m| and the energy, which are quadratic, for any τ; and with R turned
    by the same Cayley map, R m = L. With τ = 2/|Ω| tan(|Ω| dt/2) a steady spin
    turns by the right angle.
    """
    L = _spin(q, omega, axes, principal)
    left = dt
    for _ in range(_STAGES):
        m = _turn_back(axes, _turn_back(_rotation(q), L))
        rate = np.sqrt((m[0] / principal[0]) ** 2 + (m[1] / principal[1]) ** 2 + (m[2] / principal[2]) ** 2)
        step = min(left, _TURN / rate) if rate * left > 0.0 else left
        left -= step
        half = np.tan(0.5 * rate * step) / rate if rate > 0.0 else 0.5 * step
        turn = _midpoint(m, principal, half)
        size = np.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
        if size > 0.0:
            turn *= 2.0 * np.arctan(half * size) / size
        _turn(q, _times(_rotation(q), _times(axes, turn)))
        if left <= 0.0:
            break
    omega[:] = _spin(q, L, axes, 1.0 / principal)


@kernel(parallel=False)
def _midpoint(m, principal, half):
    """The rate Ω = I⁻¹ μ [rad/s] at which  μ + half Ω × μ = m, by Newton's rule."""
    u = m.copy()
    most = max(abs(m[0]), abs(m[1]), abs(m[2]))
    for _ in range(_NEWTON):
        w = u / principal
        x = m[0] - u[0] - half * (w[1] * u[2] - w[2] * u[1])
        y = m[1] - u[1] - half * (w[2] * u[0] - w[0] * u[2])
        z = m[2] - u[2] - half * (w[0] * u[1] - w[1] * u[0])
        # the slope is  1 + half (Ω × − μ × I⁻¹), with a unit diagonal
        a, b = half * (u[2] / principal[1] - w[2]), half * (w[1] - u[1] / principal[2])
        c, d = half * (w[2] - u[2] / principal[0]), half * (u[0] / principal[2] - w[0])
        e, f = half * (u[1] / principal[0] - w[1]), half * (w[0] - u[0] / principal[1])
        det = 1.0 + a * d * e + b * c * f - b * e - a * c - d * f
        dx = ((1.0 - d * f) * x + (b * f - a) * y + (a * d - b) * z) / det
        dy = ((d * e - c) * x + (1.0 - b * e) * y + (b * c - d) * z) / det
        dz = ((c * f - e) * x + (a * e - f) * y + (1.0 - a * c) * z) / det
        u[0] += dx
        u[1] += dy
        u[2] += dz
        if max(abs(dx), abs(dy), abs(dz)) <= 1e-16 * most:
            break
    return u / principal


@kernel(parallel=False)
def _spin(q, a, axes, principal):
    """R I Rᵀ a, with I given by its principal axes."""
    R = _rotation(q)
    return _times(R, _times(axes, principal * _turn_back(axes, _turn_back(R, a))))


@kernel(parallel=False)
def _times(R, a):
    """R a."""
    out = np.empty(3)
    for i in range(3):
        out[i] = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]
    return out


@kernel(parallel=False)
def _turn_back(R, a):
    """Rᵀ a."""
    out = np.empty(3)
    for i in range(3):
        out[i] = R[0, i] * a[0] + R[1, i] * a[1] + R[2, i] * a[2]
    return out


@kernel(parallel=False)
def _rotation(q):
    """The matrix R of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R = np.empty((3, 3))
    R[0, 0], R[0, 1], R[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    return R
