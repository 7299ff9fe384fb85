# All a newcomer types is `make demo` and `make test`; each makes .venv and installs what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types venv clean

demo: $(VENV)/.demo
	$(BIN)/python examples/reactor.py

test: $(VENV)/.test lint types
	$(BIN)/python -m pytest

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

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
