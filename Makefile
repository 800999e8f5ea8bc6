# Everything a person does with this repository. `make` alone lists the targets.
#
# Needs make, a POSIX shell and Python 3.11 or newer. All packages go into .venv, those that check the
# JavaScript into node_modules, which `make run` never needs. A stamp named after the checksum of the
# requirements files makes every later run start at once, and a changed requirement installs itself.

PORT        ?= 8501
MODEL       ?=
SIZE        ?= full
CORPUS      ?=
ARGS        ?=
FORMS       ?= -m "not long"
FILE        ?=
CHAINS      ?= 400
BASE_PYTHON ?=

VENV   := .venv
PYTHON := $(VENV)/bin/python
PIP    := $(PYTHON) -m pip --disable-pip-version-check --no-input
# Most of what is installed is never imported: what is becomes bytecode then, and stays so, even
# where the environment would keep none.
KEEP_BYTECODE := PYTHONDONTWRITEBYTECODE=

RUN_SUM   := $(shell cksum < requirements.txt | tr ' ' '-')
DEV_SUM   := $(shell cat requirements.txt requirements-dev.txt | cksum | tr ' ' '-')
CREATED   := $(VENV)/.created
COMPILED  := $(VENV)/.compiled-$(DEV_SUM)
NODE_SUM  := $(shell cksum < package-lock.json | tr ' ' '-')
RUN_STAMP := $(VENV)/.installed-$(RUN_SUM)
DEV_STAMP := $(VENV)/.installed-dev-$(DEV_SUM)

# Node.js comes with the tests' packages; with it in front, what is run below runs on that one.
NODE       := PATH="$(CURDIR)/$(VENV)/bin:$(CURDIR)/node_modules/.bin:$$PATH"
NODE_STAMP := node_modules/.installed-$(NODE_SUM)
JS_LOG     := test-artefacts/javascript.log

# A virtual environment whose Python has gone (a system upgrade, a moved folder) is recreated.
ifneq ($(shell test -x $(PYTHON) && echo yes),yes)
.PHONY: $(CREATED) $(RUN_STAMP) $(DEV_STAMP)
endif

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-py test-js browser vectors lint format lesson words models corpus benchmark clean

help: ## list the targets
	@echo "Decoding Visualiser"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

run: $(RUN_STAMP) ## set up on first use, then serve the app (PORT=8501, MODEL=smollm2 or a path, ARGS for streamlit)
	@echo "Decoding Visualiser: http://127.0.0.1:$(PORT)  (Ctrl-C stops it)"
	@$(KEEP_BYTECODE) $(if $(MODEL),DECODING_MODEL="$(MODEL)") exec $(PYTHON) -m streamlit run app.py --server.port $(PORT) $(ARGS)

test: $(DEV_STAMP) $(NODE_STAMP) ## lint, then the tests, those in a browser included (ARGS="-k name" for pytest)
	@$(MAKE) --no-print-directory -j2 lint browser $(COMPILED)
	@$(MAKE) --no-print-directory -j2 test-js test-py

test-all: ## the same with the long forms of tests
	@$(MAKE) --no-print-directory test FORMS=

# Three workers for two cores, as browser tests often wait; a file to each at a time, the long browser
# tests first. Every worker reads all tests: from bytecode in half the time.
test-py: browser
	OMP_NUM_THREADS=1 $(KEEP_BYTECODE) $(PYTHON) -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(FORMS) $(ARGS)

# Where there is none it is fetched, which leaves the processor to the lint beside it.
browser: $(DEV_STAMP)
	@$(KEEP_BYTECODE) $(PYTHON) tests/browser/chromium.py

# After a set-up every worker would compile what it imports, each for itself: one does it beside the
# lint. What cannot be imported is for the tests to say.
$(COMPILED): | $(DEV_STAMP)
	@$(KEEP_BYTECODE) $(PYTHON) -m pytest --collect-only -qq >/dev/null 2>&1 || true
	@touch $@

