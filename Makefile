# Every target works as the first command after a clone: it makes .venv and installs there what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
DEMO := out/demo

.DEFAULT_GOAL := help
.PHONY: help install demo test lint check bench docs figures gallery clean

help:
	@echo "make demo     a dam breaks around a pillar; leaves frames, pictures and a film in $(DEMO)"
	@echo "make test     lint, format, import directions and the tests (minutes)"
	@echo "make check    make test and the slow tests, every check of the gallery among them"
	@echo "make bench    time pressure solves, steps of liquids, bodies and smoke, the viewer and the first use; leaves figures in out/bench"
	@echo "make docs     build the site of README.md, docs/ and docstrings; leaves it in out/site"
	@echo "make gallery  run, measure and draw every scene of the gallery; leaves a page in docs/gallery; goes on if stopped"
	@echo "make figures  draw again the pictures of README.md and docs/"
	@echo "make install  only make .venv and install the package into it"
	@echo "make clean    remove .venv and everything that was made"

install: $(INSTALLED)

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, and $(PYTHON) is " + sys.version.split()[0] + ": make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/paddlewheel run dam-break-pillar --frames 60 --out $(DEMO) --overwrite
	@$(BIN)/paddlewheel render $(DEMO) --sheet --video

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

# A test for each core, on one thread each: small scenes gain more by that than by threads.
PYTEST := PADDLEWHEEL_THREADS=1 $(BIN)/python -m pytest -n auto

test: lint
	$(PYTEST)

check: lint
	$(PYTEST) -m "slow or not slow"

bench: $(INSTALLED)
	@mkdir -p out/bench
	$(BIN)/paddlewheel bench pressure --json out/bench/pressure.json --plot out/bench/pressure.png
	$(BIN)/paddlewheel bench liquid --json out/bench/liquid.json --plot out/bench/liquid.png
	$(BIN)/paddlewheel bench liquid --scene sphere --json out/bench/sphere.json --plot out/bench/sphere.png
	$(BIN)/paddlewheel bench bodies --json out/bench/bodies.json
	$(BIN)/paddlewheel bench walls --json out/bench/walls.json
	$(BIN)/paddlewheel bench smoke --json out/bench/smoke.json
	$(BIN)/paddlewheel bench classic --json out/bench/classic.json --plot out/bench/classic.png
	$(BIN)/paddlewheel bench viewer --json out/bench/viewer.json
	$(BIN)/paddlewheel bench startup

docs: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "out/site/index.html"

figures: $(INSTALLED)
	$(BIN)/paddlewheel first-step still-water --out docs/figures
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/figures_liquid.py
	$(BIN)/paddlewheel run dam-break-pillar --frames 60 --out out/figures --overwrite
	$(BIN)/paddlewheel render out/figures --sheet
	cp out/figures/dam-break-pillar.sheet.png docs/figures/dam-break-pillar.png
	$(BIN)/paddlewheel run paddle --cells 80 --frames 40 --out out/figures --overwrite
	$(BIN)/paddlewheel render out/figures --frames 40-40
	cp out/figures/paddle.0040.png docs/figures/paddle.png

gallery: $(INSTALLED)
	$(BIN)/paddlewheel gallery --page docs/gallery

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
