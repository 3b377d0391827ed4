"""Scenes: what they hold, and that every mistake in them is named."""

import warnings

import numpy as np
import pytest

from paddlewheel import types
from paddlewheel.items import Force, Inflow, Liquid, Outflow, RigidBody, Smoke, Solid, SurfacePressure
from paddlewheel.method import Method
from paddlewheel.scene import Scene
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import BYTES_PER_CELL, Grid

NAN, INF = float("nan"), float("inf")
BALL = Sphere((0.5, 0.5, 0.5), 0.2)


def box(**arguments):
    return Scene(**{"size": (2.0, 1.0, 1.0), "cells": 8} | arguments)


def test_a_scene_of_the_contract():
    scene = Scene(
        size=(2.0, 1.0, 1.0),
        cells=64,
        gravity=(0.0, -9.81, 0.0),
        density=1000.0,
        fps=24,
        method=Method(
            advection="apic", interpolation="open-centroid", weights="volume", solver="mic", cfl=2, tolerance=1e-8
        ),
        items=[
            Liquid(Box((0, 0, 0), (0.5, 0.8, 1.0)), velocity=(1, 0, 0)),
            Solid(BALL, motion=None, separates=False),
            Inflow(BALL, velocity=lambda points: 0 * points),
            Outflow(BALL),
            Force(lambda points, t: points * t),
            SurfacePressure(lambda points, t: points[:, 0] + t),
        ],
        open_sides={"+y", "-x"},
        walls="no-slip",
    )
    assert scene.grid == Grid((64, 32, 32), 2 / 64)
    assert isinstance(scene.items, tuple)
    assert scene.open_sides == frozenset({"+y", "-x"})


def test_a_static_solid_does_not_move():
    pose = Solid(BALL).pose(3.0)
    assert pose.velocity_at(np.ones((1, 3))).tolist() == [[0, 0, 0]]
    assert pose.to_world(np.ones((1, 3))).tolist() == [[1, 1, 1]]


