# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# What the demo plays; override on the command line: make demo PHONES=200 DAYS=7
PHONES ?= 50
DAYS   ?= 3
SEED   ?= 1
RUNTIME ?= inproc
FLEET_ARGS ?=
# Ray is installed only where it is asked for.
DEMO_EXTRAS := $(if $(filter ray,$(RUNTIME)),all,simulator)

PACKAGES := protocol privacy device cloud simulator

.PHONY: help demo test bench check format lint types contracts coverage migration constraints clean

help:  ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Reverie needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-simulator $(VENV)/.demo-all: $(VENV)/.demo-%: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing Reverie with its simulator and cloud into $(VENV) (a minute or two, once)…"
	$(PIP) -e '.[$*]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing Reverie with everything its tests need into $(VENV) (a minute or two, once)…"
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.demo-simulator $(VENV)/.demo-all

$(VENV)/.bench: $(VENV)/.dev
	@echo "Installing the peers that the benchmarks measure beside Reverie (a minute or two, once)…"
	$(PIP) -e '.[bench]'
	@touch $@

# Flower pins older versions of packages we share, so it lives in an environment of its own.
$(VENV)/flower/bin/python: $(VENV)/bin/python
	@echo "Installing Flower, a peer of the benchmarks, into $(VENV)/flower (a minute, once)…"
	$(PYTHON) -m venv $(VENV)/flower
	$@ -m pip install --quiet --disable-pip-version-check 'flwr[simulation]==1.42.0'

$(VENV)/pfl/bin/python: $(VENV)/bin/python
	@echo "Installing pfl, another peer, into $(VENV)/pfl (a minute, once)…"
	$(PYTHON) -m venv $(VENV)/pfl
	$@ -m pip install --quiet --disable-pip-version-check pfl==0.6.0 torch==2.13.0

demo: $(VENV)/.demo-$(DEMO_EXTRAS)  ## Play a small fleet: 50 virtual phones, 3 virtual days
	$(BIN)/reverie-fleet run --phones $(PHONES) --days $(DAYS) --seed $(SEED) --runtime $(RUNTIME) --out out/demo $(FLEET_ARGS)

test: $(VENV)/.dev  ## Run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

coverage: $(VENV)/.dev  ## Run the tests and hold the coverage floor
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term --cov-fail-under=90

bench: $(VENV)/.bench $(VENV)/flower/bin/python $(VENV)/pfl/bin/python  ## Measure; writes out/bench.json and prints it as a table
	FLWR_PYTHON=$(VENV)/flower/bin/python PFL_PYTHON=$(VENV)/pfl/bin/python $(BIN)/python -m tests.benchmarks

format: $(VENV)/.dev  ## Rewrite the code in the house format
	$(BIN)/ruff format $(PACKAGES) tests
	$(BIN)/ruff check --fix $(PACKAGES) tests

lint: $(VENV)/.dev  ## Format and lint, read-only
	$(BIN)/ruff format --check $(PACKAGES) tests
	$(BIN)/ruff check $(PACKAGES) tests

types: $(VENV)/.dev  ## mypy --strict
	$(BIN)/mypy $(PACKAGES) tests

contracts: $(VENV)/.dev  ## Imports keep to their floors
	$(BIN)/lint-imports

check: lint types contracts coverage  ## All of the above: what CI runs

migration: $(VENV)/.dev  ## Write the next database migration: make migration MESSAGE="what changed"
	$(BIN)/python -m cloud.storage.migrations "$(MESSAGE)"

constraints: $(VENV)/.bench  ## Write constraints.txt anew from the environment
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/^torch[ =@].*/torch==2.13.0/' | grep -viE '^(pip|setuptools|wheel|reverie)\b' > constraints.new
	(sed -n '/^#/p' constraints.txt; cat constraints.new) > constraints.tmp && mv constraints.tmp constraints.txt && rm constraints.new

clean:  ## Remove what these commands made
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
