# Needs only git, make and a Python 3.11 or later; everything else goes into .venv, at locked versions.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
VERSIONS := 3.11 3.12 3.13
# One worker more than a small CI machine has cores: tests often wait for processes that they started.
PYTEST_ARGS ?= -n 3 --dist worksteal

.PHONY: help setup demo test lint test-unit test-deep test-versions corpus mutants bench format lock bubblewrap clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

setup: .venv/.installed ## make .venv with the locked development environment

demo: setup ## show the product at work on an example
	$(BIN)/python examples/demo.py

test: lint bubblewrap ## all checks and all tests
	tools/with-docker.sh $(BIN)/pytest $(PYTEST_ARGS)

lint: setup ## style, types, direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test-unit: setup ## the fast tests alone
	$(BIN)/pytest $(PYTEST_ARGS) tests/unit

test-versions: bubblewrap ## the tests on each supported Python that is installed
	@failed=""; skipped=""; \
	for version in $(VERSIONS); do \
		if tools/find-python.sh $$version >/dev/null; then \
			echo "== Python $$version"; \
			$(MAKE) .venv-$$version/.installed && tools/with-docker.sh .venv-$$version/bin/pytest $(PYTEST_ARGS) || failed="$$failed $$version"; \
		else \
			skipped="$$skipped $$version"; \
		fi; \
	done; \
	[ -z "$$skipped" ] || echo "not installed, not tested:$$skipped"; \
	[ -z "$$failed" ] || { echo "failed on:$$failed"; exit 1; }

test-deep: setup bubblewrap ## what `make test` leaves out: every shape of a change, and everything again in docker
	tools/with-docker.sh $(BIN)/pytest $(PYTEST_ARGS) -m deep

corpus: setup bubblewrap ## what the fail-to-pass gate says of each shape of a pull request, in each sandbox, three times
	tools/with-docker.sh $(BIN)/python -m tests.corpus.table $(CORPUS_ARGS)

mutants: setup ## what the mutation gate says of each mutant of a corpus, against plain runs of the suite
	$(BIN)/python -m tests.mutation_corpus.table $(MUTANTS_ARGS)

bench: setup ## measure what the documentation claims
	$(BIN)/python benchmarks/run.py

format: setup ## apply the style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: ## write requirements/*.txt from pyproject.toml and requirements/*.in
	python="$$(tools/find-python.sh)"; "$$python" -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --upgrade uv
	for name in dev action; do \
		.venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
			--no-emit-index-url --custom-compile-command 'make lock' \
			--output-file requirements/$$name.txt pyproject.toml requirements/$$name.in; \
	done

bubblewrap:
	@tools/ensure-bubblewrap.sh

clean: ## remove everything that make has made
	rm -rf .venv .venv-* build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache \
		.import_linter_cache .hypothesis
	find ci_gate pytest_plugin tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp comes last: an interrupted installation is done again. An environment that still starts is updated in place.
define install
	@$(1)/bin/python -c "" 2>/dev/null || { python="$$(tools/find-python.sh $(2))"; \
		echo "making $(1) with $$python"; "$$python" -m venv --clear $(1); }
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(1)/.installed
endef

.venv/.installed: requirements/dev.txt pyproject.toml
	$(call install,.venv)

.venv-%/.installed: requirements/dev.txt pyproject.toml
	$(call install,.venv-$*,$*)
