"""Scenes that show what holds: one file per figure.

A file has `scene(**parameters) -> Scene`, its `caption`, `check(simulation)`,
which runs the simulation as far as it needs and measures by name what must
hold, and `LIMITS`, the largest value allowed for each. `shown` are the frames
that tell it in pictures. It may have a `figure`, that of a paper, and `beside`:
what to show with it, at the last of these frames, by name the parameters. A
new file needs one line in SECTIONS; the command line, the list, the page and
the tests find it there.
"""

from paddlewheel.gallery import (
    beam,
    buckling,
    ceiling,
    coiling,
    cylinder,
    dam_break,
    dam_break_markers,
    dam_break_pillar,
    drag_and_launch,
    falling_sheet,
    filling,
    floating,
    hollow,
    liquid_in_sphere,
    many_densities,
    melting,
    narrow_tube,
    paddle,
    paddle_wheel,
    piston,
    plug,
    plume_box,
    plume_plate,
    poured_honey,
    ring_vortex,
    separation,
    slope,
    sloshing,
    spinning_disc,
    still_water,
    stir_by_hand,
    stirring,
    taylor_green,
    tilting_tank,
    viscous_block,
    viscous_substeps,
    vortex_box,
    vortex_street,
    wave_over_step,
)

SECTIONS = {
    "Water and walls": {
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
    },
    "Bodies": {
        "paddle-wheel": paddle_wheel,
        "floating": floating,
        "plug": plug,
        "narrow-tube": narrow_tube,
        "many-densities": many_densities,
        "drag-and-launch": drag_and_launch,
        "stir-by-hand": stir_by_hand,
    },
    "Walls that water leaves": {
        "separation": separation,
        "ceiling": ceiling,
        "piston": piston,
        "tilting-tank": tilting_tank,
    },
    "Smoke": {
        "paddle": paddle,
        "plume-plate": plume_plate,
        "plume-box": plume_box,
        "ring-vortex": ring_vortex,
        "taylor-green": taylor_green,
        "cylinder": cylinder,
    },
    "Honey": {
        "buckling": buckling,
        "coiling": coiling,
        "falling-sheet": falling_sheet,
        "poured-honey": poured_honey,
        "melting": melting,
        "viscous-block": viscous_block,
        "beam": beam,
        "spinning-disc": spinning_disc,
        "viscous-substeps": viscous_substeps,
        "vortex-street": vortex_street,
    },
    "The classic": {
        "wave-over-step": wave_over_step,
        "dam-break-markers": dam_break_markers,
    },
}
SCENES = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
