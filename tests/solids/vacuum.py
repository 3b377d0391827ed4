"""Rigid bodies in vacuum, for the tests of contact."""

import numpy as np

from paddlewheel.solids.contact import Contact, Obstacle
from paddlewheel.solids.mass import mass_of
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.rigid import freedom, mass_matrix, moved, placed, restricted_inverse, turned
from paddlewheel.solids.shapes import Box, HalfSpace
from paddlewheel.types import Body

G = 9.81
STILL = np.array([1.0, 0, 0, 0])
FLOOR = Obstacle(HalfSpace((0, 0, 0), (0, 1, 0)), Pose())


class World:
    """Bodies in vacuum, stepped in the order that contact.py describes."""

    def __init__(
        self, shapes, obstacles=(), *, gravity=(0, -G, 0), friction=0.5, restitution=0.0, spacing=0.05, **options
    ):
        n = len(shapes)
        thickness = options.get("thickness")
        self.planar, self.density = thickness is not None, np.broadcast_to(options.get("density", 500.0), n)
        self.shapes, self.obstacles = list(shapes), list(obstacles)
        self.masses = [mass_of(shape, thickness) for shape in shapes]
        self.contact = Contact(
            shapes,
            self.masses,
            np.broadcast_to(friction, n),
            np.broadcast_to(restitution, n),
            size=options.get("size", (10, 10, 10)),
            closed_sides=options.get("closed", ()),
            spacing=spacing,
            planar=self.planar,
        )
        self.hinges = options.get("hinges", {})  # index: (axis, pivot)
        self.gravity = np.array([*gravity, 0, 0, 0], np.float64)
        self.bodies = [Body(mass.center.copy(), STILL, np.zeros(3), np.zeros(3)) for mass in self.masses]
        self.velocity = np.zeros((n, 6))
        self.settled = self.velocity  # after the contact of the last step, without the gravity that follows

    def mass_matrices(self):
        return [
            mass_matrix(*args)
            for args in zip(self.masses, self.density, (b.orientation for b in self.bodies), strict=True)
        ]

    def inverse(self):
        out = []
        for i, (M, body) in enumerate(zip(self.mass_matrices(), self.bodies, strict=True)):
            axis, pivot = self.hinges.get(i, (None, None))
            out.append(restricted_inverse(M, freedom(body.position, axis=axis, pivot=pivot, planar=self.planar)))
        return np.stack(out)

    def energy(self, velocity):
        return 0.5 * sum(v @ M @ v for v, M in zip(velocity, self.mass_matrices(), strict=True))

    def pull(self, inverse, dt):
        return dt * np.stack([W @ M @ self.gravity for W, M in zip(inverse, self.mass_matrices(), strict=True)])

    def step(self, dt):
        contacts, inverse = self.contact.find(self.bodies, self.obstacles, self.velocity, dt), self.inverse()
        self.contact.resolve(self.velocity, inverse, contacts, dt, bounce=False, pull=self.pull(inverse, dt))
        self.settled = self.velocity.copy()
        bodies = []
        for i, (body, mass, V) in enumerate(zip(self.bodies, self.masses, self.velocity, strict=True)):
            body = body._replace(velocity=V[:3], angular_velocity=V[3:])
            bodies.append(moved(body, mass, dt, self.hinges.get(i, (None, None))[1], self.planar))
        self.bodies = bodies
        self.velocity = np.array([[*b.velocity, *b.angular_velocity] for b in bodies])
        inverse = self.inverse()
        pull = self.pull(inverse, dt)
        contacts = self.contact.find(self.bodies, self.obstacles, self.velocity + pull, dt)
        mended = self.contact.mend(self.bodies, contacts, inverse)
        ways = [there.position - here.position for here, there in zip(self.bodies, mended, strict=True)]
        weight = [M[0, 0] * self.gravity[:3] for M in self.mass_matrices()]
        raised = -np.sum(np.multiply(ways, weight), axis=1)
        self.contact.resolve(self.velocity, inverse, contacts, dt, bounce=True, pull=pull, gained=raised)
        self.bodies = mended
        self.velocity += pull

    def run(self, seconds, dt):
        for _ in range(round(seconds / dt)):
            self.step(dt)
        return self

    def deepest(self):
        """Least distance of any body's surface points to any other thing [m]."""
        surfaces = self.contact._search.surfaces
        points = [
            body.position + surfaces.points[a:b] @ Pose(orientation=body.orientation).rotation.T
            for body, a, b in zip(self.bodies, surfaces.start[:-1], surfaces.start[1:], strict=True)
        ]
        fields = [placed(*args) for args in zip(self.shapes, self.masses, self.bodies, strict=True)]
        fields += [o.shape for o in self.contact._sides + self.obstacles]
        return min(f.distance(p).min() for i, p in enumerate(points) for j, f in enumerate(fields) if i != j)


def slope(angle):
    """A tilted floor through the origin, its normal, and the turn of a block that lies on it."""
    normal = np.array([np.sin(angle), np.cos(angle), 0])
    return Obstacle(HalfSpace((0, 0, 0), normal), Pose()), normal, turned(STILL, np.array([0, 0, -angle]))


def stack(n=5, thickness=None):
    return World(
        [Box((-0.1, 0.2 * i, -0.1), (0.1, 0.2 * i + 0.2, 0.1)) for i in range(n)], [FLOOR], thickness=thickness
    )
