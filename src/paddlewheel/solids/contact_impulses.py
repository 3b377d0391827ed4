"""The impulses at contacts that keep bodies apart and rub between them."""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel

SWEEPS = 300  # at most, of some 10 to 100
# Of contacts, below which sweeps go on: few contacts of very unlike masses may take thousands, quickly. With 60 000 a
# box of a thousand times the weight of what it stands on wandered by a centimetre in a second.
VISITS = 400_000
_LEAST = 8  # sweeps: one alone changes little after the impulses of the last step, and a stack would creep


class _Response(NamedTuple):
    """How velocities answer to impulses at each of m contacts, by  K = J W Jᵀ  of both bodies.

    who    (m, k) bodies that an impulse moves, −1 for none: both that touch, or all
    reply  (m, k, 6, 3) change of their velocities by a unit impulse along x, y, z on the first body
    stiff  (m,) n·K n; zero where nothing can move
    slip   (m,) largest eigenvalue of K across n
    stick  (m, 3, 3) inverse of K across n
    """

    who: np.ndarray
    reply: np.ndarray
    stiff: np.ndarray
    slip: np.ndarray
    stick: np.ndarray


def impulses(velocity, inverse, contacts, target, friction, start, tolerance: float) -> tuple[np.ndarray, int]:
    """Impulses λ [N s] at contacts, shape (m, 3), and the sweeps it took; `velocity` (n, 6) is changed by them.

    At every contact the relative velocity  u = u_first − u_second − carried  obeys, with λ on the first body,

        u·n ≥ target  ⟂  λ·n ≥ 0 ,     |λ_t| ≤ μ λ·n ,  and where the bound is reached λ_t is opposite to u_t.

    Gauss–Seidel over the contacts, to and fro, from the impulses `start`; made
    faster as a nonlinear conjugate gradient (Silcowitz, Niebe and Erleben
    2010), in the metric of K. It ends when a sweep changes no relative velocity
    by more than `tolerance` [m/s]. Impulses may still move then: of more contacts
    than it takes to hold a body, how they share the load is not unique.

    inverse   (n, 6, 6) of the masses, symmetric and positive semi-definite; or (n, 6, n, 6), if bodies move each other
    contacts  first, second, arms, normal and carried of `contact.Contacts`
    target    (m,) [m/s]
    friction  (m,) the coefficient μ
    """
    out = np.array(start, np.float64)
    response = (_response if np.ndim(inverse) == 3 else _response_of_all)(np.ascontiguousarray(inverse), contacts)
    most = max(SWEEPS, VISITS // max(1, len(out)))
    return out, int(_solve(out, velocity, response, contacts, target, friction, most, float(tolerance)))


@kernel(parallel=False)
def _solve(out, velocity, response, contacts, target, friction, sweeps, tolerance):
    """Sweeps taken to find the impulses `out`, which also are where it starts."""
    m = len(target)
    for i in range(m):
        if response.stiff[i] == 0.0:
            out[i] = 0.0
        _apply(velocity, response, i, out[i, 0], out[i, 1], out[i, 2])
    momentum, last = np.zeros((m, 3)), 0.0
    for sweep in range(sweeps):
        impulse_before, velocity_before = out.copy(), velocity.copy()
        for j in range(2 * m):
            i = j if j < m else 2 * m - 1 - j
            if response.stiff[i] > 0.0:
                _put_right(out[i], velocity, response, contacts, i, target[i], friction[i])
        step = out - impulse_before
        change, energy = _size(step, velocity - velocity_before, contacts)
        if change <= tolerance and sweep + 1 >= _LEAST:
            return sweep + 1
        ratio = energy / last if last > 0.0 else 0.0
        last = energy
        if ratio > 1.0:  # it led astray: begin anew
            momentum[:] = 0.0
            continue
        momentum *= ratio
        for i in range(m):
            _apply(velocity, response, i, momentum[i, 0], momentum[i, 1], momentum[i, 2])
        out += momentum
        momentum += step
    return sweeps


@kernel(parallel=False)
def _size(step, change, contacts):
    """The largest change of a relative velocity [m/s], and the energy  Δλ·K Δλ  [J] of a step of the impulses.

    change  (n, 6) of the velocities by that step
    """
    still = np.zeros(step.shape)
    largest = energy = 0.0
    for i in range(len(step)):
        x, y, z = _relative(change, contacts, i, still)
        largest = max(largest, np.sqrt(x * x + y * y + z * z))
        energy += x * step[i, 0] + y * step[i, 1] + z * step[i, 2]
    return largest, energy


# Inlined with all that it calls: a call counts references to every array of the tuples, as long as the sums take.
@kernel(parallel=False, inline=True)
def _put_right(out, velocity, response, contacts, i, target, friction):
    """Change the impulse `out` (3,) of contact i to what it must be if no other one changes."""
    n, slip, stick = contacts.normal[i], response.slip[i], response.stick[i]
    nx, ny, nz = n[0], n[1], n[2]
    ux, uy, uz = _relative(velocity, contacts, i, contacts.carried)
    before = out[0] * nx + out[1] * ny + out[2] * nz
    press = max(0.0, before - (ux * nx + uy * ny + uz * nz - target) / response.stiff[i])
    more = press - before
    _apply(velocity, response, i, more * nx, more * ny, more * nz)
    # Friction: what stops the contact, if that is within the cone; else opposite to how it then slips, with one
    # factor for all directions, so that none is preferred.
    ox, oy, oz = out[0] - before * nx, out[1] - before * ny, out[2] - before * nz
    ux, uy, uz = _relative(velocity, contacts, i, contacts.carried)
    x = ox - (stick[0, 0] * ux + stick[0, 1] * uy + stick[0, 2] * uz)
    y = oy - (stick[1, 0] * ux + stick[1, 1] * uy + stick[1, 2] * uz)
    z = oz - (stick[2, 0] * ux + stick[2, 1] * uy + stick[2, 2] * uz)
    most, size = friction * press, np.sqrt(x * x + y * y + z * z)
    if size > most and slip > 0.0:
        along = ux * nx + uy * ny + uz * nz
        x, y, z = ox - (ux - along * nx) / slip, oy - (uy - along * ny) / slip, oz - (uz - along * nz) / slip
        size = np.sqrt(x * x + y * y + z * z)
    if size > most:
        x, y, z = x * most / size, y * most / size, z * most / size
    _apply(velocity, response, i, x - ox, y - oy, z - oz)
    out[0], out[1], out[2] = press * nx + x, press * ny + y, press * nz + z


@kernel(parallel=False)
def _response(inverse, contacts):
    """That of bodies which move only themselves, with inverse masses (n, 6, 6)."""
    m = len(contacts.first)
    who, reply = np.empty((m, 2), np.int64), np.zeros((m, 2, 6, 3))
    stiff, slip, stick = np.zeros(m), np.zeros(m), np.zeros((m, 3, 3))
    for i in range(m):
        K = np.zeros((3, 3))
        for side in range(2):
            who[i, side] = contacts.first[i] if side == 0 else contacts.second[i]
            if who[i, side] >= 0:
                _reply(reply[i, side], inverse[who[i, side]], contacts.arms[side, i], 1.0 - 2.0 * side)
                _felt(K, reply[i, side], contacts.arms[side, i], 1.0 - 2.0 * side)
        stiff[i], slip[i] = _across(stick[i], K, contacts.normal[i])
    return _Response(who, reply, stiff, slip, stick)


@kernel(parallel=False)
def _response_of_all(inverse, contacts):
    """That of bodies which move all others too, with inverse masses (n, 6, n, 6)."""
    m, n = len(contacts.first), len(inverse)
    who, reply = np.empty((m, n), np.int64), np.zeros((m, n, 6, 3))
    stiff, slip, stick = np.zeros(m), np.zeros(m), np.zeros((m, 3, 3))
    for i in range(m):
        K = np.zeros((3, 3))
        who[i] = np.arange(n)
        for side in range(2):
            pushed = contacts.first[i] if side == 0 else contacts.second[i]
            if pushed >= 0:
                for k in range(n):
                    _reply(reply[i, k], inverse[k, :, pushed], contacts.arms[side, i], 1.0 - 2.0 * side)
        for side in range(2):
            pushed = contacts.first[i] if side == 0 else contacts.second[i]
            if pushed >= 0:
                _felt(K, reply[i, pushed], contacts.arms[side, i], 1.0 - 2.0 * side)
        stiff[i], slip[i] = _across(stick[i], K, contacts.normal[i])
    return _Response(who, reply, stiff, slip, stick)


@kernel(parallel=False)
def _reply(out, inverse, arm, sign):
    """out (6, 3) += ± W Jᵀ with  J = (1, −arm×)."""
    J = _lever(arm)
    for c in range(6):
        for a in range(3):
            for d in range(6):
                out[c, a] += sign * inverse[c, d] * J[a, d]


@kernel(parallel=False)
def _felt(K, reply, arm, sign):
    """K += ± J · reply, the change of velocity at the contact."""
    J = _lever(arm)
    for a in range(3):
        for b in range(3):
            for c in range(6):
                K[a, b] += sign * J[a, c] * reply[c, b]


@kernel(parallel=False)
def _lever(arm):
    """J = (1, −arm×), (3, 6)."""
    J = np.zeros((3, 6))
    J[0, 0] = J[1, 1] = J[2, 2] = 1.0
    J[0, 4], J[0, 5], J[1, 5] = arm[2], -arm[1], arm[0]
    J[1, 3], J[2, 3], J[2, 4] = -arm[2], arm[1], -arm[0]
    return J


@kernel(parallel=False)
def _across(stick, K, n):
    """n·K n, and the largest eigenvalue of K across n; stick becomes the (pseudo-)inverse of that part."""
    k = 0 if abs(n[0]) < 0.6 else 1
    s = np.zeros(3)
    s[k] = 1.0
    s -= n[k] * n
    s /= np.sqrt(s[0] ** 2 + s[1] ** 2 + s[2] ** 2)
    t = np.empty(3)
    t[0], t[1], t[2] = n[1] * s[2] - n[2] * s[1], n[2] * s[0] - n[0] * s[2], n[0] * s[1] - n[1] * s[0]
    along = _form(n, K, n)
    a, b, c = _form(s, K, s), _form(s, K, t), _form(t, K, t)
    mean, apart = 0.5 * (a + c), np.sqrt(0.25 * (a - c) ** 2 + b * b)
    size = max(K[0, 0] + K[1, 1] + K[2, 2], 0.0)
    if along <= 1e-12 * size or mean + apart <= 1e-12 * size:
        return (along if along > 1e-12 * size else 0.0), 0.0
    if mean - apart > 1e-9 * (mean + apart):
        det = a * c - b * b
        p, q, r = c / det, -b / det, a / det
    else:  # it can move one way only:  the pseudo-inverse is K/λ²
        scale = (mean + apart) ** 2
        p, q, r = a / scale, b / scale, c / scale
    for i in range(3):
        for j in range(3):
            stick[i, j] = p * s[i] * s[j] + q * (s[i] * t[j] + t[i] * s[j]) + r * t[i] * t[j]
    return along, mean + apart


@kernel(parallel=False)
def _form(a, K, b):
    """a·K b."""
    total = 0.0
    for i in range(3):
        total += a[i] * (K[i, 0] * b[0] + K[i, 1] * b[1] + K[i, 2] * b[2])
    return total


@kernel(parallel=False, inline=True)
def _relative(velocity, contacts, i, carried):
    """Velocity (x, y, z) of the first body against the second (or a surface) at contact i."""
    x, y, z = _velocity_at(velocity, contacts.first[i], contacts.arms, 0, i)
    x, y, z = x - carried[i, 0], y - carried[i, 1], z - carried[i, 2]
    if contacts.second[i] >= 0:
        a, b, c = _velocity_at(velocity, contacts.second[i], contacts.arms, 1, i)
        x, y, z = x - a, y - b, z - c
    return x, y, z


@kernel(parallel=False, inline=True)
def _velocity_at(velocity, k, arms, side, i):
    """v + ω × arm  of body k."""
    rx, ry, rz = arms[side, i, 0], arms[side, i, 1], arms[side, i, 2]
    wx, wy, wz = velocity[k, 3], velocity[k, 4], velocity[k, 5]
    return velocity[k, 0] + wy * rz - wz * ry, velocity[k, 1] + wz * rx - wx * rz, velocity[k, 2] + wx * ry - wy * rx


@kernel(parallel=False, inline=True)
def _apply(velocity, response, i, x, y, z):
    """Change velocities by an impulse (x, y, z) on the first body of contact i, and its opposite on the second."""
    who, reply = response.who, response.reply
    for k in range(who.shape[1]):
        if who[i, k] >= 0:
            for c in range(6):
                velocity[who[i, k], c] += reply[i, k, c, 0] * x + reply[i, k, c, 1] * y + reply[i, k, c, 2] * z
