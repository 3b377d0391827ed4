"""The gallery as one page of HTML, which needs nothing but the pictures beside it."""

import math
from html import escape
from typing import NamedTuple

from paddlewheel.output.page_style import STYLE

PAPERS = {
    "FM96": "Foster & Metaxas, Realistic Animation of Liquids, 1996",
    "R05": "Roble, bin Zafar & Falt, Cartesian Grid Fluid Simulation with Irregular Boundary Voxels, 2005",
    "B07": "Batty, Bertails & Bridson, A Fast Variational Framework for Accurate Solid-Fluid Coupling, 2007",
    "B08": "Batty & Bridson, Accurate Viscous Free Surfaces for Buckling, Coiling, and Rotating Liquids, 2008",
}
_WIDE = 3.0


class Picture(NamedTuple):
    """A file beside the page; what is other in it than in the scene, or nothing; and its time [s]."""

    file: str
    beside: str
    time: float


class Figure(NamedTuple):
    """What was measured, and the most that is allowed; common if it must hold of any scene."""

    name: str
    value: float
    limit: float
    common: bool

    @property
    def holds(self) -> bool:
        return self.value <= self.limit  # NaN does not


class Shown(NamedTuple):
    """A scene on the page.

    figure   that of a paper, if there is one
    failed   why it could not be measured, if so
    seconds  for a frame; None if the check makes no frames
    command  that makes it
    """

    name: str
    caption: str
    figure: str | None
    pictures: list[Picture]
    figures: list[Figure]
    failed: str | None
    cells: tuple[int, int, int]
    seconds: float | None
    machine: str
    command: str

    @property
    def holds(self) -> bool:
        return self.failed is None and all(figure.holds for figure in self.figures)

    @property
    def is_wide(self) -> bool:
        """Whether its pictures are, much wider than high: those of a plane have its form."""
        return self.cells[2] == 1 and self.cells[0] > _WIDE * self.cells[1]


def page(sections: dict[str, list[Shown]], missing: list[str]) -> str:
    """The page of scenes by section, and the names of those that were not run."""
    sections = {title: scenes for title, scenes in sections.items() if scenes}
    scenes = [scene for shown in sections.values() for scene in shown]
    links = "\n".join(f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title in sections)
    machines = "; ".join(dict.fromkeys(scene.machine for scene in scenes))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The gallery of Paddlewheel</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>The gallery of Paddlewheel</h1>
<p class="lead">Every scene measures itself: what it claims is written beside its pictures, with the most that is
allowed. Pictures and figures are of the same run.</p>
<p>{_summary(scenes)}</p>
<nav>
{links}
</nav>
</header>
<main>
{"".join(_section(title, shown) for title, shown in sections.items())}{_missing(missing)}</main>
<footer>
<p>Made by <code>paddlewheel gallery --page</code>. Seconds are those of a frame of the simulation, without drawing and
without compiling, on {escape(machines) or "no machine yet"}.</p>
<p>{"; ".join(f"{short}: {escape(paper)}" for short, paper in PAPERS.items())}.</p>
</footer>
</body>
</html>
"""


def _summary(scenes) -> str:
    figures = [figure for scene in scenes for figure in scene.figures]
    failing = [scene.name for scene in scenes if not scene.holds]
    told = f"<strong>{len(scenes)}</strong> scenes, <strong>{len(figures)}</strong> figures measured; "
    if not failing:
        return told + '<span class="holds">all of them hold</span>.'
    links = ", ".join(f'<a href="#{name}">{name}</a>' for name in failing)
    return told + f'<span class="fails">not all of them hold</span>: {links}.'


def _section(title, scenes) -> str:
    body = "".join(_scene(scene) for scene in scenes)
    return f'<section id="{_anchor(title)}">\n<h2>{escape(title)}</h2>\n{body}</section>\n'


def _scene(scene: Shown) -> str:
    own = [figure for figure in scene.figures if not figure.common]
    common = [figure for figure in scene.figures if figure.common]
    figure = f'<span class="figure">{escape(scene.figure)}</span>' if scene.figure else ""
    failed = f'<p class="fails">It could not be measured: {escape(scene.failed)}</p>\n' if scene.failed else ""
    cells = " × ".join(str(n) for n in scene.cells if n > 1)
    speed = f", {_number(scene.seconds)} s per frame" if scene.seconds is not None else ""
    return f"""<article id="{scene.name}"{' class="single"' if len(scene.pictures) == 1 else ""}>
<div class="pictures n{len(scene.pictures)}{" wide" if scene.is_wide else ""}">
{"".join(_picture(scene, picture) for picture in scene.pictures)}</div>
<div class="told">
<div>
<h3><a href="#{scene.name}">{escape(scene.name)}</a>{figure}</h3>
<p>{escape(scene.caption)}</p>
<p class="run"><code>{escape(scene.command)}</code></p>
<p class="cost">{cells} cells{speed}</p>
</div>
<div>
{failed}{_table(own)}{_of_every_scene(common, opened=not own)}</div>
</div>
</article>
"""


def _picture(scene, picture) -> str:
    told = f"{picture.beside}, {picture.time:.2f} s" if picture.beside else f"{picture.time:.2f} s"
    file, alt = escape(picture.file), escape(f"{scene.name} at {told}")
    image = f'<a href="{file}"><img src="{file}" alt="{alt}" loading="lazy"></a>'
    aside = f' class="beside"><figcaption>{escape(told)}' if picture.beside else f"><figcaption>{told}"
    return f"<figure{aside}</figcaption>{image}</figure>\n"


def _of_every_scene(figures, opened) -> str:
    if not figures:
        return ""
    failing = sum(not figure.holds for figure in figures)
    told = f"{failing} of {len(figures)} do not hold" if failing else f"{len(figures)} figures hold"
    mark = "fails" if failing else "holds"
    summary = f'<summary>what must hold of every scene: <span class="{mark}">{told}</span></summary>'
    return f"<details{' open' if opened or failing else ''}>{summary}\n{_table(figures)}</details>\n"


def _table(figures) -> str:
    if not figures:
        return ""
    rows = "".join(
        f'<tr class="{"holds" if f.holds else "fails"}"><td>{escape(f.name)}</td><td>{_number(f.value)}</td>'
        f"<td>{_number(f.limit)}</td><td>{'holds' if f.holds else 'fails'}</td></tr>\n"
        for f in figures
    )
    return f"<table>\n<tr><th>measured</th><th></th><th>at most</th><th></th></tr>\n{rows}</table>\n"


def _missing(names) -> str:
    if not names:
        return ""
    listed = ", ".join(f"<code>{escape(name)}</code>" for name in names)
    return f'<section id="not-run">\n<h2>Not run yet</h2>\n<p>{listed}</p>\n</section>\n'


def _anchor(title: str) -> str:
    return "-".join(title.lower().split())


def _number(value: float) -> str:
    """Two or three digits that count; powers of ten as they are written by hand."""
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.3g}"
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text.replace("-", "−")
    power = f"10<sup>{int(exponent)}</sup>".replace("-", "−")
    return power if mantissa == "1" else f"{mantissa.replace('-', '−')} · {power}"
