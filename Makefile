# The two commands are `make demo` and `make test`; everything else serves them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
STAMP := $(VENV)/.installed
export BENCHGATE_HOME ?= $(CURDIR)/.benchgate

.PHONY: help setup demo demo-docker test unit lint ui env lock clean check test-production

help:  ## say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

setup: $(STAMP)  ## make .venv from the locked requirements

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' || \
	  { echo "error: $(PYTHON) is $$($(PYTHON) -V 2>&1); Benchgate needs Python 3.10 to 3.13 (make PYTHON=python3.12 ..)"; exit 1; }
ifdef UV
	@$(UV) venv -q --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
	@echo "installing the locked requirements with uv .."
	@$(UV) pip install -q --python $(BIN)/python --require-hashes -r requirements.txt
	@$(UV) pip install -q --python $(BIN)/python --no-deps --editable .
else
	@$(PYTHON) -m venv $(VENV)
	@echo "installing the locked requirements with pip (a minute or two) .."
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --editable .
endif
	@touch $(STAMP)

demo: $(STAMP)  ## run a real campaign through Airflow on this machine: SQLite, no Docker, no GPU
	@exec $(BIN)/python -m benchgate demo

demo-docker: $(STAMP)  ## the same in containers of the local Docker Engine, two arms at once; builds its images
	@exec $(BIN)/python -m benchgate demo --docker

# Unit tests share nothing and run on every core. Integration tests are two lanes: what uses the Docker Engine, which is
# one and shared, and the rest; within a lane one test runs at a time.
DOCKER_LANE := tests/integration/docker tests/integration/engines tests/integration/ui/test_approval.py
test: $(STAMP) lint  ## everything that can be tested here; what is missing is skipped with its reason
	@status=0; worst() { [ $$1 -le $$status ] || status=$$1; }; \
	$(BIN)/python -m pytest tests/unit tests/dags -n auto --dist loadfile $(PYTEST_ARGS) || worst $$?; \
	$(BIN)/python -m pytest $(DOCKER_LANE) -o cache_dir=.pytest_cache_docker $(PYTEST_ARGS) >.docker-lane.log 2>&1 & docker=$$!; \
	trap 'kill $$docker; exit 130' INT TERM; \
	$(BIN)/python -m pytest tests/integration $(addprefix --ignore=,$(DOCKER_LANE)) $(PYTEST_ARGS) || worst $$?; \
	wait $$docker || worst $$?; cat .docker-lane.log; rm .docker-lane.log; \
	echo $$status >.tests-status; exit $$status

unit: $(STAMP)  ## fast tests only
	@exec $(BIN)/python -m pytest tests/unit -n auto --dist loadfile $(PYTEST_ARGS)

lint: $(STAMP)  ## ruff, mypy and the dependency arrows
	@$(BIN)/ruff format --check -q . && $(BIN)/ruff check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports > .import-linter.log 2>&1 || { cat .import-linter.log; exit 1; }; rm -f .import-linter.log

check: $(STAMP)  ## validate every campaign, the inventory and the sources
	@$(BIN)/python -m benchgate check

ui: $(STAMP)  ## the Airflow UI on this machine, with the runs that `make demo` made
	@exec $(BIN)/python -m benchgate.airflow.standalone

test-production: $(STAMP)  ## docker-compose for real: build, start, campaigns over REST, injected faults (half an hour)
	@exec .ci/production

env: $(STAMP)  ## write .env with fresh secrets for docker-compose.yaml, or fill in what it lacks
	@$(BIN)/python -m benchgate.airflow.make_env

lock:  ## resolve pyproject.toml into requirements.txt, with hashes, for Python 3.10 to 3.13
	@uv pip compile -q --universal --python-version 3.10 --generate-hashes \
	  --extra demo --extra production --extra dev pyproject.toml -o requirements.txt
	@uv pip compile -q --universal --python-version 3.10 --generate-hashes --no-annotate \
	  --custom-compile-command "make lock" -c requirements.txt \
	  --extra demo --extra production --extra login pyproject.toml -o include/images/airflow/requirements.txt

clean:  ## remove .venv; keeps .benchgate, which holds your results
	@rm -rf $(VENV)
