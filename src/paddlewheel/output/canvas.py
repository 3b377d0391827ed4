"""A picture of the whole domain, without axes, with the time in a corner. Drawn with matplotlib."""

from contextlib import contextmanager
from pathlib import Path

from paddlewheel.output.camera import SIZE
from paddlewheel.output.picture import STYLE, SURFACE_COLOUR, pyplot

DPI = 120


def pixels_of(size, within: tuple[int, int] = SIZE) -> tuple[int, int]:
    """The largest picture of a domain within another; even numbers, which video wants."""
    scale = min(within[0] / size[0], within[1] / size[1])
    return tuple(max(2, 2 * round(scale * side / 2)) for side in size[:2])


@contextmanager
def canvas(path: Path, pixels: tuple[int, int], time: float, colour: str, text: str = SURFACE_COLOUR):
    """Axes that fill a picture of a colour; it is written to the path at the end."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(pixels[0] / DPI, pixels[1] / DPI), dpi=DPI)
        try:
            figure.set_facecolor(colour)
            ax = figure.add_axes((0, 0, 1, 1))
            ax.set_axis_off()
            yield ax
            ax.text(0.99, 0.98, f"{time:.2f} s", transform=ax.transAxes, ha="right", va="top", color=text, zorder=5)
            figure.savefig(path, dpi=DPI)
        finally:
            plt.close(figure)
