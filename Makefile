# On a fresh machine with git, make, Python 3.11 and cargo, `make demo` and `make test` work:
# each target does its own set-up, remembered by stamp files in .venv.

# Of its own, make would write an example's .out from the file beside it.
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTENSION := $(VENV)/.extension
WHEELS := target/tests/wheels
WHEEL := $(WHEELS)/.built
PYTHON_SOURCES := $(shell find python/linkwright examples -type f -not -path '*/__pycache__/*' -not -name '*.so')
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -path '*/src/*' -type f -o -name Cargo.toml)

# The binding asks this interpreter for its version; maturin is found beside it.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PATH := $(CURDIR)/$(BIN):$(PATH)
# A source distribution has fewer crates than the lock file names, so that this stands here and not in pyproject.toml.
export MATURIN_PEP517_ARGS := --locked $(filter-out --locked,$(MATURIN_PEP517_ARGS))
# The stub is read from the extension's symbols, so that one build serves both; a wheel has none.
export MATURIN_STRIP := false
# The theme's announcement on standard error is no finding of ours.
export NO_MKDOCS_2_WARNING := 1

# The fuzz targets are checked, not linked: libFuzzer itself, which would need a C++ compiler, is
# left out. One check covers all, benchmarks included.
CLIPPY := CUSTOM_LIBFUZZER_PATH=/dev/null cargo clippy --profile tested --workspace --all-targets --locked -- -D warnings

.PHONY: demo test quick test-rust test-python check-python pytest check-coherence stub stub-check calibrate calibrate-training accuracy wheel bench docs format lock clean install
.DEFAULT_GOAL := test

install: $(EXTENSION)

$(INSTALLED): requirements.lock
	@echo "Installing the pinned Python packages: about a minute."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(EXTENSION): $(INSTALLED) pyproject.toml $(RUST_SOURCES)
	@echo "Building the extension, with all optimisations where no profile is named: minutes on two cores."
	@echo "maturin: $(MATURIN_PEP517_ARGS)"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --editable .
	touch $@

# The wheel that the tests install: cargo has compiled what it holds, so that this packs it.
$(WHEEL): $(EXTENSION) $(PYTHON_SOURCES)
	rm -rf $(WHEELS)
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --wheel-dir $(WHEELS) .
	touch $@

# A DGX-1V in, as its tools print it, the paper's mix of jobs out: a table here, a report in demo/report.html.
demo: install
	mkdir -p demo
	$(BIN)/linkwright machine import examples/topologies/dgx1-v100.nvidia-smi.txt \
		--output demo/dgx1-v100.toml
	$(BIN)/linkwright compare examples/dgx1-v100-mix.toml --output demo

# The two that fill the cores come last, side by side: neither then waits for a lock of cargo that
# the other holds, and what needs no extension is checked while one is built.
test: check-python stub-check
	$(MAKE) test-rust pytest

# After an edited line: rustfmt, clippy and unit tests of the crates that changed since the last quick run, ruff and
# mypy. Under a minute once it has run; the first run builds the dependencies without optimisation.
quick: $(INSTALLED)
	$(BIN)/python scripts/quick.py

test-rust: $(INSTALLED)
	cargo fmt --all --check
	$(CLIPPY)
	cargo test --locked --profile tested

test-python: check-python stub-check pytest

# What asks the source alone.
check-python: $(INSTALLED)
	$(BIN)/ruff format --check python examples scripts
	$(BIN)/ruff check python examples scripts
	PYTHONPATH=python $(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/mkdocs build --strict

pytest: install $(WHEEL)
	LINKWRIGHT_WHEELS=$(CURDIR)/$(WHEELS) $(BIN)/pytest

# Every order of messages of the coherence protocols in the large configuration, held against what
# was found before: about ten minutes on two cores. Then 100,000 random litmus runs on whole GPUs: a minute.
check-coherence:
	cargo test --locked --profile tested --package linkwright --test coherence -- --ignored --nocapture
	cargo test --locked --profile tested --package linkwright-memory --lib litmus::random -- --ignored --nocapture

# The types of the extension, from its Rust source.
stub: install
	$(BIN)/python scripts/write_stub.py

# maturin takes a library away while it reads it, so that the wheel comes first.
stub-check: install $(WHEEL)
	$(BIN)/python scripts/write_stub.py --check
	$(BIN)/stubtest linkwright._core

# Fits the terms of NCCL's kernels to the measurements, and writes the table of errors.
calibrate: install
	$(BIN)/python scripts/calibrate.py

# Fits the terms of training to half of the published rows, and to what was measured on an H100; the extension is to be built
# anew then.
calibrate-training: install
	$(BIN)/python scripts/calibrate_training.py
	$(BIN)/python scripts/calibrate_kernels.py
	$(BIN)/python scripts/calibrate_convolutions.py

# Asks the model about every row that was measured, and writes docs/accuracy.md: minutes.
accuracy: install
	PYTHONPATH=scripts $(BIN)/python -m accuracy

# A wheel and a source distribution as an index takes them, audited and tried where nothing else is
# installed: ten minutes the first time. No part of `make test`.
wheel:
	$(PYTHON) scripts/wheel.py

bench: install
	cargo bench --package linkwright-bench --locked
	$(BIN)/python python/benchmarks/start_up.py
	$(BIN)/python python/benchmarks/thousand.py

docs: install
	$(BIN)/mkdocs build --strict

format: $(INSTALLED)
	cargo fmt --all
	$(BIN)/ruff format python examples
	$(BIN)/ruff check --fix python examples

# Resolves for every platform from Python 3.11 on; the lock names no index.
lock: $(INSTALLED)
	$(BIN)/uv pip compile pyproject.toml --extra plot --extra source --group dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet \
		--output-file requirements.lock

clean:
	rm -rf $(VENV) target site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f python/linkwright/_core*.so
