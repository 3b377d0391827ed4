"""How to compute: every choice by name, and those of each paper together."""

from dataclasses import dataclass

from paddlewheel.grid.fractions import WEIGHTS
from paddlewheel.solids import argument
from paddlewheel.solve.linear import SOLVERS

__all__ = ["ADVECTION", "RELAXATION", "SOLVERS", "TRACKERS", "VISCOSITY", "Method"]

VISCOUS_SURFACES = ("natural", "neumann", "extrapolated", "nichols-hirt")
VISCOSITY = {  # and the surfaces it goes with, first the one it has if none is given
    "variational": VISCOUS_SURFACES,
    "decoupled": ("neumann", "extrapolated"),
    "imex": ("natural", "extrapolated", "nichols-hirt"),
    "explicit": VISCOUS_SURFACES,
}
ADVECTION = {  # and the surface it goes with
    "flip": "particles",
    "apic": "particles",
    "semi-lagrangian": "markers",
    "maccormack": "markers",
}
EXPLICIT = "explicit"  # the advection of FM96, which has surfaces and a solver of its own:
TRACKERS = ("markers", "surface-markers", "height-field")
RELAXATION = "relaxation"
SURFACES = ("particles", *TRACKERS)
INTERPOLATION = ("staggered", "open-centroid")
BODY_MASS = ("discrete", "exact")
COUPLING = ("monolithic", "alternating")
MOST_CFL = 100  # steps so long that they say nothing of the flow any more

# What is chosen if nothing is said: for all other advections, and for the explicit one.
_USUAL = {"weights": "area", "solver": "multigrid", "viscosity": "variational"}
_CLASSIC = {"weights": "voxel", "solver": RELAXATION, "viscosity": "explicit", "viscous_surface": "extrapolated"}
_WHY_CLASSIC = {  # with the explicit advection no other value makes sense, because
    "interpolation": ("staggered", "a face is open or closed there, and has no part whose centroid could be taken"),
    "weights": ("voxel", "obstacles are whole cells there"),
    "solver": (RELAXATION, "the pressure holds at the centres of surface cells there, which the others do not know"),
    "viscosity": ("explicit", "it is a part of the same update"),
    "viscous_surface": ("extrapolated", "air has the velocity of the liquid beside it"),
    "coupling": ("monolithic", "bodies do not move the liquid there, so there is nothing to couple"),
    "wall_separation": (False, "the relaxation has no bound p ≥ 0"),
}


