# make check is the one door: what it passes, CI passes.

GO       ?= go
LINT     := $(GO) tool -modfile=internal/tools/go.mod golangci-lint
PACKAGES ?= ./...
FUZZTIME ?= 20000x
ROUNDS   ?= 5
export GOFLAGS := $(filter-out -mod=%,$(GOFLAGS)) -mod=readonly

.PHONY: all build test race fuzz fmt fmt-check lint vet tidy-check check bench demo clean

all: build

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/klogfs .

test:
	$(GO) test -timeout 30m $(PACKAGES)

race:
	$(GO) test -race -timeout 30m $(RACEFLAGS) $(PACKAGES)

# Each fuzz target of each package for FUZZTIME, go test takes one at a time:
# a number of inputs, because go test can take the end of a stretch of time for
# a failure of the input it is just making smaller.
# The lists go through variables, so that a package that does not compile fails.
fuzz:
	@set -eu; pkgs=$$($(GO) list $(PACKAGES)); for pkg in $$pkgs; do \
		list=$$($(GO) test -list '^Fuzz' $$pkg) || { echo "$$list"; exit 1; }; \
		for target in $$(echo "$$list" | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$pkg; \
		done; \
	done

fmt:
	$(LINT) fmt

fmt-check:
	$(LINT) fmt --diff

lint:
	$(LINT) run

vet:
	$(GO) vet $(PACKAGES)

tidy-check:
	$(GO) mod tidy -diff

# The tree may have changes of yours; it must not have more of them afterwards.
check:
	@set -eu; before=$$(git status --porcelain); \
	for step in fmt-check lint vet tidy-check race fuzz; do $(MAKE) --no-print-directory $$step; done; \
	after=$$(git status --porcelain); \
	if [ "$$before" != "$$after" ]; then echo "make check changed the tree:"; echo "$$after"; exit 1; fi

bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)
	ROUNDS=$(ROUNDS) internal/bench/peers.sh

# A store in a temporary directory to play with; Ctrl-C ends it.
demo: build
	@PATH="$(CURDIR)/bin:$$PATH" examples/quickstart.sh --stay

clean:
	rm -rf bin
