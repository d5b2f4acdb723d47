# On a machine without ROS: everything runs in .venv, made from the pinned requirements. On a ROS machine: colcon build.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: venv test lint bench clean help
.DEFAULT_GOAL := venv

venv: $(READY)  ## make .venv with everything pinned (the default)

MARK ?= not slow
test: $(READY)  ## run the tests, in parallel; MARK=slow runs the slow ones
	@$(BIN)/python -m pytest -q -n auto -m "$(MARK)"

lint: $(READY)  ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: $(READY)  ## time the library and compiled C against bare Pinocchio, and the node against one that only echoes
	@$(BIN)/python -m benchmarks.library
	@$(BIN)/python -m benchmarks.compiled
	@$(BIN)/python -m benchmarks.path

clean:  ## forget .venv and all that was built
	rm -rf $(VENV) build install log *.egg-info

help:  ## show this
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST)

$(READY): requirements.txt requirements-dev.txt setup.py
	@$(PYTHON) -c 'import sys, venv, ensurepip; v = sys.version_info[:2]; (3, 10) <= v <= (3, 12) or sys.exit(1)' 2>/dev/null || { \
	  echo "$(PYTHON) must be Python 3.10, 3.11 or 3.12 with venv (Debian, Ubuntu: apt install python3-venv);"; \
	  echo "name another one: make PYTHON=/path/to/python3.12"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version): about a minute, once."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@
	@echo "Ready. Try: $(BIN)/python -m krang_dynamics_ros check"
