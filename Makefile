# Every target does its own set-up: `make audit` and `make test` work on a bare machine with Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
WARM := .venv/.warm
TRAINING := .venv/.training
# What of the lock only training and its tests need: PyTorch and what needs it.
PYTORCH := ^\(torch\|gpytorch\|linear-operator\|stable-baselines3\)==
# What holds kernels; numba compiles those of a file anew when it has changed.
KERNELS := $(shell grep -rl --include='*.py' 'compiled import njit' models oracles online)
# One linear algebra thread per process: tests run side by side, and results do not depend on the cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# A link that type checkers and editors can follow, which the default form of setuptools is not.
EDITABLE := --config-settings editable_mode=compat --editable
# On a GPU sums are not always taken in the same order.
NO_GPU := CUDA_VISIBLE_DEVICES=
# Where an environment keeps Python from writing bytecode, every process would compile all modules and tests anew. Most
# modules of libraries are never imported: what is gets compiled then, and not when it is installed.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --no-compile
TESTS := $(ONE_THREAD) $(NO_GPU) $(BIN)/python -m pytest -n 2 --dist worksteal
LOCK_COMMAND := uv pip compile pyproject.toml --config-file .ci/lock.toml --universal --python-version 3.11 \
	--fork-strategy fewest --extra dev --extra environments --extra rl --extra cluster --extra notebooks \
	--no-annotate --no-header
# What only the documentation needs, beside what is in the other lock.
LOCK_DOCS := $(LOCK_COMMAND) --extra docs --constraint requirements.lock

.PHONY: .venv help setup training audit test test-all gpu fuzz mutants coverage lint bench notebooks picture networks docs lock clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

setup: $(WARM)  ## build .venv from requirements.lock, compile all kernels (nothing when nothing changed)

training: $(TRAINING)  ## the same, and PyTorch, which trains networks; what tests them needs it too

$(STAMP): requirements.lock pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(MAKE) --no-print-directory .venv
	@echo 'Installing into .venv what requirements.lock names: a few minutes ...'
	grep -v '$(PYTORCH)' requirements.lock | $(PIP) --no-deps -r /dev/stdin
	$(PIP) --no-deps --no-build-isolation $(EDITABLE) .
	@touch $@

$(WARM): $(STAMP) $(KERNELS)
	@echo 'Compiling all kernels, side by side: a minute or two ...'
	$(BIN)/clairvoyant warmup
	@touch $@

# The lock has no CUDA packages. The second pip fetches them where PyTorch's build needs them, and nothing elsewhere.
$(TRAINING): $(STAMP) $(KERNELS) | $(WARM)
	@echo 'Installing PyTorch into .venv, and compiling what trains: a minute or two ...'
	grep '$(PYTORCH)' requirements.lock | $(PIP) --no-deps -r /dev/stdin
	$(PIP) --constraint requirements.lock "$$(grep '^torch==' requirements.lock)"
	$(BIN)/clairvoyant warmup
	@touch $@

.venv:
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) was not found. Name a Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Clairvoyant needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; \
		echo "Python cannot make a virtual environment here. On Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; }

audit: setup  ## check every claim, print the verdicts, write reports/index.html
	$(BIN)/clairvoyant audit

# CI=true, as .ci/run sets it, leaves nothing out, and draws all examples of what Hypothesis generates, not half of them.
test: training  ## run the tests, without those of what is built and installed (all of them if CI is set)
	$(TESTS) $(if $(CI),,-m 'not slow')

test-all: training  ## run all tests, with all examples
	CI=true $(TESTS)

gpu: training  ## run the tests of training on a GPU, where there is one
	$(ONE_THREAD) $(BIN)/python -m pytest -m gpu tests/online/test_placement_train.py

# The campaigns go on where they were stopped, as long as the seed is the same: that of the day, or SEED=N.
SEED := $(shell date +%Y%m%d)
fuzz: training  ## damage files, let oracles judge each other, and search the tests' properties, with fresh seeds
	$(ONE_THREAD) $(NO_GPU) $(BIN)/python -m clairvoyant.testing.fuzz --seed $(SEED)
	HYPOTHESIS_PROFILE=fuzz $(TESTS) -m hypothesis --hypothesis-seed=$(SEED)

mutants: training  ## plant faults: tests must kill each, and its claims notice it (an hour; goes on)
	$(BIN)/python .ci/mutants.py

# Numba's machine code is invisible to coverage, so the tests of kernels run again with them as plain Python.
coverage: training  ## run the tests with line and branch coverage (95 % or more)
	$(TESTS) --cov --cov-report= --cov-fail-under=0
	NUMBA_DISABLE_JIT=1 $(TESTS) --cov --cov-append --cov-report=term \
		-k 'not (selection and degenerate_instances)' \
		$(addprefix tests/models/test_,allocation_projection.py selection_knapsack.py admission_schedule.py \
			placement_simulator.py) \
		$(addprefix tests/oracles/test_,allocation_optimum.py selection_p4.py admission_bound.py \
			admission_optimum.py) \
		$(addprefix tests/online/test_,allocation_policies.py selection_policies.py admission_policies.py \
			placement_metaheuristics.py play.py)

lint: training  ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: training  ## measure speed and memory of every problem beside named rivals
	$(BIN)/python -m benchmarks

notebooks: training  ## execute every notebook; fail on an error, or if other outputs stand in it
	$(ONE_THREAD) $(NO_GPU) $(BIN)/python .ci/notebooks.py notebooks/*.ipynb

picture: setup  ## draw docs/regret.svg, the picture of the README, anew
	$(BIN)/clairvoyant audit --full --claim allocation/regret-over-time
	sed '1s/<svg /<svg style="background:#fff;color:#222" /' \
		reports/claims/figures/allocation-regret-over-time.svg > docs/regret.svg


# Goes on in reports/training where it was stopped; without that folder it begins anew.
networks: training  ## train the networks of the package by their plans and seeds, side by side (hours)
	$(NO_GPU) $(BIN)/python .ci/networks.py

.venv/.docs: requirements-docs.lock $(STAMP)
	$(PIP) --no-deps -r requirements-docs.lock
	@touch $@

docs: setup .venv/.docs  ## write the documentation into reports/docs
	$(BIN)/sphinx-build -E -W --keep-going -b html docs reports/docs

lock: setup  ## renew requirements.lock and requirements-docs.lock from pyproject.toml
	{ echo '# Made by `make lock`, that is:'; echo '# $(LOCK_COMMAND)'; $(BIN)/$(LOCK_COMMAND) --quiet; } \
		> requirements.lock.new
	mv requirements.lock.new requirements.lock
	{ echo '# Made by `make lock`: what the extra docs needs beside requirements.lock.'; \
		$(BIN)/$(LOCK_DOCS) --quiet | grep -vxFf requirements.lock; } > requirements-docs.lock

clean:  ## remove everything that make built
	rm -rf .venv .venv-* build dist reports src/*.egg-info .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
