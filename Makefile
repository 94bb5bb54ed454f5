# `make demo` and `make test` need python3 (3.10 or newer) with venv and pip, a C compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := setup.py pyproject.toml $(shell find gassst ext index -name '*.py*' -o -name '*.px*' -o -name '*.h' -o -name '*.cl' -o -name '*.json')
DATA := tests/data

.PHONY: demo test lint clean

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

clean:
	rm -rf $(VENV) build demo dist *.egg-info