# What needs no browser, held against the engine's own results. It runs beside pytest, so all that
# it says goes to a file, of which the sums are shown, and everything where a test fails.
test-js: vectors
	@$(NODE) NODE_COMPILE_CACHE=test-artefacts/compiled node --test --test-isolation=none "tests/ui/components/**/*.test.js" >$(JS_LOG) 2>&1 \
	  || { cat $(JS_LOG); echo "make test-js: the JavaScript tests failed" >&2; exit 1; }
	@sed -n -e 's/^ℹ \(pass .*\)/JavaScript tests: \1/p' -e 's/^ℹ \(fail .*\)/JavaScript tests: \1/p' $(JS_LOG)

vectors: $(DEV_STAMP) $(NODE_STAMP) # CHAINS=20000 for more
	@$(KEEP_BYTECODE) $(PYTHON) -m tests.ui.components.vectors --chains $(CHAINS)

lint: $(DEV_STAMP) $(NODE_STAMP) ## ruff, tsc, biome, import-linter: rules, types, format, words, directions of imports
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m tests.english
	@$(VENV)/bin/lint-imports --no-logo --no-cache
	@$(NODE) tsc -p .
	@$(NODE) biome check --error-on-warnings

format: $(DEV_STAMP) $(NODE_STAMP) ## ruff, biome: apply format and safe fixes
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	@$(NODE) biome check --write

lesson: $(RUN_STAMP) ## check a lesson and try its tasks (FILE=lessons/the_loop, ARGS=--serve shows it)
	@$(PYTHON) -m ui.learn.command $(FILE) $(ARGS)

words: $(RUN_STAMP) ## bring the files of translations up to date with what pages say
	@$(PYTHON) -m ui.words.update_translations

models: corpus $(DEV_STAMP) ## retrain the bundled models (CORPUS=folder, SIZE=full)
	$(PYTHON) -m models.training --size "$(SIZE)" --corpus "$(CORPUS)" $(ARGS)

corpus: # asked for before anything is installed
	@test -n "$(CORPUS)" || { echo "make models needs the folder with the training texts: make models CORPUS=path/to/corpus" >&2; exit 2; }
	@test -d "$(CORPUS)" || { echo "make models: CORPUS=$(CORPUS) is not a folder" >&2; exit 2; }

benchmark: $(DEV_STAMP) ## measure the engine, with ARGS=page the page in Chromium
	$(PYTHON) -m benchmarks $(ARGS)

clean: ## remove caches and test output; .venv stays (delete it to reinstall from nothing)
	rm -rf .pytest_cache .ruff_cache .hypothesis test-artefacts static/plotly*
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

# --- set-up -------------------------------------------------------------------------------------

$(CREATED):
	@if $(PYTHON) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	  touch $@; exit 0; \
	fi; \
	base=; seen=; \
	for candidate in $(or $(BASE_PYTHON),python3 python3.13 python3.12 python3.11 python3.14 python); do \
	  version=$$("$$candidate" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue; \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then base=$$candidate; break; fi; \
	  seen="$$seen $$candidate=$$version"; \
	done; \
	if [ -z "$$base" ]; then \
	  echo "Decoding Visualiser needs Python 3.11 or newer; found:$${seen:- none}." >&2; \
	  echo "Install one, or name one you have: make run BASE_PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	if ! "$$base" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	  echo "Python $$version ($$base) lacks its venv or pip module, which set-up needs." >&2; \
	  echo "On Debian or Ubuntu: apt-get install python3-venv. Elsewhere: install Python from python.org." >&2; \
	  exit 1; \
	fi; \
	echo "Creating $(VENV) with Python $$version ($$base)"; \
	"$$base" -m venv --clear $(VENV) && touch $@

$(RUN_STAMP): | $(CREATED)
	@echo "Installing the app's packages into $(VENV) (once; torch is large)"
	$(PIP) install --no-compile -r requirements.txt
	@rm -f $(VENV)/.installed-* && touch $(RUN_STAMP)

$(DEV_STAMP): | $(CREATED)
	@echo "Installing the app's and the tests' packages into $(VENV) (once; torch is large)"
	$(PIP) install --no-compile -r requirements-dev.txt
	@rm -f $(VENV)/.installed-* $(VENV)/.compiled-* && touch $(RUN_STAMP) $(DEV_STAMP)

$(NODE_STAMP): | $(DEV_STAMP)
	@echo "Installing what checks the JavaScript into node_modules (once)"
	@$(NODE) npm ci --loglevel=error
	@touch $@
