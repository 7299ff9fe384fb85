# All a newcomer types is `make demo`, `make test` and `make bench`; each makes .venv and installs what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench lint types venv clean

demo: $(VENV)/.demo
	$(BIN)/python examples/reactor.py

test: $(VENV)/.test lint types
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# A short version of every experiment, two runs at a time, in less than twenty minutes; what the same code has in the records is not run again.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks run --short --jobs 2 --records benchmarks/results/short/records.csv
	$(BIN)/python -m benchmarks report --records benchmarks/results/short/records.csv

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

venv: $(VENV)/.test

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[onnx,plot]"
	touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
