"""`paddlewheel check`: whether what the scenes of the gallery claim holds."""

from rich.table import Table

from paddlewheel import gallery
from paddlewheel.commands import scenes
from paddlewheel.commands.terminal import console, progress
from paddlewheel.run import Simulation, SolveFailedError
from paddlewheel.solids import argument

FAILED = 1


def check(options) -> int:
    """Measure what must hold of gallery scenes."""
    names = options.names or list(gallery.SCENES)
    for name in names:
        argument.choice("check", "NAME", name, gallery.SCENES)
    table = Table("scene", "figure", "measured", "at most", "", box=None, pad_edge=False)
    failed = False
    for name in names:
        entry, scene = gallery.SCENES[name], scenes.build(scenes.find(name, scenes.parameters(options), "check"))
        try:
            figures = entry.check(Simulation(scene, progress=progress))
        except SolveFailedError as error:
            table.add_row(name, "", "", "", f"FAILS: {error}")
            failed = True
            continue
        for figure, value in figures.items():
            holds = value <= entry.LIMITS[figure]  # NaN does not
            failed |= not holds
            table.add_row(name, figure, f"{value:.3g}", f"{entry.LIMITS[figure]:.3g}", "holds" if holds else "FAILS")
    console().print(table)
    return FAILED if failed else 0
