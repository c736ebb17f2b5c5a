# Everything needs Python 3.11 or newer and nothing else prepared:
# the first call makes .venv and fills it from the locked requirements.
PYTHON ?= python3
# postgres, or kafka: `make demo TRANSPORT=kafka`
TRANSPORT ?= postgres
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
VENV_OPTIONS := --without-pip
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --require-hashes -r
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r
endif

RUN := .venv/run.stamp
DEV := .venv/dev.stamp

# What `check` needs to read the settings as in production; it talks to no server.
PRODUCTION_LIKE = env \
  DATABASE_URL=postgresql://app@127.0.0.1:1/none REDIS_URL=redis://127.0.0.1:1/0 \
  ALLOWED_HOSTS=notifications.example \
  SECRET_KEY=$$($(RANDOM_TEXT)) USER_TOKEN_SECRETS=$$($(RANDOM_TEXT)) \
  SEALING_KEYS=1:$$($(RANDOM_KEY))
RANDOM_TEXT = $(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(60))'
RANDOM_KEY = $(BIN)/python -c 'import base64, os; print(base64.b64encode(os.urandom(32)).decode())'

.PHONY: help
help: ## what can be done here
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: $(RUN) ## run everything here, with sample data; Ctrl-C stops it
	@$(BIN)/python -m devstack demo --transport $(TRANSPORT)

.PHONY: smoke
smoke: $(RUN) ## 200 notifications with faults on fresh data, then the invariants
	@$(BIN)/python -m devstack smoke --transport $(TRANSPORT)

.PHONY: test
test: $(DEV) ## the whole test suite (ARGS="…" goes to pytest)
	@$(BIN)/pytest -n 2 $(ARGS)

.PHONY: faults
faults: $(DEV) ## long failure tests, one at a time; they tell what they measured
	@LOG_LEVEL=ERROR $(BIN)/pytest -m "" --capture=no $(FAULTS) $(ARGS)
FAULTS = $(addprefix tests/failure_boundaries/,test_kafka_processes.py test_kafka_wipe.py \
  test_many_cancels.py test_many_opt_outs.py test_many_duplicates.py)

.PHONY: check
check: $(DEV) ## format, lint, types, import contracts, migrations, settings, structure
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(PRODUCTION_LIKE) $(BIN)/mypy .
	$(BIN)/lint-imports
	$(PRODUCTION_LIKE) $(BIN)/python -W ignore manage.py makemigrations --check --dry-run
	$(PRODUCTION_LIKE) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(PRODUCTION_LIKE) $(BIN)/pytest -q tests/structure

.PHONY: bench
bench: $(DEV) ## one benchmark: make bench NAME=accept
	@test -n "$(NAME)" || { echo "name one: make bench NAME=accept" >&2; exit 2; }
	@$(BIN)/python -m benchmarks $(NAME) $(ARGS)

.PHONY: stack
stack: $(RUN) ## a throw-away PostgreSQL and Valkey; prints the variables that lead to it
	@$(BIN)/python -m devstack serve

.PHONY: clean
clean: ## remove the demo's data
	@$(PYTHON) -m devstack clean

.PHONY: lock
lock: ## resolve the requirements anew (needs uv)
	uv pip compile $(LOCKED) --extra embedded -o requirements/run.txt
	uv pip compile $(LOCKED) --extra embedded --group dev -o requirements/dev.txt
LOCKED = pyproject.toml --quiet --python-version 3.11 --universal --generate-hashes \
  --no-header --no-emit-index-url

.venv/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Making .venv …"
	@$(PYTHON) -m venv $(VENV_OPTIONS) .venv || \
	  { echo "Python's venv is needed (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@touch $@

$(RUN): requirements/run.txt .venv/made.stamp
	@echo "Installing $< …"
	@$(INSTALL) $<
	@touch $@

$(DEV): requirements/dev.txt .venv/made.stamp
	@echo "Installing $< …"
	@$(INSTALL) $<
	@touch $@ $(RUN)
