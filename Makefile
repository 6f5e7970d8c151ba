# aether-ooc: `make demo` shows the main job on real data, `make test` runs every test.
# Both do all their own set-up; they need Go (1.25 or newer), Python (3.11 or newer) and make.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON      ?= python3
VERSION     := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' python/aethergraph/_version.py 2>/dev/null)
REVISION    := $(or $(shell git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null),unknown)
BENCH       := $(shell sed -n 's/^module //p' go.mod)/bench
GOBUILD     := go build -trimpath -ldflags "-X main.version=$(VERSION) -X $(BENCH).revision=$(REVISION)"
SOURCES     := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './.venv/*') go.mod go.sum
CACHE       ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/aether-ooc
REPORTS     := build/reports
PY          := .venv/bin/python

# Pinned tools, run without being installed.
GOTESTSUM   := go run gotest.tools/gotestsum@v1.13.0
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.7.0

.PHONY: help build demo test lint test-go test-invariants test-race test-giouring test-python test-outofcore venv docs bench-figures bench-compare clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

build: bin/aether-ooc ## bin/aether-ooc

bin/aether-ooc: $(SOURCES) build/revision
	$(GOBUILD) -o $@ ./cmd/aether-ooc

# What the reports say of the source: a new revision is a new program.
build/revision: FORCE
	@mkdir -p build
	@test "$$(cat $@ 2>/dev/null)" = "$(REVISION)" || echo "$(REVISION)" > $@
FORCE:

demo: build venv ## train on a real graph through Ray, then sample one out of core (less than ten minutes)
	tools/demo.sh

test: lint test-go test-invariants test-race test-giouring test-outofcore test-python ## every test

lint: venv ## gofmt, go vet, staticcheck, ruff, mypy
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt these:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go vet -tags invariants ./...
	$(STATICCHECK) ./...
	cd python && ../$(PY) -m ruff check . && ../$(PY) -m ruff format --check . && ../$(PY) -m mypy
	cd bench && ../$(PY) -m ruff check --config ../python/pyproject.toml peers && ../$(PY) -m ruff format --check --config ../python/pyproject.toml peers && ../$(PY) -m mypy --config-file ../python/pyproject.toml -p peers

# Tests in Go that ask pyarrow for its opinion find it here.
test-go test-invariants test-race: export AETHER_PYTHON = $(CURDIR)/$(PY)

test-go: build venv $(REPORTS) ## Go tests
	$(GOTESTSUM) --format pkgname --junitfile $(REPORTS)/go.xml -- -count=1 ./...

test-invariants: venv $(REPORTS) ## Go tests with every assertion switched on
	$(GOTESTSUM) --format pkgname --junitfile $(REPORTS)/go-invariants.xml -- -count=1 -tags invariants ./...

test-race: venv $(REPORTS) ## Go tests under the race detector, where there is a C compiler
	@if command -v "$$(go env CC)" >/dev/null; then \
	  CGO_ENABLED=1 $(GOTESTSUM) --format pkgname --junitfile $(REPORTS)/go-race.xml -- -count=1 -timeout 40m -race -tags invariants ./...; \
	else \
	  echo "test-race: NOT RUN: the race detector needs a C compiler, and '$$(go env CC)' is not installed"; \
	fi

# What giouring needs to link, since Go 1.23.
GIOURING    := -tags giouring -ldflags=-checklinkname=0
test-giouring: build $(REPORTS) ## the backend giouring: its contract, and its reads beside ours (FILE=/path/on/nvme)
	$(GOTESTSUM) --format pkgname --junitfile $(REPORTS)/go-giouring.xml -- -count=1 $(GIOURING) ./uring ./blockcache ./internal/faultio
	@for io in uring giouring uring giouring; do \
	  go run $(GIOURING) ./cmd/aether-ooc bench device "$(or $(FILE),bin/aether-ooc)" --io $$io --runtime 1s; \
	done

test-outofcore: $(REPORTS) ## sampling in cgroups a little above the budget; needs root
	$(GOTESTSUM) --format standard-verbose --junitfile $(REPORTS)/go-outofcore.xml -- -count=1 -tags outofcore -run OutOfCore -timeout 20m ./cmd/aether-ooc

test-python: build venv $(REPORTS) ## Python, Ray, the README's examples and the command line
	cd bench && ../$(PY) -m pytest peers/tests -q --junitxml=../$(REPORTS)/peers.xml
	PATH="$(CURDIR)/.venv/bin:$$PATH" $(PY) -m pytest python/tests -q --junitxml=$(REPORTS)/python.xml

.PHONY: bench-peers
bench-peers: build venv ## our sampling beside what users would pick instead (half an hour; PEERS="--scale 20 --keep")
	cd bench && ../$(PY) -m peers --cache "$(CACHE)" $(PEERS)

$(REPORTS):
	@mkdir -p $@

venv: .venv/.complete ## .venv with the package, over a shared environment of locked dependencies

.venv/.complete: python/requirements.lock python/pyproject.toml $(shell find python/aethergraph -name '*.py' 2>/dev/null) $(SOURCES) tools/venv.sh
	PYTHON="$(PYTHON)" CACHE="$(CACHE)" tools/venv.sh
	@touch $@

bench-figures: build ## the figures of docs/BENCHMARKING.md, in one report (DIR=/path/on/nvme SCALE=24 JOBS="device sample"; 20 minutes, a quiet machine and fio)
	@test -n "$(DIR)" || { echo "bench-figures: name a folder on the device to measure: make bench-figures DIR=/mnt/nvme/figures"; exit 2; }
	DIR="$(DIR)" bench/figures.sh

bench-compare: ## what the working tree changed since REF, by runs that take turns (REF=main RUNS=6 JOB=… GRAPH=…)
	@test -n "$(REF)" || { echo "bench-compare: name a commit: make bench-compare REF=main"; exit 2; }
	bench/compare.sh "$(REF)"

docs: build ## rewrite docs/CLI.md from the flags
	bin/aether-ooc docs --out docs/CLI.md

clean: ## remove what make made in this folder
	rm -rf bin build .venv demo-data python/build python/dist
