"""How the page of the gallery looks: light or dark, wide or narrow, as its reader's screen is."""

STYLE = """\
:root {
  --ink: #1d2a36; --soft: #5d6b78; --paper: #fbfaf7; --card: #ffffff; --line: #e3dfd7;
  --water: #1b6ca8; --good: #1c7a46; --bad: #b3261e; --code: #f1eee8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e9ee; --soft: #98a6b3; --paper: #12181f; --card: #1a222b; --line: #2b3641;
    --water: #6db6e8; --good: #6fcf97; --bad: #ff8a80; --code: #232d37;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem; max-width: 74rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
h1 { font-size: clamp(1.8rem, 5vw, 2.7rem); line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 0.6rem; }
h2 { font-size: 1.5rem; letter-spacing: -0.01em; margin: 3.5rem 0 1rem; }
h3 { font-size: 1.15rem; margin: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 0.8rem; align-items: baseline; }
p { margin: 0.5rem 0; }
a { color: var(--water); text-decoration: none; }
a:hover { text-decoration: underline; }
.lead { font-size: 1.15rem; max-width: 42rem; color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 1.2rem; }
nav a { padding: 0.25rem 0.85rem; border: 1px solid var(--line); border-radius: 2rem; background: var(--card); }
article {
  background: var(--card); border: 1px solid var(--line); border-radius: 0.8rem; margin: 0 0 1.5rem; overflow: hidden;
}
.pictures { display: grid; gap: 1px; background: var(--line); grid-template-columns: repeat(2, 1fr); }
.pictures.n1 { grid-template-columns: 1fr; }
.pictures.n3 { grid-template-columns: repeat(3, 1fr); }
.pictures.n4 { grid-template-columns: repeat(4, 1fr); }
.pictures.wide { grid-template-columns: repeat(2, 1fr); }
.pictures figure { position: relative; margin: 0; background: var(--card); }
.pictures img { display: block; width: 100%; height: 100%; max-height: 26rem; object-fit: contain; }
.pictures a { display: block; height: 100%; }
figcaption {
  position: absolute; left: 0.5rem; top: 0.5rem; padding: 0 0.5rem; border-radius: 0.3rem; font-size: 0.8rem;
  color: #fff; background: rgb(20 30 40 / 60%); font-variant-numeric: tabular-nums;
}
.beside figcaption { background: rgb(140 70 20 / 80%); }
.told { display: grid; grid-template-columns: 1fr 1fr; gap: 0.5rem 2.5rem; padding: 1.1rem 1.3rem 1.3rem; }
.told > div { min-width: 0; }
.figure { font-size: 0.85rem; font-weight: 500; color: var(--soft); }
.cost { color: var(--soft); font-size: 0.9rem; font-variant-numeric: tabular-nums; }
code { font: 0.875em ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; }
.run code {
  display: block; background: var(--code); border-radius: 0.4rem; padding: 0.45rem 0.7rem; overflow-x: auto;
  white-space: nowrap;
}
table { border-collapse: collapse; width: 100%; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th { font-weight: 500; color: var(--soft); text-align: left; }
th, td { padding: 0.22rem 0.6rem 0.22rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:nth-child(2), td:nth-child(3), th:nth-child(3) { text-align: right; white-space: nowrap; }
td:last-child { padding-right: 0; text-align: right; }
td:nth-child(3) { color: var(--soft); }
sup { line-height: 0; font-size: 0.75em; }
.holds td:nth-child(2), .holds td:last-child, span.holds { color: var(--good); font-weight: 600; }
.fails td:nth-child(2), .fails td:last-child, .fails { color: var(--bad); font-weight: 600; }
tr.fails td:first-child { color: inherit; font-weight: inherit; }
.single { display: grid; grid-template-columns: 1fr 1fr; align-items: stretch; }
.single .told { grid-template-columns: 1fr; align-content: start; }
details { margin-top: 0.6rem; font-size: 0.875rem; }
summary { color: var(--soft); cursor: pointer; }
footer {
  margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: 0.875rem;
}
@media (max-width: 46rem) {
  body { padding: 1.5rem 0.8rem; }
  .told, .single { grid-template-columns: 1fr; }
  .pictures, .pictures.n4 { grid-template-columns: repeat(2, 1fr); }
  .pictures.n3, .pictures.wide { grid-template-columns: 1fr; }
}
"""
