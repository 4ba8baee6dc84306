# Every target sets up what it needs by itself: a virtual environment in .venv, with versions from constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Independent implementations to check against (MONAI and TorchMetrics with PyTorch, MedPy, scikit-learn …): about 1.3 GB.
# `make test PEERS=` leaves them out; the tests that need them then say that they were skipped.
PEERS ?= peers
BOTH_CORES := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all quick lint bench soak clean browser walls containers docs figures fuzz release-notes

demo: $(VENV)/.base
	$(BIN)/podium demo

test: $(VENV)/.dev$(if $(PEERS),-peers) browser walls
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(BOTH_CORES) -m "not heavy"

# Everything: what `make test` runs, and after it what takes minutes (the browser, containers, fuzzing, simulations, killed
# processes).
test-all: test containers
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(BOTH_CORES) -m heavy

# Pages are tested in Debian's Chromium; where it cannot be installed, these tests say that they were skipped.
browser:
	$(call debian,chromium,chromium fonts-liberation,pages in a browser)

# Algorithms are tested behind the walls of bubblewrap and in Podman's containers; where these cannot be installed, tests
# that need them say that they were skipped.
walls:
	$(call debian,bwrap,bubblewrap,commands behind walls)

containers: walls
	$(call debian,podman,podman runc,containers)
	$(call debian,busybox,busybox-static,containers)

quick: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(BOTH_CORES) -m "not slow and not heavy"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: $(VENV)/.dev
	$(BIN)/python benchmarks/soak.py

# RECORD=1 keeps the figures for the documentation and README (docs/data/benchmarks.json): on a quiet machine only.
bench: $(VENV)/.dev-peers $(VENV)-panoptica/.made
	$(BIN)/python benchmarks/run.py $(PARTS) $(if $(RECORD),--record)

# Every reader with damaged files: no crash, no hang, no more memory than it says. What goes wrong is kept and named.
INPUTS ?= 100000
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz/run.py --inputs $(INPUTS)

# The documentation, into site/: without network, and with warnings as errors.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# README's figures, from what benchmarks wrote into docs/data.
figures: $(VENV)/.dev
	$(BIN)/python docs/making/readme_figures.py

# What CHANGELOG.md says of the version that this is.
release-notes:
	@awk -v version="$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)" \
		'/^## / { own = ($$2 == version) } own' CHANGELOG.md

# Panoptica needs older versions of NumPy and cc3d than Podium is tested with: it gets an environment of its own.
$(VENV)-panoptica/.made:
	$(PYTHON) -m venv $(VENV)-panoptica
	$(VENV)-panoptica/bin/python -m pip install --quiet panoptica==2.1.7
	@touch $@

$(VENV)/.base: pyproject.toml constraints.txt
	$(call environment)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	$(call environment)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev,docs]"
	@touch $@ $(VENV)/.base

$(VENV)/.dev-peers: pyproject.toml constraints.txt
	$(call environment)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev,docs,peers]"
	@touch $@ $(VENV)/.dev $(VENV)/.base

# A bare Debian has no venv module until python3-venv is installed.
define environment
	@echo "Setting up $(VENV) (once; takes a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) 2>/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); }
endef

# A program, its packages in Debian, and what cannot be tested without it.
define debian
	@command -v $(1) >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		echo "Installing $(2) (once) ..." && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $(2) >/dev/null; } || \
		echo "There is no $(1), and it cannot be installed here: tests of $(3) will be skipped."
endef

clean:
	rm -rf $(VENV) $(VENV)-panoptica build dist site demo-run bench-results .mypy_cache .ruff_cache .pytest_cache .hypothesis
