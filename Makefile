# All a newcomer types is `make demo`, `make test` and `make bench`; each makes .venv and installs what it needs.
# `make docs` builds the site of the documentation, `make dist` what is published, `make bare` tries it where nothing else is installed,
# `make release-check` does all three before a release.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench lint types doctest docs browser dist bare bare-built release-check venv clean

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
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.test
	$(BIN)/mypy

# The examples in docstrings; `make test` runs them too.
doctest: $(VENV)/.test
	$(BIN)/python -m pytest tests/test_docstrings.py

# The site of the documentation, to be opened at build/docs/index.html. A warning is an error, and all of them are shown.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going docs build/docs

# The built site in headless Chromium, which the system has to have (apt-get install chromium chromium-driver); pictures of the main pages are in build/pictures.
browser: $(VENV)/.test docs
	$(BIN)/python tests/browser.py build/docs --pictures build/pictures

dist: $(VENV)/.dist
	rm -rf dist build
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# The wheel alone, without extras, in an empty environment: it is imported and the first example of the README runs.
bare: dist
	$(MAKE) bare-built

bare-built:
	$(PYTHON) -m venv --clear build/bare
	build/bare/bin/python -m pip install --quiet dist/*.whl
	build/bare/bin/python .ci/first_example
	build/bare/bin/dcembed doctor

# Before a release. What is published is built and looked at first, and nothing comes after what fails.
release-check:
	$(MAKE) dist
	$(PYTHON) .ci/archives dist
	$(MAKE) bare-built
	$(MAKE) docs
	@echo "Checked: dist/ has a source archive and a wheel that twine takes and that have what they should; the wheel alone runs the first"
	@echo "example of the README and dcembed doctor in an empty environment; the site is in build/docs, without a warning."

venv: $(VENV)/.test

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[onnx,plot]"
	touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/.dist: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet "build>=1.2" "twine>=6.1"
	touch $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
