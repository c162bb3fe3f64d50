# Everything works from a fresh clone with Python 3.11 or newer and make: the first target that needs it makes .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --no-compile --constraint constraints.txt
# Instead of pip: on all cores, without the chart package's thousands of modules (only its script is served), and also
# where PYTHONDONTWRITEBYTECODE keeps Python from compiling what it imports.
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '/(plotly|_plotly_utils|tests?)/'
DEMO ?= 1
TESTS ?=
SCREENS ?=

.DEFAULT_GOAL := help
.PHONY: help run demo test test-serving lint bench screens clean

help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/runtime ## Start everything and open to sign in; DEMO=0 starts empty, without the recording
	@$(COMPILE) apps
	@DEMO=$(DEMO) exec $(BIN)/python manage.py run

demo: ## The same with the recording of two engines laid out over the last week, whatever DEMO says
	@$(MAKE) --no-print-directory run DEMO=1

test: $(VENV)/test ## Run the tests; TESTS=tests/domain runs some
	@$(BIN)/python -m pytest $(TESTS)

test-serving: ## Run the tests of the serving tier, which need a GPU
	@echo "There is no serving tier yet, so there is nothing to test: no test was run."

lint: $(VENV)/dev ## Check style, types, import contracts and templates
	@sh scripts/lint.sh $(BIN)

bench: $(VENV)/test ## Measure the promised ratios of speed; takes some minutes
	@$(BIN)/python -m pytest tests/bench -s $(TESTS)

screens: $(VENV)/e2e ## Take the pictures in docs/screens of a fresh demo; needs Debian's chromium
	@$(BIN)/python -m tests.e2e.screens $(SCREENS)

clean: ## Remove what can be made again: caches and .venv, never var/
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .cache build dist *.egg-info
	@find apps tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Only a .venv that this run made is removed again.
$(VENV)/bin/python:
	@if test -e $(VENV) && ! { test -x $(VENV)/ && test -w $(VENV)/; }; then \
	  echo "$(VENV) belongs to $$(ls -ld $(VENV) | awk '{print $$3}') and $$(id -un) may not use it:" \
	    "take a checkout of your own, or ask for access to this one." >&2; exit 1; fi
	@if ! test -e $(VENV) && ! test -w .; then \
	  echo "$(VENV) cannot be made: $$(id -un) may not write to $$(pwd)." >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; choose one with make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version) ..."
	@test -e $(VENV) || new=yes; $(PYTHON) -m venv $(VENV) || \
	  { test -z "$$new" || rm -rf $(VENV); \
	    echo "Python's venv module is needed (on Debian: apt install python3-venv)." >&2; exit 1; }

# The stamps: one for each set of packages, renewed when the lists of packages change.
$(VENV)/runtime: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing the packages that running needs ..."
	@$(INSTALL) --editable .
	@$(COMPILE) $(VENV)/lib
	@touch $@

$(VENV)/test: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing the packages that tests need ..."
	@$(INSTALL) --editable '.[test]'
	@$(COMPILE) $(VENV)/lib
	@touch $@ $(VENV)/runtime

$(VENV)/e2e: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing the packages that looking with a browser needs ..."
	@$(INSTALL) --editable '.[test,e2e]'
	@touch $@ $(VENV)/test $(VENV)/runtime

$(VENV)/dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing the packages that linting needs ..."
	@$(INSTALL) --editable '.[test,dev]'
	@$(COMPILE) $(VENV)/lib
	@touch $@ $(VENV)/test $(VENV)/runtime
