# On a machine without ROS: everything runs in .venv, made from the pinned requirements. On a ROS machine: colcon build.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/runs
TESTS := $(VENV)/tests
DOCS := $(VENV)/docs

.PHONY: venv run test lint docs bench requirements clean help
.DEFAULT_GOAL := venv

venv: $(RUNS)  ## make .venv with all that the package runs on, pinned (the default)

PORT ?= 8080
ROBOT ?=
ARM ?=
MESHES ?=
HAND ?=
hands = $(if $(findstring =,$(HAND)),$(HAND),$(HAND:%=hand=%))
comma := ,
empty :=
space := $(empty) $(empty)
# The last words of the process that ended first, from honcho's lines: time, process, |, words.
REASON := '$$2 == "system" && /stopped \(rc=-?[1-9]/ && !ended {ended = $$4} \
  $$2 != "system" {words = $$0; sub(/^[^|]*\| ?/, "", words); line[$$2, ++count[$$2]] = words} \
  END {if (ended) {printf "\n%s ended with an error:\n", ended; \
    for (k = count[ended] - 4; k <= count[ended]; ++k) if (k > 0) print "  " line[ended, k]}}'
run: export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
run: export KRANG_PORT = $(PORT)
run: export KRANG_ROBOT = $(subst ','',$(ROBOT))
run: export KRANG_ARM = $(ARM)
run: export KRANG_MESHES = $(subst ','',$(MESHES))
run: export KRANG_COMMANDS = $(if $(ROBOT)$(ARM),,--params-file config/demo_commands.yaml)
run: export KRANG_HANDS = $(if $(HAND),-p end_effectors:=[$(subst $(space),$(comma),$(foreach hand,$(hands),$(firstword \
  $(subst =, ,$(hand)))))] $(foreach hand,$(hands),-p $(subst =,.link:=,$(hand))))
run: $(RUNS)  ## a simulated Krang in the browser; PORT=8081 for another port, ROBOT=my_robot.yaml for another robot, HAND=tool0 for its hand, MESHES=folder for its meshes, ARM=my_arm.yaml for your arm
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; export PATH="$(CURDIR)/$(BIN):$$PATH"; \
	  (trap '' HUP; exec setpriv --pdeathsig TERM $(BIN)/honcho start) 2>&1 | (trap '' HUP INT TERM; exec tee "$$log"); code=$$?; \
	  (( code == 0 || code == 130 )) || { awk $(REASON) "$$log"; exit $$code; }  # 130: Ctrl-C, which is how it ends

MARK ?= not slow
PYTEST ?= -m pytest
test: $(TESTS)  ## run the tests, in parallel; MARK=slow runs the slow ones
	@$(BIN)/python $(PYTEST) -q -n $$(($$(nproc) + 1)) --dist loadfile --no-loadscope-reorder -m "$(MARK)"  # one more: nodes wait a lot

lint: $(TESTS)  ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/mypy

docs: $(DOCS)/ready  ## the documents as a site, with a reference of the library, in build/docs/index.html
	@PYTHONPATH=$(DOCS) $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

bench: export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
bench: $(TESTS)  ## time the start, library and compiled C beside bare Pinocchio, the node beside an echo, make run
	@$(BIN)/python -m benchmarks.start
	@$(BIN)/python -m benchmarks.library
	@$(BIN)/python -m benchmarks.hands
	@$(BIN)/python -m benchmarks.compiled
	@$(BIN)/python -m benchmarks.path
	@$(BIN)/python -m benchmarks.recordings
	@$(BIN)/python -m benchmarks.long_recording
	@$(BIN)/python -m benchmarks.demo

# No index's address goes into the files; uv is not needed for anything else, so it is not among the requirements.
UV ?= uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.10 --no-deps --generate-hashes --no-annotate \
  --no-strip-extras --upgrade --custom-compile-command 'make requirements'
requirements:  ## write requirements*.txt, with hashes, from requirements*.in; needs uv
	@$(COMPILE) requirements.in -o requirements.txt
	@$(COMPILE) requirements-dev.in -o requirements-dev.txt
	@$(COMPILE) requirements-docs.in -o requirements-docs.txt

clean:  ## forget .venv and all that was built
	rm -rf $(VENV) build install log *.egg-info

help:  ## show this
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST)

# What pip does, as a line that counts.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
COUNT := awk '/^Collecting/ {printf "\r  %d: %-50s", ++n, $$2; fflush()} \
  /^Installing collected/ {printf "\r  %d packages are here; unpacking them%-30s\n", n, ""; fflush()}'

$(RUNS): requirements.txt setup.py
	@$(PYTHON) -c 'import sys, venv, ensurepip; v = sys.version_info[:2]; (3, 10) <= v <= (3, 12) or sys.exit(1)' 2>/dev/null || { \
	  echo "$(PYTHON) must be Python 3.10, 3.11 or 3.12 with venv (Debian, Ubuntu: apt install python3-venv);"; \
	  echo "name another one: make PYTHON=/path/to/python3.12"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version): about a minute, once."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) -r requirements.txt | $(COUNT)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@
	@echo "Ready. Try: make run, or $(BIN)/krang check"

$(TESTS): $(RUNS) requirements-dev.txt
	@echo "Adding what tests need."
	@$(PIP) -r requirements.txt -r requirements-dev.txt | $(COUNT)
	@touch $@

$(DOCS)/ready: $(RUNS) requirements-docs.txt
	@echo "Adding what the documents need."
	@rm -rf $(DOCS)
	@$(PIP) --no-deps --target $(DOCS) -r requirements-docs.txt | $(COUNT)
	@touch $@
