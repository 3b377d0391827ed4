"""Rigid bodies in the matrix of strain: a component is not known in them, but moves as the body does.

On a face of body n the component a is J·U_n, with U = (v, ω) and J the row
that takes the body's motion to it. In the energy of the strains these add

    u·A u  −  2 u·C U  +  U·E U

and with the bodies' own masses, whose inverse is W, U is eliminated:

    U = (1 + W E)⁻¹ (Ũ + W Cᵀu) ,     ( A − C T Cᵀ ) u = b + C (1 + W E)⁻¹ Ũ ,     T = (1 + W E)⁻¹ W

W may be singular: a body does not move in ways it cannot.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel
from paddlewheel.solve.strain import Strain, part, place

__all__ = ["NOBODY", "Rigid", "carry", "rigid_bodies"]

NOBODY = -1


class Rigid(NamedTuple):
    """Bodies among the unknowns of a matrix of strain.

    component, position   (m,) int64: an unknown of the matrix, and
    body                  (m,) int64: a body that pulls it, with
    pull                  (m, 6): the part of C
    energy                E, (6 n, 6 n)
    inverse               W, (6 n, 6 n)
    motion                Ũ, (6 n,)
    """

    component: np.ndarray
    position: np.ndarray
    body: np.ndarray
    pull: np.ndarray
    energy: np.ndarray
    inverse: np.ndarray
    motion: np.ndarray

    def moved(self, u: np.ndarray) -> np.ndarray:
        """U, (n, 6), of the bodies in a field u."""
        return self._solved(self.motion + self.inverse @ self._felt(u)).reshape(-1, 6)

    def add_motion(self, rhs: np.ndarray) -> None:
        """Add what the bodies' own motion pulls the unknowns with."""
        self._add(rhs, self._solved(self.motion))

    def added_to(self, apply):
        """The matrix `apply` of the unknowns alone, with the bodies."""
        reply = self._solved(self.inverse)

        def product(q, x):
            felt = self._felt(x)
            total = apply(q, x)
            answer = reply @ felt
            self._add(q, -answer)
            return total - felt @ answer

        return product

    def _solved(self, right):
        return np.linalg.solve(np.eye(len(self.energy)) + self.inverse @ self.energy, right)

    def _felt(self, u) -> np.ndarray:
        """Cᵀu."""
        felt = np.zeros(len(self.energy))
        _feel(felt, u, self.component, self.position, self.body, self.pull)
        return felt

    def _add(self, vector, U) -> None:
        """vector += C U."""
        _add(vector, U, self.component, self.position, self.body, self.pull)


def rigid_bodies(matrix: Strain, distance, owner, centres, inverse, motion, origin, h: float, box) -> Rigid:
    """The bodies of a matrix.

    owner, int64 on the faces of each component, is the body in which a face is if it is in one, or NOBODY; centres
    (n, 3) [m] are those of the bodies, in the coordinates in which the grid begins at `origin`; inverse (n, 6, 6) is
    that of their masses, in units of a cell's mass of liquid, motion (n, 6) their U before. They are within `box`, two
    corners of cells.
    """
    n = len(centres)
    energy = np.zeros((6 * n, 6 * n))
    common = (*matrix.coefficients, *distance, *owner, np.asarray(centres, float), np.asarray(origin, float), h)
    low, high = (np.asarray(corner, np.int64) for corner in box)
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 6))
    count = _measure_bodies(np.zeros_like(energy), *none, *common, low, high, matrix.layout.shape)
    arrays = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64), np.empty((count, 6))
    _measure_bodies(energy, *arrays, *common, low, high, matrix.layout.shape)
    W = np.zeros_like(energy)
    for m in range(n):
        W[6 * m : 6 * m + 6, 6 * m : 6 * m + 6] = inverse[m]
    return Rigid(*arrays, energy, W, np.array(motion, float).reshape(-1))


def carry(fields, owner, centres, motion, origin, h: float) -> None:
    """Set the components of a field to what bodies that move at `motion` (n, 6) have on faces that are theirs.

    The other arguments are those of `rigid_bodies`.
    """
    for n, (centre, U) in enumerate(zip(centres, motion, strict=True)):
        for a, (field, owned) in enumerate(zip(fields, owner, strict=True)):
            b, c = (a + 1) % 3, (a + 2) % 3
            mine = np.nonzero(owned == n)
            arm_b, arm_c = (h * (mine[d] + 0.5) + origin[d] - centre[d] for d in (b, c))
            field[mine] = U[a] + U[3 + b] * arm_c - U[3 + c] * arm_b


@kernel(parallel=False)
def _feel(felt, u, component, position, body, pull):
    for n in range(len(body)):
        value = np.float64(u[component[n], position[n]])
        for m in range(6):
            felt[6 * body[n] + m] += pull[n, m] * value


@kernel(parallel=False)
def _add(vector, U, component, position, body, pull):
    for n in range(len(body)):
        total = 0.0
        for m in range(6):
            total += pull[n, m] * U[6 * body[n] + m]
        vector[component[n], position[n]] += total


