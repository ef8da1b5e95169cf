# The front door of the project. Every target does the set-up it needs; `make` alone lists them.

VENV := .venv
BIN := $(VENV)/bin
# Touched after a complete installation; older than the lock or pyproject.toml, it is made again.
STAMP := $(VENV)/.installed
# Only errors are shown: the warnings are about the indexes that this machine's pip is configured with.
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# Give PYTHON=/path/to/python3.11 to choose the interpreter that the environment is made with.
PYTHON ?=
# Processes that run the tests.
WORKERS ?= 2
# Which mutants to try, by their names: MUTANTS='sql-*'.
MUTANTS ?= *
# Directories with Python code to format and lint; those that hold none yet are skipped by ruff.
CODE := src tests benchmarks tools

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo serve test soak java chromium check mutants bench graph api docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## make .venv with everything for development, as locked
	@:

# The version is tried, not looked up: a shim on the PATH may stand for a Python that is not there.
$(BIN)/python:
	@set -e; \
	for python in $(or $(PYTHON),python3.11 python3 python); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "Making $(VENV) with $$($$python --version)"; \
	        exec $$python -m venv $(VENV); \
	    fi; \
	done; \
	echo "Parcomp needs Python 3.11 or later; name one with: make setup PYTHON=/path/to/python3.11" >&2; \
	exit 1

$(STAMP): requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what requirements.lock names (a minute or two)"
	@$(PIP) install --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/parcomp warm-up
	@touch $@
	@echo "Ready: $(BIN)/parcomp --help"

demo: $(STAMP) ## see what Parcomp does, on a small example
	@$(BIN)/parcomp demo

# PORT=8080 serves on another port.
PORT ?= 8000
serve: $(STAMP) ## answer over HTTP on the demo's table: prints the address and two keys
	@$(BIN)/python -m parcomp.cli.demo_server --port $(PORT)

test: check java chromium ## run the checks, then all tests and doctests
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

soak: $(STAMP) ## run the tests that take many more cases, for an hour or so
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m soak

# Only the tests on Spark need it, and they say so if it is missing.
java:
	@command -v java >/dev/null || test -n "$$JAVA_HOME" || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || { \
	    echo "Installing Java for the tests on Spark"; \
	    export DEBIAN_FRONTEND=noninteractive; apt-get update -qq >/dev/null; \
	    apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null 2>&1 \
	        || apt-get install -y -qq --no-install-recommends openjdk-21-jre-headless >/dev/null; \
	}

# Only the tests of the console need it, and they say so if it is missing.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	    || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || { \
	    echo "Installing Chromium for the tests of the console"; \
	    export DEBIAN_FRONTEND=noninteractive; apt-get update -qq >/dev/null; \
	    apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	}

check: $(STAMP) ## format, lint, types (strict) and layers
	@$(BIN)/ruff format --check --quiet $(CODE) || { echo "Run: $(BIN)/ruff format $(CODE)" >&2; exit 1; }
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/mypy --no-error-summary
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report" >&2; exit 1; }
	@echo "Format, lint, types and layers hold"

mutants: $(STAMP) ## put faults into the source, one by one, and see that tests find them
	@$(BIN)/python -m tests.mutants.run '$(MUTANTS)' --workers $(WORKERS)

bench: $(STAMP) ## measure against the paper's method
	@$(BIN)/python -m benchmarks

graph: $(STAMP) ## draw which package imports which into docs/architecture.md
	@$(BIN)/python -m tools.import_graph

api: $(STAMP) ## write docs/api.md from the docstrings of what is exported
	@$(BIN)/python -m tools.api_page

docs: $(STAMP) ## build the documentation into build/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/docs/index.html"

# Pins that still fit are kept; UPGRADE=1 takes the latest of everything.
lock: $(STAMP) ## compile requirements.lock from pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --extra dev --quiet \
	    --python-version 3.11 --python-platform linux --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    $(if $(UPGRADE),--upgrade) --output-file requirements.lock
	@! grep -nE '://|^ *-(i|f|-index-url|-extra-index-url|-find-links|-trusted-host)' requirements.lock \
	    || { echo "requirements.lock must name no address" >&2; exit 1; }

clean: ## remove .venv and everything else that was made
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
