# `make demo` and `make test` need python3 (3.10 or newer) with venv and pip, a C compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What an editable install is made from; a change of other Python files needs no new one.
SOURCES := setup.py pyproject.toml $(shell find gassst ext index -name '*.pyx' -o -name '*.px[di]' -o -name '*.[ch]')

.PHONY: demo test lint clean

demo: $(VENV)/.installed
	$(BIN)/python scripts/demo.py

test: $(VENV)/.tested
	$(BIN)/python -m pytest

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy gassst

# A folder that `venv` did not complete has python, but no pip.
$(VENV)/.made:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(SOURCES) | $(VENV)/.made
	$(BIN)/python scripts/install.py --editable .
	@touch $@

$(VENV)/.tested: tests/requirements.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -r tests/requirements.txt
	@touch $@

$(VENV)/.lint: | $(VENV)/.made
	$(BIN)/python -m pip install --quiet ruff mypy numpy
	@touch $@

clean:
	rm -rf $(VENV) build demo dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find gassst ext index tests scripts \( -name '*.so' -o -name '__pycache__' \) -prune -exec rm -rf {} +
