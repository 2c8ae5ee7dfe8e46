# Everything is done by `make demo` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help pyz demo test unit unit-agent unit-recovery unit-rest sandbox-test sandbox-serving sandbox-recovery sandbox-rest \
  scenarios bench bench-recovery bench-rollback bench-crash bench-check bench-containers bench-full \
  record memory lock tables flags requirements down
help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.complete: requirements.lock pyproject.toml
	@./bootstrap $(PYTHON)
	@echo "  making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "  installing Stoker's Python packages"
	@$(BIN)/pip install --progress-bar off --require-hashes -r requirements.lock | \
	  sed -un 's/^Collecting \(\S*\).*/  \1/p; s/^Installing collected.*/  unpacking them/p'
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What only the tests need, and no operator should have to install.
$(VENV)/.tests: requirements-sandbox.lock $(VENV)/.complete
	@echo "  installing what only the tests need"
	@$(BIN)/pip install --quiet --progress-bar off --require-hashes -r requirements-sandbox.lock
	@touch $@

SAID = @printf '\n== %s\n' "$(1)"

# The sandbox needs no virtual environment; what it lacks is said before minutes go into one.
demo: ## from a Proxmox-like node with no container of ours to a real SGLang that answers
	@./bootstrap $(PYTHON)
	$(PYTHON) -m stoker.sandbox up --bare --neighbours 1
	@$(MAKE) --silent $(VENV)/.complete
	$(call SAID,Before anything is touched: the container as a deploy would make it.)
	. $(BIN)/activate && pyinfra --dry inventory/sandbox.py deploy.py --data candidate=yes
	$(call SAID,A flag set without evidence is a candidate: it is proved on the spot.)
	. $(BIN)/activate && pyinfra -y inventory/sandbox.py deploy.py --data candidate=yes
	. $(BIN)/activate && stoker status inventory/sandbox.py --ask "Who keeps the fire burning?"
	$(call SAID,Another program's option: refused in a sentence and nothing is touched.)
	. $(BIN)/activate && ! pyinfra -y inventory/sandbox.py deploy.py --data 'flagsets=["sandbox-mistyped"]'
	$(call SAID,A candidate that dies while it loads: the server before is put back and answers.)
	. $(BIN)/activate && ! pyinfra -y inventory/sandbox.py deploy.py --data candidate=yes --data 'flagsets=["sandbox-dies"]'
	. $(BIN)/activate && stoker status inventory/sandbox.py --ask "Who keeps the fire burning?"

down: ## remove the demo's node and containers; downloads are kept
	$(PYTHON) -m stoker.sandbox down

test: unit sandbox-test ## everything that proves the project, in order of cost

unit: $(VENV)/.tests ## lint, types and the tests that need no container
	@$(MAKE) --no-print-directory --jobs=3 --output-sync unit-agent unit-recovery unit-rest

unit-agent: # mostly waiting, so it goes beside the rest
	$(BIN)/pytest -q tests/pct -m "not sandbox"

unit-recovery: # a process of its own: it forks, and pytest is large by then
	$(BIN)/pytest -q tests/health tests/recovery -m "not sandbox and not gpu"

unit-rest:
	$(BIN)/pytest -q --ignore tests/pct --ignore tests/health --ignore tests/recovery \
	  -m "not sandbox and not gpu"

# What looks at this machine's own processes goes first, by itself. Of the rest the first computes
# and the others mostly wait, so they go at once: never more than one real SGLang container.
SERVING := tests/sandbox/test_debian_13.py tests/sandbox/test_main_job.py
RECOVERING := tests/sandbox/test_recovery.py $(addprefix tests/sandbox/test_,container.py passthrough.py driver_parity.py)
sandbox-test: $(VENV)/.tests ## the same on real containers, with a real SGLang
	$(BIN)/pytest -q -m sandbox tests/recovery
	@$(MAKE) --no-print-directory --jobs=3 --keep-going sandbox-serving sandbox-recovery sandbox-rest

# Each line as it comes, and whose it is: make's own --output-sync would show nothing till the end.
SHOWN = PYTHONUNBUFFERED=1 $(BIN)/pytest -v -m sandbox -p no:cacheprovider --durations=10 $(1) 2>&1 | \
  sed -u 's/^/$(@:sandbox-%=%): /'

sandbox-serving:
	@$(call SHOWN,$(SERVING))

sandbox-recovery:
	@$(call SHOWN,$(RECOVERING))

sandbox-rest: # every other one, wherever it lies
	@$(call SHOWN,--ignore tests/recovery $(addprefix --ignore ,$(SERVING) $(RECOVERING)))

scenarios: $(VENV)/.complete ## the scenarios of recovery alone, and their table
	$(BIN)/pytest -q -m "scenario and not gpu"

bench: $(VENV)/.complete ## Stoker beside pct exec, Ansible and work by hand: seconds and ratios
	$(BIN)/python -m tests.bench

bench-recovery: $(VENV)/.complete ## who holds a GPU, and from stuck to serving: three minutes
	$(BIN)/python -m tests.bench --recovery

bench-rollback: $(VENV)/.complete ## from a candidate's death to the server before: three minutes
	$(BIN)/python -m tests.bench --rollback

bench-crash: $(VENV)/.complete ## how fast a log comes to its cause: a minute
	$(BIN)/python -m tests.bench --crash

bench-check: $(VENV)/.complete ## how long stoker check takes: ten seconds
	$(BIN)/python -m tests.bench --check

bench-containers: $(VENV)/.complete ## eight containers from nothing to a token: six minutes
	$(BIN)/python -m tests.bench --containers

bench-full: $(VENV)/.complete ## the same with every tool on every number of containers
	$(BIN)/python -m tests.bench --full

pyz: ## stoker.pyz: what a node runs by itself, one file for its bare python3
	$(PYTHON) -m stoker.recovery.bundle stoker.pyz

record: $(VENV)/.complete ## drive a real SGLang into every failure and keep its logs: root, by hand; VERSION=0.5.12 NAMES=
	$(BIN)/python -m tests.health.crash.provoke $(VERSION) $(NAMES)

memory: $(VENV)/.complete ## GPU memory predicted beside what recorded starts logged; FILE=memory.tsv for another
	@$(BIN)/python -m tests.serving.memory $(FILE)

lock: $(VENV)/.complete ## refresh SGLang's locks; VERSION=0.5.12 for one
	$(BIN)/python locks/lock.py $(VERSION)

tables: $(VENV)/.complete ## make the tables of stoker/health and the part of the runbook from their rows
	$(BIN)/python -m tables.build

flags: $(VENV)/.complete ## record the options an SGLang version knows from its wheel; VERSION=0.5.23
	$(BIN)/python -m tables.flags $(VERSION)

requirements: $(VENV)/.complete ## refresh requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate --extra dev --upgrade pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate --all-extras --constraint requirements.lock pyproject.toml \
	  --output-file requirements-sandbox.lock
