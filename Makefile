# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# A thin layer over CMake. `make help` lists the targets.
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
CTEST = ctest --output-on-failure -j $(JOBS)
# configures folder $(1) with options $(2); shows the log only when that fails
configure = mkdir -p $(1) && { cmake -S . -B $(1) $(2) >$(1)/configure.log 2>&1 || { cat $(1)/configure.log; exit 1; }; }

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build
.PHONY: help setup python-setup test-setup ci-setup dev-setup docs-setup packages-setup clusters-setup plots-setup foreign-setup build run tests test test-clusters test-plots test-foreign fast install ci clang-check asan tsan fuzz property resume soak valgrind \
  repeat coverage format format-check tidy check-style bench images docs wheel deb tarball stage check-packages clean distclean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 22
	@echo
	@echo "  BUILD=build JOBS=$(JOBS) PREFIX=$(PREFIX) DESTDIR= can be set behind them"

setup:  ## install what is missing (build does it by itself)
	@scripts/setup

python-setup:
	@scripts/setup --python

test-setup:
	@scripts/setup --test

ci-setup:
	@scripts/setup --ci

dev-setup:
	@scripts/setup --dev

docs-setup:
	@scripts/setup --docs

packages-setup:
	@scripts/setup --packages

clusters-setup:
	@scripts/setup --clusters

plots-setup:
	@scripts/setup --plots

foreign-setup:
	@scripts/setup --foreign

# CPL_TESTS is off in a new folder; "tests" turns it on, and so it stays
fresh = $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DCPL_TESTS=OFF)
to_build = $(call configure,$(BUILD),-DCPL_WERROR=ON -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(1))

build: python-setup  ## build the command (build/couplet), the libraries, build/python and, after make test, the tests
	@$(call to_build,$(fresh))
	@cmake --build $(BUILD) -j $(JOBS)

run: setup  ## build the command, simulate the example and tell where to look
	@$(call to_build,$(fresh))
	@cmake --build $(BUILD) -j $(JOBS) --target couplet_cli
	@scripts/run-example $(BUILD)/couplet

tests: test-setup  ## build everything, tests and benchmarks too
	@$(call to_build,-DCPL_TESTS=ON)
	@cmake --build $(BUILD) -j $(JOBS)

test: tests  ## build and run every test
	@$(CTEST) --test-dir $(BUILD)

# a build of its own after the setup: "tests" may have been made before it in the same call of make
test-clusters: clusters-setup  ## build with Open MPI, and run the tests of runs and studies on clusters
	@$(MAKE) tests
	@COUPLET_NEEDS_MPI=1 $(CTEST) --test-dir $(BUILD) -R '^((study|cli)/cluster|assemble/isolate_same)'

test-plots: plots-setup  ## install matplotlib and scipy, and run the tests of plots and notebooks in Python
	@$(MAKE) tests
	@COUPLET_NEEDS_MATPLOTLIB=1 $(CTEST) --test-dir $(BUILD) -R '^python/(plots|notebooks)$$'

test-foreign: foreign-setup  ## install Wine and compilers for Windows, and run the tests of FMUs for other platforms
	@$(MAKE) tests
	@COUPLET_NEEDS_FOREIGN=win64,linux32 $(CTEST) --test-dir $(BUILD) -R '^(foreign/|cli/other_platforms$$)'

fast: tests  ## build everything and run the tests that together take seconds (label fast)
	@$(CTEST) --test-dir $(BUILD) -L fast

repeat: tests  ## every test REPEAT (20) times beside LOAD (0) busy processes; one line per run
	@tools/repeat.sh $(BUILD) $(or $(REPEAT),20) $(JOBS) $(or $(LOAD),0)

ci: format-check test test-clusters test-plots test-foreign clang-check docs  ## what .ci/run runs

install: build  ## install to PREFIX (below DESTDIR)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)

asan: test-setup  ## every test with address and undefined behaviour sanitizers (build-asan)
	@$(call configure,build-asan,-DCMAKE_BUILD_TYPE=Debug -DCPL_WERROR=ON -DCPL_SANITIZE=address)
	@cmake --build build-asan -j $(JOBS)
	@$(CTEST) --test-dir build-asan

# one build for two purposes: clang's warnings, and the sanitizers
clang-check: ci-setup  ## the tests of label fast, compiled by clang with the sanitizers of asan (build-clang)
	@$(call configure,build-clang,-DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCPL_WERROR=ON -DCPL_SANITIZE=address)
	@cmake --build build-clang -j $(JOBS)
	@$(CTEST) --test-dir build-clang -L fast

