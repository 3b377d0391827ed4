"""The impulses at contacts: what they keep, what they never add, and how soon they are found."""

import time

import numpy as np
import pytest
from vacuum import FLOOR, World, stack

from paddlewheel.solids import contact, contact_impulses
from paddlewheel.solids.rigid import freedom, restricted_inverse
from paddlewheel.solids.shapes import Box, Capsule, Sphere, Torus
from paddlewheel.types import SIDES


def random_pile(rng, n=6, restitution=0.0):
    """Bodies of all shapes that overlap a little or nearly, thrown at each other."""
    kinds = [
        lambda c: Box(c - 0.15, c + 0.15),
        lambda c: Sphere(c, 0.15),
        lambda c: Capsule(c - 0.1, c + 0.1, 0.1),
        lambda c: Torus(c, (1, 2, 3), 0.15, 0.06),
    ]
    shapes = [kinds[i % 4](rng.uniform(-0.25, 0.25, 3)) for i in range(n)]
    world = World(shapes, gravity=(0, 0, 0), density=rng.uniform(100, 2000, n), restitution=restitution)
    world.velocity = rng.normal(size=(n, 6))
    return world


@pytest.mark.parametrize("bounce", [False, True])
def test_contacts_keep_momentum_and_angular_momentum(bounce):
    world = random_pile(np.random.default_rng(7))
    dt = 1e-3  # slow: none is looked at in flight
    M, x = world.mass_matrices(), np.array([b.position for b in world.bodies])

    def momenta(V):
        p = np.array([m @ v for m, v in zip(M, V, strict=True)])
        return np.concatenate([p[:, :3].sum(axis=0), (p[:, 3:] + np.cross(x, p[:, :3])).sum(axis=0)])

    contacts = world.contact.find(world.bodies, [], world.velocity, dt)
    before, start = momenta(world.velocity), world.velocity.copy()
    impulses = world.contact.resolve(world.velocity, world.inverse(), contacts, dt, bounce)
    assert len(contacts.gap) > 5
    assert np.abs(world.velocity - start).max() > 0.1
    assert momenta(world.velocity) == pytest.approx(before, abs=1e-12 * np.abs(before).max() * 100)
    change = np.einsum("nij,nj->ni", world.inverse(), impulses)
    assert world.velocity - start == pytest.approx(change, abs=1e-9)  # the impulses are those that were applied


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_contact_never_adds_energy(seed, restitution):
    world = random_pile(np.random.default_rng(seed), restitution=restitution)
    contacts = world.contact.find(world.bodies, [], world.velocity, 0.01)
    before = world.energy(world.velocity)
    world.contact.resolve(world.velocity, world.inverse(), contacts, 0.01, bounce=restitution > 0)
    assert world.energy(world.velocity) < before * (1 + 1e-9)


def test_masses_may_be_any_semidefinite_matrix():
    """Added mass, hinges and fixed bodies: contacts hold, and nothing moves as its matrix does not allow."""
    rng = np.random.default_rng(8)
    world = random_pile(rng)
    inverse = world.inverse()
    A = rng.normal(size=(6, 6))
    inverse[0] = 1e-2 * A @ A.T
    inverse[1], world.velocity[1] = 0, 0
    F = freedom(world.bodies[2].position, axis=(0, 1, 1), pivot=(0.1, 0.2, 0.3))
    inverse[2] = restricted_inverse(world.mass_matrices()[2], F)
    world.velocity[2] = 0
    start = world.velocity.copy()
    contacts = world.contact.find(world.bodies, [], world.velocity, 0.01)
    world.contact.resolve(world.velocity, inverse, contacts, 0.01, bounce=False)
    assert np.array_equal(world.velocity[1], start[1])
    assert np.linalg.matrix_rank(np.column_stack([F, world.velocity[2]]), tol=1e-9) == 1
    V, U = world.velocity[contacts.first], world.velocity[contacts.second]
    u = V[:, :3] + np.cross(V[:, 3:], contacts.arms[0]) - U[:, :3] - np.cross(U[:, 3:], contacts.arms[1])
    movable = ~((contacts.first == 1) & (contacts.second == 2))
    assert np.all((np.sum(u * contacts.normal, axis=1) >= -np.maximum(contacts.gap, 0) / 0.01 - 1e-4)[movable])


def test_order_of_bodies_does_not_matter():
    """A stack whose boxes slide on each other; how Coulomb friction is shared among corners is not unique."""
    order = [3, 1, 4, 0, 2]
    one = stack()
    other = World([one.shapes[i] for i in order], [FLOOR])
    for world, index in ((one, range(5)), (other, order)):
        world.velocity[:, 0] = [0.3 * i for i in index]
        world.run(0.5, 1 / 48)
    for k, i in enumerate(order):
        assert other.bodies[k].position == pytest.approx(one.bodies[i].position, abs=1e-3)


def test_a_run_that_is_resumed_goes_on_the_same():
    """Bodies, velocities and the two memories are all there is."""
    one, other = stack(3), stack(3)
    one.velocity[2, 0] = 0.5
    one.run(0.2, 1 / 48)
    other.bodies, other.velocity = one.bodies, one.velocity.copy()
    other.contact.held, other.contact.coming = one.contact.held, one.contact.coming
    one.run(0.2, 1 / 48)
    other.run(0.2, 1 / 48)
    assert np.array_equal(one.velocity, other.velocity)


def heap(n, friction=0.5):
    """n³ boxes that fall into a heap."""
    centers = np.stack(np.meshgrid(*[np.arange(n) * 0.2 + 0.15] * 3), axis=-1).reshape(-1, 3)
    centers += np.random.default_rng(9).uniform(-0.02, 0.02, centers.shape)
    shapes, wide = [Box(c - 0.07, c + 0.07) for c in centers], 0.2 * n + 0.1
    return World(shapes, size=(wide, 3, wide), closed=SIDES, spacing=0.02, friction=friction)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_impulses_in_a_heap_are_found_in_time(monkeypatch, friction):
    """Most solves end before the sweeps do; they could not while every single impulse had to settle."""
    taken, solve = [], contact.impulses

    def counting(*arguments):
        found, sweeps = solve(*arguments)
        taken.append(sweeps)
        return found, sweeps

    monkeypatch.setattr(contact, "impulses", counting)
    world = heap(3, friction).run(0.5, 1 / 48)
    assert np.mean(np.array(taken) >= contact_impulses.SWEEPS) < 0.35
    assert world.deepest() > -1e-4


@pytest.mark.slow
def test_many_bodies_are_quick():
    """64 boxes in a heap: find and resolve within a few tens of ms; the limit leaves room for a busy machine."""
    world = heap(4)
    world.run(0.5, 1 / 96)
    start = time.perf_counter()
    contacts = world.contact.find(world.bodies, [], world.velocity, 1 / 96)
    world.contact.resolve(world.velocity, world.inverse(), contacts, 1 / 96, bounce=False)
    assert time.perf_counter() - start < 0.3
    assert world.run(0.5, 1 / 96).deepest() > -2e-3
