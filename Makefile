# make demo: install, run one experiment, write its report     make test: install, lint, type-check, test
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help install demo test results soak clean

help:
	@echo "make install   .venv with bk in it"
	@echo "make demo      bk demo: a network against kernels within a minute, and its page"
	@echo "make test      ruff, pyright, pytest (every experiment at smoke scale among it)"
	@echo "make results   results/ and the README's tables: what is missing or out of date, at laptop scale; hours"
	@echo "make soak      a small experiment killed 1000 times (KILLS=N for fewer), with counts; about half an hour"
	@echo "make soak RESULT=ID      a kept result computed anew, and every number compared"

install: .venv/installed
demo test results soak: install

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo:
	$(BIN)/bk demo --store store --out report

test: .venv/installed-dev
	$(BIN)/python -m compileall -q src # tests start many processes: none of them compiles the package again
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pytest -n 2 --dist worksteal -q

results:
	$(BIN)/bk results --store store

soak: .venv/installed-dev
ifdef RESULT
	$(BIN)/python tests/soak/result.py $(RESULT)
else
	$(BIN)/python tests/soak/soak.py --broken --kills 200
	$(BIN)/python tests/soak/soak.py --kills $(or $(KILLS),1000)
endif

clean:
	rm -rf .venv report build dist .pytest_cache .ruff_cache .hypothesis
