.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

CORE := $(wildcard src/onepass/_core/*.hpp src/onepass/_core/*.cpp) CMakeLists.txt

# The versions of constraints.txt, also of what builds the core. Two variables of pip: older
# versions take the first for both, newer ones the second for the build.
CONSTRAINTS := constraints.txt
PIP_INSTALL = $(if $(CONSTRAINTS),PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS)) \
  $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/ready: pyproject.toml $(CONSTRAINTS) $(CORE) build_backend/backend.py
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --editable ".[dev]"
	@touch $@

# The demo needs less than the tests, which add the rest to the same environment.
$(VENV)/installed: pyproject.toml $(CONSTRAINTS) $(CORE) build_backend/backend.py
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --editable ".[files,report]"
	@touch $@

# Without an environment of its own, `make core PYTHON=...` builds for any Python that has
# nanobind, cmake and ninja.
CORE_PYTHON = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

.PHONY: core
core:  ## build the compiled part in place, in src/onepass
	@mkdir -p build
	$(CORE_PYTHON) -m cmake -S . -B build/core -G Ninja -Wno-dev \
	  -DPython_EXECUTABLE=$$($(CORE_PYTHON) -c 'import sys; print(sys.executable)') \
	  -DCMAKE_MAKE_PROGRAM=$$($(CORE_PYTHON) -c 'import ninja; print(ninja.BIN_DIR)')/ninja \
	  -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/src/onepass > build/core.log 2>&1 || (cat build/core.log; false)
	$(CORE_PYTHON) -m cmake --build build/core

.PHONY: demo
demo: $(if $(wildcard $(VENV)/ready),$(VENV)/ready,$(VENV)/installed)  ## fit a file with gaps and outliers, fill it, and write the report page; a minute
	$(BIN)/python examples/demo.py build/demo

.PHONY: test
test: $(VENV)/ready  ## tests and doctests
	$(BIN)/python -m pytest -n 2 -q
	$(BIN)/python -m pytest -q --doctest-modules src/onepass reproduction

.PHONY: lint
lint: $(VENV)/ready  ## format, lint, types, layers; changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(filter-out CMakeLists.txt,$(CORE))
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: check
check: lint test  ## everything that must pass

.PHONY: latest
latest:  ## make check with the newest dependencies that pyproject.toml allows
	$(MAKE) check VENV=build/latest CONSTRAINTS=

.PHONY: constraints
constraints: $(VENV)/ready  ## raise the versions of constraints.txt to the newest, for all Pythons and systems
	echo ziglang | $(BIN)/uv pip compile --quiet --universal --upgrade --no-annotate --all-extras \
	  --custom-compile-command "make constraints" pyproject.toml - --output-file constraints.txt

.PHONY: format
format: $(VENV)/ready  ## format, and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter-out CMakeLists.txt,$(CORE))
	$(BIN)/ruff check --fix .

.PHONY: long
long: $(VENV)/ready  ## the tests that take minutes
	$(BIN)/python -m pytest -n 2 -q -m long -o faulthandler_timeout=3600

.PHONY: mutants-tool
mutants-tool: export HYPOTHESIS_PROFILE = mutants
mutants-tool: $(VENV)/ready core  ## mutate moments, averaging, rounding and schedules by mutmut
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/mutmut \
	  "mutmut>=3.8" "pytest<9.1"  # mutmut reads a name of pytest that 9.1 has no longer
	rm -rf mutants
	PYTHONPATH=tests/mutants/site:build/mutmut $(BIN)/python -m mutmut run --max-children 2
	PYTHONPATH=tests/mutants/site:build/mutmut $(BIN)/python -m mutmut results

.PHONY: coverage
coverage: $(VENV)/ready  ## branch coverage of src/onepass by the fast tests
	$(BIN)/python -m pytest -n 2 -q --cov=onepass --cov-branch --cov-report=term:skip-covered

.PHONY: bench
bench: $(VENV)/ready  ## accuracy, intervals, speed and gaps against what is promised, into benchmarks/results; ARGS="--data DIR"
	$(PIP_INSTALL) --editable ".[bench]"
	$(BIN)/python -m benchmarks.accuracy $(ARGS)
	$(BIN)/python -m benchmarks.intervals $(ARGS)
	$(BIN)/python -m benchmarks.floor $(ARGS)
	$(BIN)/python -m benchmarks.gaps $(ARGS)

.PHONY: rivals
rivals: $(VENV)/ready  ## other libraries on the same rows, each in an environment of its own; twenty minutes
	$(PIP_INSTALL) --editable ".[bench]"
	$(BIN)/python -m benchmarks.rivals $(ARGS)

.PHONY: paper
paper: $(VENV)/ready  ## the paper's figures and claims, into build/paper: an hour; ARGS="--quick --mnist DIR"
	$(BIN)/python -m reproduction $(ARGS)

.PHONY: tables
tables: $(VENV)/ready  ## render the measured tables of README and docs from benchmarks/results
	$(BIN)/python -m benchmarks.tables

# Each engine has its own environment, because their requirements differ; Spark needs Java 17.
ENGINES := process_pool spark_arrow ray_batches beam_combine
packages_spark_arrow := "pyspark[sql]>=4.0"
packages_ray_batches := "ray[data]>=2.49" "fsspec[http]"  # which Ray reads files with
packages_beam_combine := "apache-beam>=2.68"
run_process_pool := python examples/engines/process_pool.py
run_spark_arrow := spark-submit --master local[2] --conf spark.log.level=ERROR examples/engines/spark_arrow.py
run_ray_batches := python examples/engines/ray_batches.py
run_beam_combine := python examples/engines/beam_combine.py --direct_num_workers=2 --direct_running_mode=multi_processing

.PHONY: engines $(ENGINES:%=engine-%)
engines: $(ENGINES:%=engine-%)  ## learn with Spark, Ray, Beam and a pool of processes; compare with one pass
$(ENGINES:%=engine-%): engine-%:
	$(PYTHON) -m venv build/engines/$*
	build/engines/$*/bin/python -m pip install --quiet --disable-pip-version-check ".[files]" $(packages_$*)
	PATH="$(CURDIR)/build/engines/$*/bin:$$PATH" python examples/engines/compare.py $(run_$*)

.PHONY: docs
docs: $(VENV)/ready  ## build the site into build/docs: snippets, doctests, gallery, pages; warnings are errors
	$(PIP_INSTALL) --editable ".[docs]"
	$(BIN)/python -m pytest -q tests/docs
	$(BIN)/python -m pytest -q --doctest-modules src/onepass reproduction
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

.PHONY: docs-serve
docs-serve: docs  ## show the site at http://localhost:8000
	$(BIN)/python -m http.server --bind localhost --directory build/docs 8000

# The interpreters of pyenv answer only where they are named.
PYENV_PYTHONS := $(shell pyenv versions --bare 2>/dev/null | sort -rV | paste -sd: -)
NOX = $(if $(PYENV_PYTHONS),PYENV_VERSION=$(PYENV_PYTHONS)) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/nox

.PHONY: matrix
matrix: $(VENV)/ready  ## the tests on every Python that is here, newest and oldest dependencies
	$(NOX) --sessions tests

.PHONY: sanitize
sanitize: $(VENV)/ready  ## the tests of the core under AddressSanitizer and UBSan
	$(NOX) --sessions sanitize

.PHONY: release-check
release-check: $(VENV)/ready  ## build sdist and wheels, check them, install each and try it
	$(NOX) --sessions release smoke

.PHONY: clean
clean:  ## remove what can be made again
	rm -rf .venv .nox build dist mutants .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