BAD_SCENES = {
    "no cells": ({"cells": 0}, "cells=0: expected a whole number"),
    "negative cells": ({"cells": -3}, "cells=-3"),
    "half a cell": ({"cells": 8.5}, "cells=8.5"),
    "NaN cells": ({"cells": NAN}, "cells=nan"),
    "infinite cells": ({"cells": INF}, "cells=inf"),
    "no number of cells": ({"cells": None}, "cells=None"),
    "cells as text": ({"cells": "64"}, "cells='64'"),
    "cells as truth": ({"cells": True}, "cells=True"),
    "two numbers of cells": ({"cells": (8, 4)}, r"cells=\(8, 4\): expected a number or three"),
    "zero among cells": ({"cells": (8, 0, 4)}, "cells=0"),
    "ragged cells": ({"cells": (8, (4, 4), 4)}, r"cells=\(4, 4\)"),
    "more cells than can be counted": ({"cells": 10**400}, "cells=1000.*expected a whole number"),
    "not a whole number of cells": ({"cells": 7}, r"size=\(2.0, 1.0, 1.0\) is not a whole .* nearest is \(2.0, 1.14"),
    "cells that are no cubes": (
        {"cells": (8, 8, 4)},
        r"cells=\(8, 8, 4\): the cells are not cubes but 0.25 × 0.125 × 0.25 m",
    ),
    "zero size": ({"size": (2, 0, 1)}, r"size=\(2, 0, 1\): expected three positive lengths"),
    "negative size": ({"size": (2, 1, -1)}, r"size=\(2, 1, -1\)"),
    "NaN size": ({"size": (2, NAN, 1)}, r"size=\(2, nan, 1\)"),
    "infinite size": ({"size": (2, INF, 1)}, r"size=\(2, inf, 1\)"),
    "two sizes": ({"size": (2, 1)}, r"size=\(2, 1\)"),
    "no size": ({"size": None}, "size=None"),
    "size as text": ({"size": ("a", "b", "c")}, "size="),
    "ragged size": ({"size": (1, (1, 1), 1)}, "size="),
    "NaN gravity": ({"gravity": (0, NAN, 0)}, r"Scene: gravity=\(0, nan, 0\)"),
    "gravity as a number": ({"gravity": 9.81}, "Scene: gravity=9.81, expected three"),
    "negative density": ({"density": -1000.0}, "Scene: density=-1000.0, expected a positive number"),
    "no density": ({"density": 0}, "Scene: density=0"),
    "NaN density": ({"density": NAN}, "Scene: density=nan"),
    "no frames": ({"fps": 0}, "Scene: fps=0"),
    "unknown side": ({"open_sides": {"+w"}}, r"Scene: open_sides='\+w', expected one of '-x', '\+x', "),
    "side spelt backwards": ({"open_sides": {"y+"}}, r"open_sides='y\+', .*; did you mean '\+y'"),
    "side in capitals": ({"open_sides": ["-Z"]}, "open_sides='-Z', .*; did you mean '-z'"),
    "side without sign": ({"open_sides": {"top"}}, "open_sides='top', expected one of"),
    "side by number": ({"open_sides": [3]}, "open_sides=3, expected one of"),
    "one side as text": ({"open_sides": "+y"}, r"open_sides='\+y' is text, expected a set such as \{'\+y'\}"),
    "no sides at all": ({"open_sides": None}, "Scene: open_sides=None, expected a set"),
    "open in z in 2-D": (
        {"size": (2.0, 1.0, 0.25), "open_sides": {"+z"}},
        r"open_sides='\+z', but a two-dimensional scene",
    ),
    "unknown walls": ({"walls": "noslip"}, "Scene: walls='noslip', expected one of .*; did you mean 'no-slip'"),
    "no method": ({"method": "flip"}, "Scene: method='flip', expected a Method"),
    "an item alone": ({"items": Solid(BALL)}, r"items is a single Solid\(Sphere\), expected a list"),
    "no items at all": ({"items": None}, "Scene: items=None, expected a list"),
    "velocity as one number": (
        {"items": [Liquid(BALL, velocity=lambda points: 1.0)]},
        r"items\[0\] Liquid\(Sphere\): velocity\(points\) returned float64 of shape \(\) for points of shape",
    ),
    "velocity of two components": (
        {"items": [Solid(BALL), Liquid(BALL, velocity=lambda points: points[:, :2])]},
        r"items\[1\] Liquid\(Sphere\): velocity\(points\) returned float64 of shape \(64, 2\)",
    ),
    "velocity as text": ({"items": [Liquid(BALL, velocity=lambda p: np.full(p.shape, "fast"))]}, "velocity.* returned"),
    "velocity of NaN": (
        {"items": [Liquid(Box((0, 0, 0), (2, 1, 1)), velocity=lambda points: NAN * points)]},
        r"items\[0\] Liquid\(Box\): velocity at \(0.25, 0.125, 0.125\) m is \(nan, nan, nan\)",
    ),
    "velocity of an inflow": (
        {"items": [Inflow(Box((0, 0, 0), (2, 1, 1)), velocity=lambda points: points[0])]},
        r"items\[0\] Inflow\(Box\): velocity\(points\) returned float64 of shape \(3,\)",
    ),
    "a force of one component": (
        {"items": [Solid(BALL), Force(lambda points, t: points[:, 0])]},
        r"items\[1\] Force: f\(points\) returned float64 of shape \(64,\) .* expected numbers of shape \(64, 3\)",
    ),
    "a force of NaN": (
        {"items": [Force(lambda points, t: points * NAN)]},
        r"items\[0\] Force: f at \(0.25, 0.125, 0.125\) m is \(nan, nan, nan\)",
    ),
    "a pressure with direction": (
        {"items": [SurfacePressure(lambda points, t: points)]},
        r"items\[0\] SurfacePressure: f\(points\) returned .* expected numbers of shape \(64,\)",
    ),
    "an infinite pressure": (
        {"items": [SurfacePressure(lambda points, t: np.full(len(points), INF))]},
        r"items\[0\] SurfacePressure: f at \(0.25, 0.125, 0.125\) m is inf at t = 0 s, expected a finite number",
    ),
    "liquid outside": (
        {"items": [Solid(BALL), Liquid(Sphere((3.0, 0.5, 0.5), 0.2))]},
        r"items\[1\] Liquid\(Sphere\) lies from \(2\.8, .*outside the domain",
    ),
    "inflow outside": (
        {"items": [Inflow(Sphere((1, 1.5, 0.5), 0.2), (0, -1, 0))]},
        r"items\[0\] Inflow\(Sphere\) lies from .*outside the domain",
    ),
    "particles of a plane in space": (
        {"method": Method(particles_per_cell=9)},
        "particles_per_cell=9 in a 3-D scene, expected 1, 4, 8 or 27",
    ),
    "particles of space in a plane": (
        {"size": (2.0, 1.0, 0.25), "method": Method(particles_per_cell=8)},
        "particles_per_cell=8 in a 2-D scene, expected 1, 4 or 9",
    ),
    "one particle of affine velocity": (
        {"method": Method(particles_per_cell=1, advection="apic")},
        "particles_per_cell=1 with advection='apic'.* expected at least 4",
    ),
    "one marker": (
        {"size": (2.0, 1.0, 0.25), "method": Method(particles_per_cell=1, advection="semi-lagrangian")},
        "particles_per_cell=1 with advection='semi-lagrangian'.* expected at least 4",
    ),
    "one particle of smoke": (
        {"method": Method(particles_per_cell=1), "items": [Smoke(BALL)]},
        "particles_per_cell=1 with smoke",
    ),
    "particles as text": ({"method": Method(particles_per_cell="many")}, "particles_per_cell='many'"),
    "particles as truth": ({"method": Method(particles_per_cell=True)}, "particles_per_cell=True"),
    "nichols-hirt in space": (
        {"method": Method(viscous_surface="nichols-hirt")},
        "viscous_surface='nichols-hirt' in a 3-D scene: it sets the one shear stress of 2-D to zero",
    ),
    "a body in explicit honey": (
        {"method": Method(viscosity="explicit"), "items": [Liquid(BALL, viscosity=1), RigidBody(BALL, density=1)]},
        r"items\[1\] RigidBody\(Sphere\): Method viscosity='explicit' does not drag bodies; expected 'variational'",
    ),
    "a shape as item": (
        {"items": [Solid(BALL), BALL]},
        r"items\[1\] is Sphere\(.*\), expected a Solid, RigidBody, Hand, Liquid, Smoke, Inflow, Outflow, Force or Surf",
    ),
    "motion with NaN": (
        {"items": [Liquid(BALL), Solid(BALL, motion=lambda t: Pose((NAN, 0, 0)))]},
        r"items\[1\] Solid\(Sphere\): motion\(0\): Pose: position=\(nan, 0, 0\)",
    ),
    "motion with a rotation that is none": (
        {"items": [Solid(BALL, motion=lambda t: Pose((0, 0, 0), (2, 0, 0, 0)))]},
        r"items\[0\] Solid\(Sphere\): motion\(0\): Pose: orientation=\(2, 0, 0, 0\) has length 2",
    ),
    "motion without a pose": (
        {"items": [Solid(BALL, motion=lambda t: None)]},
        r"items\[0\] Solid\(Sphere\): motion\(0\) returned None, expected a Pose",
    ),
}


