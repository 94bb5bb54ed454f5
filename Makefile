# `make demo` and `make test` need python3 (3.11 or newer) with venv and pip, a C compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What an editable install is made from; a change of other Python files needs no new one.
SOURCES := setup.py pyproject.toml gassst/version.py scripts/packaging/metadata.py $(shell find gassst ext index -name '*.pyx' -o -name '*.px[di]' -o -name '*.[ch]')

.PHONY: demo test lint docs docs-check same-records field figures ablation sanitize fuzz fuzz-options oracles man clean

# V=1 says what ran where, too.
demo: $(VENV)/.installed
	$(BIN)/python scripts/demo.py $(if $(V),-v)

test: $(VENV)/.tested
	$(BIN)/python -m pytest

lint: $(VENV)/.lint $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy gassst
	$(BIN)/python scripts/check/stubs.py
	$(BIN)/python scripts/check/english.py --docstrings

# A folder that `venv` did not complete has python, but no pip.
$(VENV)/.made:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(SOURCES) | $(VENV)/.made
	$(BIN)/python scripts/packaging/install.py --editable ".[opencl,report]"
	@touch $@

$(VENV)/.tested: tests/requirements.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -r tests/requirements.txt
	@touch $@

$(VENV)/.lint: | $(VENV)/.made
	$(BIN)/python -m pip install --quiet ruff mypy numpy markdown-it-py
	@touch $@

# Programs behind a mapper, on records of gassst and of bwa mem; docs/benchmarks/field.md. Those on PATH are run.
# ROWS="snippy hic": these alone. HUMAN: FASTA of one chromosome, by default that of Debian's vt-examples.
field: $(VENV)/.installed
	$(BIN)/python scripts/field/field.py --json lab/data/field.json $(if $(ROWS),--rows $(ROWS)) $(if $(HUMAN),--human $(HUMAN))
	$(BIN)/python scripts/bench/make_benchmarks.py

# The tables of speed of README and docs/benchmarks. DATA: folders of the genomes and libraries that figures.py names, of
# which those that are not there are left out; PARTS: libraries, simulated, threads. Mappers are found on PATH.
DATA ?=
figures: $(VENV)/.installed
	$(BIN)/python scripts/bench/figures.py $(PARTS) $(addprefix --data ,$(DATA)) --data tests/data --work build/figures \
	    --json lab/data/figures.json
	$(BIN)/python scripts/bench/make_benchmarks.py

# What every optional rule of the core is worth; GENOME and FOREIGN are FASTA files.
GENOME ?= tests/data/ecoli_k12_mg1655.fa.gz
ablation: $(VENV)/.installed
	$(BIN)/python scripts/bench/ablation.py $(GENOME) $(if $(FOREIGN),--foreign $(FOREIGN)) $(if $(RULES),--rules $(RULES))

# AddressSanitizer and UBSan over the compiled modules, in build/sanitize: tests of parity, and the fuzzer.
sanitize: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet "setuptools>=77" "cython>=3.3"
	$(BIN)/python scripts/check/sanitize.py

# Coverage-guided fuzzing, SECONDS for all targets together; what it finds lies in build/fuzz/findings.
SECONDS ?= 600
fuzz: $(VENV)/.fuzz
	$(BIN)/python scripts/fuzz/drive.py --seconds $(SECONDS)

# Random command lines over all options: CASES of them from SEED on.
CASES ?= 1000
SEED ?= 0
fuzz-options: $(VENV)/.tested
	$(BIN)/python scripts/check/fuzz_options.py --seed $(SEED) --cases $(CASES)

# Folding beside ViennaRNA, if it is installed: WINDOWS of GENOMES, which are FASTA files.
GENOMES ?= tests/data/ecoli_k12_mg1655.fa.gz
WINDOWS ?= 1500
oracles: $(VENV)/.tested
	$(BIN)/python scripts/check/fold_oracle.py $(GENOMES) --windows $(WINDOWS)

# Linux: atheris has no wheels for other systems. Root of Debian gets clang, too.
$(VENV)/.fuzz: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet "setuptools>=77" "cython>=3.3" atheris
	command -v $${CLANG:-clang} >/dev/null || { [ "$$(id -u)" = 0 ] && \
	    apt-get install -y -qq --no-install-recommends clang libclang-rt-dev; } || \
	    { echo "fuzz: install clang with libFuzzer, or name it: CLANG=clang-18 make fuzz" >&2; exit 1; }
	@touch $@

# The site, in build/site; a warning is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# The manual page, in build/gassst.1: from the options, as docs/guide/options.md is.
man: $(VENV)/.docs $(VENV)/.installed
	$(BIN)/argparse-manpage --pyfile scripts/docs/options_page.py --function whole_parser --prog gassst \
	    --project-name gassst --format single-commands-section --output build/gassst.1

# What the documentation tells its readers to type runs, its figures are those of the JSON files, and its English is plain.
docs-check: $(VENV)/.docs $(VENV)/.tested
	$(BIN)/python scripts/check/english.py
	$(BIN)/python scripts/docs/wrap.py --check
	$(BIN)/python scripts/bench/make_benchmarks.py --check
	$(BIN)/python scripts/docs/options_page.py --check
	$(BIN)/python scripts/check/doc_commands.py

# Records are those of the last commit that changed any, or a commit says that they change.
same-records: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet "setuptools>=77" "cython>=3.3"
	$(BIN)/python scripts/check/same_records.py

$(VENV)/.docs: docs/requirements.txt | $(VENV)/.made
	$(BIN)/python -m pip install --quiet -r docs/requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) build demo dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find gassst ext index tests scripts \( -name '*.so' -o -name '__pycache__' \) -prune -exec rm -rf {} +
