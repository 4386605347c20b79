# `make demo` and `make test` need nothing but Python 3.10+ and a network for the first set-up.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
SOURCES := src tests tools benchmarks

.PHONY: demo test test-slow lint types imports pytest pytest-weights docs fmt lock clean
.DEFAULT_GOAL := test

# A set-up that was interrupted goes on; from the beginning where it broke off while pip came in.
# The pip of early Pythons 3.10 is too old for the wheel's test. torch is installed first and by its
# exact version, so that a local build of it is taken where there is one.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("hbgl needs Python 3.10 or later; name one: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	{ $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip --version > /dev/null; } || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) 'pip>=22.3'
	$(PIP) -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(PIP) -c constraints.txt -e '.[dev]'
	touch $@

demo: $(INSTALLED)  ## train, evaluate and predict on the bundled corpus
	$(BIN)/hbgl demo -o demo-model

test: lint types imports pytest pytest-weights  ## every gate, the fast tests first

lint: $(INSTALLED)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(INSTALLED)
	$(BIN)/mypy $(SOURCES)

imports: $(INSTALLED)
	$(BIN)/lint-imports --no-logo

pytest: $(INSTALLED)
	$(BIN)/pytest --cov --cov-report=term:skip-covered

# The tests of minutes, the README's blocks among them, need the weights of one small encoder.
pytest-weights: $(INSTALLED)
	@if $(BIN)/hbgl backbone get minilm > /dev/null; then \
	  $(BIN)/pytest -m 'slow and not network'; \
	else \
	  echo 'The weights of minilm cannot be had here: the slow tests, which need them, were left out.'; \
	fi

test-slow: $(INSTALLED)  ## all tests that take minutes, and those that download
	$(BIN)/pytest -m 'slow or network'

docs: $(INSTALLED)  ## write docs/cli.md, the number tables and the pictures anew
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python -m tools.number_tables

fmt: $(INSTALLED)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lock: $(INSTALLED)  ## resolve constraints.txt anew, keeping the versions that still fit
	$(PIP) uv
	$(BIN)/uv pip compile -q --universal --python-version 3.10 --all-extras --no-annotate \
	  --custom-compile-command "make lock" pyproject.toml -o constraints.txt

clean:
	rm -rf build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
