"""Scenes that show what holds: one file per figure.

A file has `scene(**parameters) -> Scene`, its `caption`, `check(simulation)`,
which runs the simulation as far as it needs and measures by name what must
hold, and `LIMITS`, the largest value allowed for each. A new file needs one
line in SCENES; the command line, the list and the tests find it there.
"""

from paddlewheel.gallery import (
    ceiling,
    dam_break,
    dam_break_pillar,
    drag_and_launch,
    filling,
    floating,
    hollow,
    liquid_in_sphere,
    many_densities,
    narrow_tube,
    paddle_wheel,
    piston,
    plug,
    separation,
    slope,
    sloshing,
    still_water,
    stirring,
    tilting_tank,
    vortex_box,
)

SCENES = {
    "still-water": still_water,
    "dam-break": dam_break,
    "dam-break-pillar": dam_break_pillar,
    "sloshing": sloshing,
    "filling": filling,
    "stirring": stirring,
    "vortex-box": vortex_box,
    "slope": slope,
    "hollow": hollow,
    "liquid-in-sphere": liquid_in_sphere,
    "paddle-wheel": paddle_wheel,
    "floating": floating,
    "plug": plug,
    "narrow-tube": narrow_tube,
    "many-densities": many_densities,
    "drag-and-launch": drag_and_launch,
    "separation": separation,
    "ceiling": ceiling,
    "piston": piston,
    "tilting-tank": tilting_tank,
}
