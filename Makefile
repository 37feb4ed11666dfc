# `make` alone says what there is. The work is done by CMake (CMakePresets.json) and by scripts/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifneq ($(shell command -v ccache 2>/dev/null),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
endif

.PHONY: help build install python notebook demo versus test run-tests bench fuzz format lint clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

build: ## the program, optimised, in build/release
	@scripts/install-deps.sh build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target lwsvm -j $(JOBS)

PREFIX ?= /usr/local
install: build ## program, library, headers, man pages, completion, to PREFIX (/usr/local)
	@cmake --build --preset release --target lwsvm_archive lwsvm_man -j $(JOBS)
	@cmake --install build/release --prefix $(abspath $(PREFIX))

# The system's Python, whose modules are Debian packages; PYTHON=... for another, such as that of a virtual environment.
PYTHON ?= $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/python,/usr/bin/python3)
python: ## the Python package: a wheel in build/wheel, installed for this user or into the active virtual environment
	@LWSVM_REPORT=OFF scripts/install-deps.sh python
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PYTHON) -m pip wheel -q --no-deps --no-index -w build/wheel .
	@$(PYTHON) -m pip install -q --no-deps --no-index --force-reinstall --find-links build/wheel \
	  $(if $(VIRTUAL_ENV),,--user --break-system-packages) lwsvm
	@cd / && $(PYTHON) -c 'import lwsvm; print("lwsvm", lwsvm.__version__, "in", lwsvm.__path__[0])'

notebook: python ## runs docs/python.ipynb anew: some minutes
	@scripts/install-deps.sh notebook
	@$(PYTHON) -m nbconvert --to notebook --execute --inplace docs/python.ipynb

demo: ## train on Fashion-MNIST, refine, judge both, make a report: a few minutes once it is built
	@scripts/demo.sh

# What failed is the last line, instead of make's "Error 1": hence two targets.
test: run-tests ## all tests, plain and under AddressSanitizer + UndefinedBehaviorSanitizer; those of threads under ThreadSanitizer
	$(if $(file <build/failed),$(error $(file <build/failed)))

run-tests:
	@scripts/install-deps.sh test
	@JOBS=$(JOBS) scripts/test.sh || [ -s build/failed ]

bench: ## speed beside PyTorch, ONNX Runtime and LIBLINEAR; writes docs/performance.md; an hour, or BENCH=--quick
	@scripts/install-deps.sh bench
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	@/usr/bin/python3 bench/run.py $(BENCH)

versus: ## refine against tuned Adam and SGD at equal time, on VERSUS_SECONDS (60) of one core per try; hours
	@scripts/install-deps.sh demo
	@$(MAKE) build
	@scripts/versus.sh

fuzz: ## damaged files for every reader, random convolutions for the engine: FUZZ_SECONDS of each (60)
	@scripts/install-deps.sh fuzz
	@JOBS=$(JOBS) scripts/fuzz.sh

format: ## lay out all sources as .clang-format says
	@scripts/install-deps.sh lint
	git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' | xargs clang-format -i

lint: ## clang-format and clang-tidy, without changing anything
	@scripts/install-deps.sh lint
	@scripts/lint.sh

clean: ## remove build/ and out/
	rm -rf build out