@pytest.mark.parametrize("name", BAD_SCENES)
def test_bad_scenes_name_item_and_value(name):
    arguments, message = BAD_SCENES[name]
    with pytest.raises(ValueError, match=message):
        box(**arguments)


BAD_PARTS = {
    "solid without shape": (lambda: Solid("ball"), "Solid: shape='ball', expected a Shape"),
    "motion that is none": (lambda: Solid(BALL, motion=3), r"Solid\(Sphere\): motion=3"),
    "liquid without shape": (lambda: Liquid(None), "Liquid: shape=None"),
    "NaN velocity": (lambda: Liquid(BALL, velocity=(0, NAN, 0)), r"Liquid\(Sphere\): velocity=\(0, nan, 0\)"),
    "negative viscosity": (lambda: Liquid(BALL, viscosity=-1), r"Liquid\(Sphere\): viscosity=-1, expected at least 0"),
    "huge viscosity": (lambda: Liquid(BALL, viscosity=1e300), r"Liquid\(Sphere\): viscosity=1e\+300, expected at most"),
    "huge viscosity by a function": (
        lambda: box(items=[Liquid(Box((0, 0, 0), (1, 1, 1)), viscosity=lambda p: np.full(len(p), 1e39))]),
        r"items\[0\] Liquid\(Box\): viscosity at .* m is 1e\+39, expected at most 1e\+30",
    ),
    "NaN viscosity": (lambda: Liquid(BALL, viscosity=NAN), r"Liquid\(Sphere\): viscosity=nan"),
    "inflow without shape": (lambda: Inflow(3, (0, 0, 0)), "Inflow: shape=3"),
    "inflow of NaN": (lambda: Inflow(BALL, (0, NAN, 0)), r"Inflow\(Sphere\): velocity=\(0, nan, 0\)"),
    "outflow without shape": (lambda: Outflow(None), "Outflow: shape=None"),
    "force that is no function": (
        lambda: Force((0, 1, 0)),
        r"Force: f=\(0, 1, 0\), expected a function f\(points, t\)",
    ),
    "pressure that is no function": (lambda: SurfacePressure(100.0), "SurfacePressure: f=100.0, expected a function"),
    "unknown advection": (
        lambda: Method(advection="implicit"),
        "Method: advection='implicit', expected one of 'flip', 'apic', 'semi-lagrangian', 'maccormack', 'explicit'",
    ),
    "surface to come": (lambda: Method(surface="level-set"), "surface='level-set', expected one of 'particles', 'mark"),
    "flip above one": (lambda: Method(flip=1.1), "Method: flip=1.1, expected a number from 0 to 1"),
    "NaN flip": (lambda: Method(flip=NAN), "Method: flip=nan"),
    "unknown interpolation": (lambda: Method(interpolation="centroid"), "interpolation='centroid'.*'open-centroid'"),
    "no cfl": (lambda: Method(cfl=0), "Method: cfl=0, expected a positive number"),
    "cfl beyond sense": (lambda: Method(cfl=1e9), "Method: cfl=1000000000.0, expected at most 100"),
    "markers for flip": (
        lambda: Method(surface="markers"),
        "surface='markers' with advection='flip': its particles carry the velocity",
    ),
    "particles for semi-lagrangian": (
        lambda: Method(advection="semi-lagrangian", surface="particles"),
        "surface='particles' with advection='semi-lagrangian': the grid carries the velocity",
    ),
    "unknown viscosity": (
        lambda: Method(viscosity="implicit"),
        "Method: viscosity='implicit', expected one of 'variational', 'decoupled', 'imex', 'explicit'",
    ),
    "viscosity to come": (lambda: Method(viscosity="stokes"), "viscosity='stokes'.* is not simulated yet; expected"),
    "unknown viscous surface": (
        lambda: Method(viscous_surface="free"),
        "viscous_surface='free', expected one of 'natural', 'neumann', 'extrapolated', 'nichols-hirt'",
    ),
    "no traction on components apart": (
        lambda: Method(viscosity="decoupled", viscous_surface="natural"),
        "viscous_surface='natural' with viscosity='decoupled': no traction means.*; expected 'neumann' or 'extrap",
    ),
    "no shear stress on components apart": (
        lambda: Method(viscosity="decoupled", viscous_surface="nichols-hirt"),
        "viscous_surface='nichols-hirt' with viscosity='decoupled'",
    ),
    "imex without coupling": (
        lambda: Method(viscosity="imex", viscous_surface="neumann"),
        "viscous_surface='neumann' with viscosity='imex': then no terms couple.*; expected 'natural' or",
    ),
    "unknown weights": (lambda: Method(weights="areas"), "weights='areas', expected one of 'area'.*mean 'area'"),
    "unknown solver": (lambda: Method(solver="lu"), "Method: solver='lu', expected one of 'multigrid', 'mic'"),
    "weights begun": (lambda: Method(weights="vol"), "weights='vol'.*did you mean 'volume'"),
    "no weights": (lambda: Method(weights=""), "weights='', expected one of [^;]*$"),
    "solver begun": (lambda: Method(solver="Multi"), "solver='Multi'.*did you mean 'multigrid'"),
    "grid without cells": (lambda: Grid((0, 4, 4), 0.1), "Grid: shape=0: expected a whole number"),
    "grid with NaN cells": (lambda: Grid((4, NAN, 4), 0.1), "Grid: shape=nan"),
    "grid in a plane": (lambda: Grid((4, 4), 0.1), r"Grid: shape=\(4, 4\), expected three"),
    "grid of a number": (lambda: Grid(4, 0.1), "Grid: shape=4, expected three"),
    "grid of negative h": (lambda: Grid((4, 4, 4), -0.1), "Grid: h=-0.1, expected a positive length"),
    "grid of no h": (lambda: Grid((4, 4, 4), 0), "Grid: h=0,"),
    "grid of NaN h": (lambda: Grid((4, 4, 4), NAN), "Grid: h=nan"),
    "grid of infinite h": (lambda: Grid((4, 4, 4), INF), "Grid: h=inf"),
    "grid of h as text": (lambda: Grid((4, 4, 4), "0.1"), "Grid: h='0.1'"),
    "weights by number": (lambda: Method(weights=1), "Method: weights=1"),
    "zero tolerance": (lambda: Method(tolerance=0), "Method: tolerance=0"),
    "tolerance of all": (lambda: Method(tolerance=1.0), "Method: tolerance=1.0"),
    "NaN tolerance": (lambda: Method(tolerance=NAN), "Method: tolerance=nan"),
}


