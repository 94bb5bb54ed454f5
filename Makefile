# `make demo` and `make test` need python3 (3.10 or newer) with venv and pip, a C compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := setup.py pyproject.toml $(shell find gassst ext index -name '*.py*' -o -name '*.px*' -o -name '*.h' -o -name '*.cl' -o -name '*.json')
DATA := tests/data

.PHONY: demo test lint docs docs-check clean

demo: $(VENV)/.installed
	$(BIN)/python scripts/demo.py

test: $(VENV)/.tested
	$(BIN)/pytest

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy gassst

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.tested: tests/requirements.txt $(VENV)/.installed
	$(BIN)/pip install --quiet -r tests/requirements.txt
	touch $@

$(VENV)/.lint: | $(BIN)/python
	$(BIN)/pip install --quiet ruff mypy numpy
	touch $@

# The site, in build/site; a warning is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# What the documentation tells its readers to type runs, its figures are those of the JSON files, and its English is plain.
docs-check: $(VENV)/.docs $(VENV)/.installed
	$(BIN)/python scripts/check/english.py
	$(BIN)/python scripts/make_benchmarks.py --check
	$(BIN)/python scripts/data/pipeline_svg.py --check
	$(BIN)/python scripts/check/doc_commands.py

$(VENV)/.docs: docs/requirements.txt | $(BIN)/python
	$(BIN)/pip install --quiet -r docs/requirements.txt matplotlib
	touch $@

clean:
	rm -rf $(VENV) build demo dist *.egg-info