@kernel(parallel=False)
def _measure_bodies(
    energy, component, position, body, pull,
    stretch, own, cross, d0, d1, d2, o0, o1, o2, centres, origin, h, low, high, shape,
):  # fmt: skip
    """Fill E and C from the samples in a box; how many parts C has, which are only counted if there is no room."""
    distance, owner = (d0, d1, d2), (o0, o1, o2)
    rows, whose = np.zeros((4, 6)), np.empty(4, np.int64)
    count = 0
    for i in range(low[0], high[0]):
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                at = place(shape, i, j, k)
                for a in range(3):
                    w = np.float64(stretch[a, at])
                    if w > 0.0:
                        e0, e1, e2 = int(a == 0), int(a == 1), int(a == 2)
                        whose[2] = whose[3] = NOBODY
                        _rise(rows, whose, 0, distance[a], owner[a], a, a, i + e0, j + e1, k + e2, centres, origin, h)
                        _add_energy(energy, rows, whose, w, 0.0, 0.0)
                        for upper in range(2):
                            m, n, o = i + upper * e0, j + upper * e1, k + upper * e2
                            if distance[a][m, n, o] > 0.0:
                                sign = 1.0 - 2.0 * upper
                                count = _add_pulls(
                                    component, position, body, pull, count,
                                    a, place(shape, m, n, o), rows, whose, sign * w, 0.0,
                                )  # fmt: skip
                for c in range(3):
                    a, b = (c + 1) % 3, (c + 2) % 3
                    wa, wb, wab = np.float64(own[c, 0, at]), np.float64(own[c, 1, at]), np.float64(cross[c, at])
                    if wab > 0.0:
                        _rise(rows, whose, 0, distance[a], owner[a], a, b, i, j, k, centres, origin, h)
                        _rise(rows, whose, 2, distance[b], owner[b], b, a, i, j, k, centres, origin, h)
                        _add_energy(energy, rows, whose, wa, wb, wab)
                        for which in range(2):
                            along = b if which == 0 else a
                            mine = a if which == 0 else b
                            first, second = (wa, wab) if which == 0 else (wab, wb)
                            for upper in range(2):
                                m = i - (1 - upper) * int(along == 0)
                                n = j - (1 - upper) * int(along == 1)
                                o = k - (1 - upper) * int(along == 2)
                                if distance[mine][m, n, o] > 0.0:
                                    sign = 1.0 - 2.0 * upper
                                    count = _add_pulls(
                                        component, position, body, pull, count,
                                        mine, place(shape, m, n, o), rows, whose, sign * first, sign * second,
                                    )  # fmt: skip
    return count


@kernel(parallel=False)
def _rise(rows, whose, slot, distance, owner, component, axis, i, j, k, centres, origin, h):
    """What bodies do to the rise of a component to face (i, j, k) from the one before: up to two rows J, each with its
    sign."""
    m, n, o = i - int(axis == 0), j - int(axis == 1), k - int(axis == 2)
    here, before = distance[i, j, k], distance[m, n, o]
    whose[slot] = whose[slot + 1] = NOBODY
    if here > 0.0 and before > 0.0:
        return
    theta = part(here, before)
    if here <= 0.0 and owner[i, j, k] != NOBODY:
        back = 0.0 if before <= 0.0 else 1.0 - theta
        whose[slot] = owner[i, j, k]
        _row(rows[slot], 1.0, component, axis, i, j, k, -back, centres[owner[i, j, k]], origin, h)
    if before <= 0.0 and owner[m, n, o] != NOBODY:
        forth = 0.0 if here <= 0.0 else 1.0 - theta
        whose[slot + 1] = owner[m, n, o]
        _row(rows[slot + 1], -1.0, component, axis, m, n, o, forth, centres[owner[m, n, o]], origin, h)


@kernel(parallel=False)
def _row(row, sign, component, axis, i, j, k, shift, centre, origin, h):
    """J of a component at a point that lies `shift` cells along an axis from a face of it."""
    b, c = (component + 1) % 3, (component + 2) % 3
    index = (i, j, k)
    arm_b = h * (index[b] + 0.5 + shift * (axis == b)) + origin[b] - centre[b]
    arm_c = h * (index[c] + 0.5 + shift * (axis == c)) + origin[c] - centre[c]
    row[:] = 0.0
    row[component] = sign
    row[3 + b] = sign * arm_c
    row[3 + c] = -sign * arm_b


@kernel(parallel=False)
def _add_energy(energy, rows, whose, wa, wb, wab):
    for p in range(4):
        for q in range(4):
            if whose[p] != NOBODY and whose[q] != NOBODY:
                w = wab if (p < 2) != (q < 2) else (wa if p < 2 else wb)
                for m in range(6):
                    for n in range(6):
                        energy[6 * whose[p] + m, 6 * whose[q] + n] += w * rows[p, m] * rows[q, n]


@kernel(parallel=False)
def _add_pulls(component, position, body, pull, count, a, at, rows, whose, first, second):
    """The parts of C of one unknown; returns how many there are then."""
    for p in range(4):
        if whose[p] != NOBODY:
            if len(body) > 0:
                component[count], position[count], body[count] = a, at, whose[p]
                for m in range(6):
                    pull[count, m] = (first if p < 2 else second) * rows[p, m]
            count += 1
    return count