@pytest.mark.parametrize("name", BAD_PARTS)
def test_bad_parts_name_themselves_and_the_value(name):
    make, message = BAD_PARTS[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_the_nearest_whole_size_is_accepted():
    with pytest.raises(ValueError, match="nearest is") as error:
        box(size=(2.0, 1.1, 0.9), cells=7)
    nearest = eval(str(error.value).rpartition("nearest is ")[2])
    assert box(size=nearest, cells=7).grid.shape == (7, 4, 3)


@pytest.mark.parametrize("cells", [8, 8.0, np.int32(8), np.float64(8), (8, 4, 4), [8, 4, 4], np.array([8, 4, 4])])
def test_cells_of_any_whole_type(cells):
    assert box(cells=cells).grid == Grid((8, 4, 4), 0.25)


def test_a_grid_holds_plain_numbers():
    grid = Grid(np.array([4, 3, 2]), np.float32(0.5))
    assert grid == Grid([4, 3, 2], 0.5) == Grid((4, 3, 2), 0.5)
    assert hash(grid) == hash(Grid((4, 3, 2), 0.5))


def test_velocity_may_be_anything_where_there_is_no_liquid():
    """A field known only inside the liquid is NaN elsewhere."""
    inside = Liquid(BALL, velocity=lambda p: np.where(BALL.distance(p)[:, None] < 0, p, NAN))
    assert box(items=[inside]).items == (inside,)


def test_viscosity_may_be_anything_where_there_is_no_liquid():
    inside = Liquid(BALL, viscosity=lambda p: np.where(BALL.distance(p) < 0, 1.0 + p[:, 0], -1.0))
    assert box(items=[inside]).items == (inside,)


@pytest.mark.parametrize(
    ("viscosity", "surface"),
    [("variational", "natural"), ("decoupled", "neumann"), ("imex", "natural"), ("explicit", "natural")],
)
def test_a_scheme_of_viscosity_has_a_surface_that_goes_with_it(viscosity, surface):
    assert Method(viscosity=viscosity).viscous_surface == surface


def test_bodies_that_are_not_dragged_may_be_in_explicit_honey():
    honey, body = Liquid(BALL, viscosity=1), RigidBody(BALL, density=1)
    pushing = RigidBody(BALL, density=1, one_way=True)
    method = Method(viscosity="explicit")
    assert box(method=method, items=[honey, body], walls="free-slip").items == (honey, body)
    assert box(method=method, items=[honey, pushing]).items == (honey, pushing)
    assert box(method=method, items=[Liquid(BALL), body]).items == (Liquid(BALL), body)


def test_a_grid_that_does_not_fit_memory_is_refused_with_the_bytes(monkeypatch):
    monkeypatch.setattr(types, "available_memory", lambda: 10**9)
    box(cells=128)
    needed = 512 * 256 * 256 * BYTES_PER_CELL
    with pytest.raises(ValueError, match=rf"512 × 256 × 256 cells need {needed} bytes .* only 1000000000 bytes"):
        box(cells=512)


def test_a_grid_no_machine_can_hold_is_refused_before_it_is_allocated():
    with pytest.raises(ValueError, match="bytes"):
        box(cells=2_000_000_000)


def test_a_machine_that_does_not_say_what_it_has_is_trusted(monkeypatch):
    monkeypatch.setattr(types, "available_memory", lambda: None)
    assert box(cells=2**20).grid.shape[0] == 2**20


def test_available_memory_is_a_number_of_bytes():
    assert types.available_memory() > 2**20


@pytest.mark.parametrize(("advection", "surface"), [("flip", "particles"), ("semi-lagrangian", "markers")])
def test_the_surface_goes_with_the_advection(advection, surface):
    assert Method(advection=advection).surface == surface
    assert Method(advection=advection) == Method(advection=advection, surface=surface)


@pytest.mark.parametrize(
    ("fluid", "depth", "count", "found"),
    [
        (Liquid, 1, None, 8),
        (Smoke, 1, None, 4),
        (Liquid, 0.25, None, 4),
        (Smoke, 0.25, None, 4),
        (Liquid, 1, 4, 4),
        (Smoke, 1, 8, 8),
        (Liquid, 0.25, 9, 9),
    ],
)
def test_particles_of_a_full_cell(fluid, depth, count, found):
    """Each has its share of the cell's volume, and is about as far from the next as that is wide."""
    scene = box(
        size=(2, 1, depth), method=Method(particles_per_cell=count), items=[fluid(Sphere((0.5, 0.5, 0.5 * depth), 0.2))]
    )
    assert scene.particles_per_cell == found
    h, dimensions = scene.grid.h, 2 if depth < 1 else 3
    assert scene.particle_spacing**dimensions * found == pytest.approx(h**dimensions)


@pytest.mark.parametrize("low", [0.3, -0.3])
def test_an_inflow_thinner_than_a_cell_warns(low):
    """Also if only the part of it in the domain is so thin."""
    thin, whole = (Box((low, 0.2, 0), (max(low, 0) + t, 0.8, 1)) for t in (0.2, 0.25))
    with pytest.warns(UserWarning, match=r"items\[1\] Inflow\(Box\) is 0.2 m thick, less than a cell of 0.25 m"):
        box(items=[Liquid(BALL), Inflow(thin, (1, 0, 0))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        box(items=[Liquid(BALL), Inflow(whole, (1, 0, 0))])


@pytest.mark.parametrize("item", [Solid, Outflow])
def test_an_item_wholly_outside_warns(item):
    with pytest.warns(
        UserWarning, match=rf"items\[1\] {item.__name__}\(Sphere\) lies from \(2\.8, .*outside the domain"
    ):
        box(items=[Solid(BALL), item(Sphere((3.0, 0.5, 0.5), 0.2))])


def test_a_solid_beside_the_plane_of_a_2d_scene_warns():
    with pytest.warns(UserWarning, match="outside the domain"):
        box(size=(2.0, 1.0, 0.25), items=[Solid(Sphere((1.0, 0.5, 0.5), 0.2))])


def test_items_that_reach_in_or_may_come_in_do_not_warn():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        box(
            items=[
                Solid(Sphere((2.1, 0.5, 0.5), 0.2)),
                Solid(HalfSpace((0, 0.1, 0), (0, 1, 0))),
                Solid(~BALL),
                Solid(BALL, motion=lambda t: Pose((5 - t, 0, 0))),
            ]
        )
    assert not seen
