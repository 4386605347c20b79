# `make demo` and `make test` need nothing but Python 3.10+ and a network for the first set-up.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := src tests tools benchmarks

.PHONY: demo test test-slow lint types imports pytest docs fmt lock clean
.DEFAULT_GOAL := test

# torch first and by its exact version, so that a local build of it is taken where there is one.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(INSTALLED)  ## train, evaluate and predict on the bundled corpus
	$(BIN)/hbgl demo -o demo-model

test: lint types imports pytest  ## every gate, the fast tests last

lint: $(INSTALLED)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(INSTALLED)
	$(BIN)/mypy $(SOURCES)

imports: $(INSTALLED)
	$(BIN)/lint-imports --no-logo

pytest: $(INSTALLED)
	$(BIN)/pytest --cov --cov-report=term:skip-covered

test-slow: $(INSTALLED)  ## the tests that need real weights or minutes
	$(BIN)/pytest -m slow

docs: $(INSTALLED)  ## write docs/cli.md and the number tables anew
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python tools/number_tables.py

fmt: $(INSTALLED)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lock: $(INSTALLED)  ## resolve constraints.txt anew, keeping the versions that still fit
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.10 --all-extras --no-annotate \
	  --custom-compile-command "make lock" pyproject.toml -o constraints.txt

clean:
	rm -rf build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