tsan: test-setup  ## the tests that use threads (label threads) with ThreadSanitizer (build-tsan)
	@$(call configure,build-tsan,-DCMAKE_BUILD_TYPE=Debug -DCPL_WERROR=ON -DCPL_SANITIZE=thread)
	@cmake --build build-tsan -j $(JOBS)
	@$(CTEST) --test-dir build-tsan -L threads

fuzz: ci-setup  ## search for inputs that crash, FUZZ_SECONDS (600) for each target (build-fuzz)
	@$(call configure,build-fuzz,-DCMAKE_C_COMPILER=clang -DCPL_FUZZ=ON)
	@cmake --build build-fuzz -j $(JOBS) --target fuzz
	@tools/fuzz.sh build-fuzz $(or $(FUZZ_SECONDS),600)

property: tests  ## random systems against a reference, PROPERTY_SECONDS (600) from case PROPERTY_SEED (1000) on
	@tools/property.sh $(BUILD) $(or $(PROPERTY_SECONDS),600) $(or $(PROPERTY_SEED),1000)

resume: tests  ## every example, interrupted at RESUME_POINTS (100) random times and killed RESUME_KILLS (10) times, has the same bytes
	@tools/resume.py $(BUILD) $(or $(RESUME_POINTS),100) $(or $(RESUME_KILLS),10)

soak: build  ## runs for SOAK_SECONDS (3600) in which memory, descriptors and threads have to stay flat
	@tools/soak.py $(BUILD) $(or $(SOAK_SECONDS),3600)

valgrind: dev-setup  ## every test program under valgrind (build-valgrind)
	@$(call configure,build-valgrind,-DCPL_WERROR=ON -DCPL_VALGRIND=ON)
	@cmake --build build-valgrind -j $(JOBS)
	@tools/valgrind.py build-valgrind $(JOBS)

coverage: dev-setup  ## every test with coverage; the page is build-coverage/html/index.html
	@$(call configure,build-coverage,-DCMAKE_BUILD_TYPE=Debug -DCPL_COVERAGE=ON)
	@cmake --build build-coverage -j $(JOBS)
	@tools/coverage.sh build-coverage $(JOBS)

format: ci-setup  ## format every C file
	@tools/format.sh

format-check: ci-setup  ## fail when a C file is not formatted
	@tools/format.sh --check

tidy: dev-setup tests  ## clang-tidy over src and cli
	@tools/tidy.sh $(BUILD) $(JOBS)

check-style: format-check tidy  ## format-check and tidy

bench: tests  ## measure speed, each number beside its goal
	@python3 bench/run.py $(BUILD)

images: build  ## make the pictures of the documents anew
	@scripts/make-images $(BUILD)/couplet

docs: docs-setup  ## the documents and the reference of the headers as a site: build-docs/site
	@tools/docs.py build-docs

# what wheel and archive are made of: an installed tree, from a build of its own
packages = build-packages
stage: packages-setup
	@$(call configure,$(packages)/build,-DCMAKE_BUILD_TYPE=Release -DCPL_WERROR=ON -DCPL_TESTS=OFF -DCPL_PYTHON=ON -DCPL_MPI=OFF -DCPL_FOREIGN=OFF \
	  -DCMAKE_INSTALL_PREFIX=/usr/local -DCMAKE_INSTALL_LIBDIR=lib)
	@cmake --build $(packages)/build -j $(JOBS)
	@rm -rf $(packages)/stage && cmake --install $(packages)/build --prefix $(CURDIR)/$(packages)/stage >/dev/null

wheel: stage  ## the package of Python with all it needs, and a test of it: build-packages/couplet-*.whl
	@tools/wheel.py $(packages)/stage $(packages)
	@tools/check_wheel.sh $(packages)/couplet-*.whl

deb: packages-setup  ## Debian packages, checked by lintian: build-packages/*.deb
	@tools/deb.py $(packages)

tarball: stage  ## an archive that runs from any folder, without root, and a test of it: build-packages/couplet-*.tar.xz
	@tools/tarball.py $(packages)/stage $(packages)

check-packages: wheel deb tarball  ## as root: the three on a new Debian (in build-packages/root) that has nothing of couplet
	@tools/check_packages.sh $(packages)

clean:  ## remove what was built
	rm -rf --one-file-system $(BUILD) build build-asan build-tsan build-clang build-fuzz build-valgrind build-coverage build-docs build-packages out

distclean: clean  ## remove what was built and what setup put into .deps
	rm -rf .deps