@dataclass(frozen=True)
class Method:
    """How to compute: every choice by name.

    advection      what carries the velocity: particles by "flip" or "apic", or the grid, "semi-lagrangian" (G05 §4.2),
                   "maccormack", which is of second order, or "explicit", by differences in short sub-steps (FM96)
    flip           part of the particles' own velocity that "flip" keeps; the rest, 1 − flip, is PIC
    interpolation  between samples at the centres of faces, "staggered", or of their open parts, "open-centroid" (R05)
    surface        where the liquid is: around the "particles" that carry it, or around "markers", which carry nothing;
                   None is the one that goes with the advection. The explicit one has markers, markers on the surface
                   alone, "surface-markers", or the height of the liquid over each column of cells, "height-field"
    weights        what part of a face is open (B07 §2.1): "area", "volume", "length", or 0 and 1 by "voxel"; None is
                   the area, or with the explicit advection voxels
    solver         of the pressure: conjugate gradients with "multigrid", or with "mic", the classical reference; with
                   the explicit advection, and there alone, "relaxation", sweeps from cell to cell. None is what fits
    over_relaxation     β₀ of the relaxation, from 1 to less than 2: how much farther than to zero a sweep takes the
                        divergence of each cell
    coupling       of rigid bodies: in the pressure solve, "monolithic", or after it, "alternating", as was classical
    body_mass      their mass in it: "discrete", that of the parts of faces they fill, so that what weighs as much as
                   water rests in it, or "exact", as it always is of what a hinge holds
    cfl            cells that the fastest liquid may cross in one step; where it is torn apart, steps are shorter. The
                   explicit advection divides steps into as many sub-steps as it is stable in, and reports tell how many
    tolerance      of the solves, relative, in the max norm: max|b − Ap| ≤ tolerance · max|b|
    wall_separation     whether liquid may leave walls and bodies: nothing sucks it onto them (B07 §4)
    viscosity           "variational", implicit in all components at once (B08); or what others did: "decoupled", each
                        for itself, implicit (Stam 1999); "imex", what couples them explicit (Rasmussen et al. 2004);
                        "explicit", all. The last two go in sub-steps (reports tell how many), and by whole cells.
                        None is the first, or with the explicit advection the last
    viscous_surface     what holds at the surface of viscous liquid: no traction, "natural"; the same on the sides of
                        cells, 2-D, "nichols-hirt"; or what others took for it (B08 §7): "neumann", velocity does not
                        change across it, or "extrapolated", air keeps its own. None is what goes with the viscosity
    particles_per_cell  at the start: 4, 8 or 27, in 2-D 4 or 9; None is 4, of liquid in 3-D 8. Or by "flip" one, as
                        in B08, seen by a kernel twice as wide: less memory, and a surface with three times the bumps
    """

    advection: str = "flip"
    flip: float = 0.97
    interpolation: str = "staggered"
    surface: str | None = None
    weights: str | None = None
    solver: str | None = None
    coupling: str = "monolithic"
    body_mass: str = "discrete"
    cfl: float = 3.0
    tolerance: float = 1e-6
    wall_separation: bool = False
    viscosity: str | None = None
    viscous_surface: str | None = None
    particles_per_cell: int | None = None
    over_relaxation: float = 1.7

    @classmethod
    def foster_metaxas(cls, **changes) -> "Method":
        """FM96: explicit differences, obstacles of whole cells, pressure by relaxation; but for the changes."""
        return cls(**({"advection": EXPLICIT, "cfl": 0.5, "tolerance": 1e-4} | changes))

    @classmethod
    def roble(cls, **changes) -> "Method":
        """R05: open areas of faces, velocity at the centroids of these; but for the changes."""
        chosen = {"advection": "semi-lagrangian", "interpolation": "open-centroid", "weights": "area", "solver": "mic"}
        return cls(**(chosen | changes))

    @classmethod
    def batty2007(cls, **changes) -> "Method":
        """B07: FLIP, open volumes, bodies in the pressure solve, by incomplete Cholesky; but for the changes."""
        chosen = {"advection": "flip", "weights": "volume", "solver": "mic", "coupling": "monolithic"}
        return cls(**(chosen | changes))

    @classmethod
    def batty2008(cls, **changes) -> "Method":
        """B08: as B07, and viscosity in all components at once with a surface that is free; one particle per cell, seen
        by a wider kernel; but for the changes.
        """
        chosen = {"viscosity": "variational", "viscous_surface": "natural", "particles_per_cell": 1}
        return cls.batty2007(**(chosen | changes))

    @property
    def is_explicit(self) -> bool:
        """Whether it is the method of FM96."""
        return self.advection == EXPLICIT

    def __post_init__(self):
        argument.choice("Method", "advection", self.advection, (*ADVECTION, EXPLICIT))
        for name, value in (_CLASSIC if self.is_explicit else _USUAL).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if not 0 <= argument.number("Method", "flip", self.flip) <= 1:
            raise ValueError(f"Method: flip={self.flip!r}, expected a number from 0 to 1")
        argument.choice("Method", "interpolation", self.interpolation, INTERPOLATION)
        self._choose_surface()
        argument.choice("Method", "weights", self.weights, WEIGHTS)
        argument.choice("Method", "solver", self.solver, (*SOLVERS, RELAXATION))
        argument.choice("Method", "coupling", self.coupling, COUPLING)
        argument.choice("Method", "body_mass", self.body_mass, BODY_MASS)
        if argument.positive("Method", "cfl", self.cfl) > MOST_CFL:
            raise ValueError(f"Method: cfl={self.cfl!r}, expected at most {MOST_CFL}")
        if argument.positive("Method", "tolerance", self.tolerance) >= 1:
            raise ValueError(f"Method: tolerance={self.tolerance!r}, expected less than 1")
        if not 1 <= argument.number("Method", "over_relaxation", self.over_relaxation) < 2:
            raise ValueError(
                f"Method: over_relaxation={self.over_relaxation!r}, expected at least 1 and less than 2: beyond, the "
                "sweeps do not converge"
            )
        argument.flag("Method", "wall_separation", self.wall_separation)
        self._choose_viscous_surface()
        self._check_explicit()

    def _choose_surface(self) -> None:
        if self.is_explicit:
            if self.surface is None:
                object.__setattr__(self, "surface", TRACKERS[0])
            if argument.choice("Method", "surface", self.surface, SURFACES) not in TRACKERS:
                raise ValueError(
                    f"Method: surface={self.surface!r} with advection='explicit': the grid carries the velocity, so "
                    f"that particles only mark the surface; expected {' or '.join(map(repr, TRACKERS))}"
                )
            return
        fitting = ADVECTION[self.advection]
        if self.surface is None:
            object.__setattr__(self, "surface", fitting)
        elif argument.choice("Method", "surface", self.surface, SURFACES) != fitting:
            why = {
                "particles": "its particles carry the velocity, so they are more than markers",
                "markers": "the grid carries the velocity, so its particles only mark the surface",
            }[fitting]
            raise ValueError(
                f"Method: surface={self.surface!r} with advection={self.advection!r}: {why}; expected {fitting!r}"
            )

    def _choose_viscous_surface(self) -> None:
        if self.viscosity == "stokes":
            raise ValueError(
                "Method: viscosity='stokes', pressure and viscosity in one solve, is not simulated yet; expected one "
                f"of {', '.join(map(repr, VISCOSITY))}"
            )
        fitting = VISCOSITY[argument.choice("Method", "viscosity", self.viscosity, VISCOSITY)]
        if self.viscous_surface is None:
            object.__setattr__(self, "viscous_surface", fitting[0])
        elif argument.choice("Method", "viscous_surface", self.viscous_surface, VISCOUS_SURFACES) not in fitting:
            why = {
                "decoupled": "no traction means that components of velocity are coupled, and each is for itself here",
                "imex": "then no terms couple components of velocity, and there are none to be taken explicitly",
            }[self.viscosity]
            raise ValueError(
                f"Method: viscous_surface={self.viscous_surface!r} with viscosity={self.viscosity!r}: {why}; expected "
                f"{' or '.join(map(repr, fitting))}"
            )

    def _check_explicit(self) -> None:
        """Refuse what does not go with the explicit advection, and its solver with any other."""
        if not self.is_explicit:
            if self.solver == RELAXATION:
                raise ValueError(
                    f"Method: solver={self.solver!r} with advection={self.advection!r}: it relaxes whole cells, and "
                    f"the surface is within them here; expected {' or '.join(map(repr, SOLVERS))}, or the advection "
                    "'explicit'"
                )
            return
        for name, (expected, why) in _WHY_CLASSIC.items():
            if getattr(self, name) != expected:
                raise ValueError(
                    f"Method: {name}={getattr(self, name)!r} with advection='explicit': {why}; expected {expected!r}"
                )
