# `make run` and `make test` need Go and nothing else. Everything below them is for people who change dragoman.

GO      ?= go
PKG     ?= ./...
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BINARY   = bin/dragoman$(shell $(GO) env GOEXE)
# The version is passed in, so a tree without git, or one that git distrusts, builds as well. Without cgo, a program starts a quarter faster.
BUILD    = CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)'
TOOL     = $(GO) tool -modfile=.ci/tools.mod
# The race detector needs cgo and a C compiler that works; only trying tells.
RACE     = $(shell $(GO) build -race runtime/cgo >/dev/null 2>&1 && echo -race)

# make bench: which parts, such as start,stream. make gobench: which benchmarks, how often (benchstat wants six or more), for how long.
BENCH     ?= .
COUNT     ?= 6
BENCHTIME ?= 1s

# make conformance: how often.
RUNS ?= 20

# make torture: for how long in total.
TORTURE ?= 20m

# make install: where to.
PREFIX ?= $(HOME)/.local

.DEFAULT_GOAL := build
.PHONY: build install run test budgets test-hosts test-agents test-all race-e2e torture conformance check formatted vet lint imports golden cross typecheck vet-windows fmt bench gobench benchstat pgo vuln clean help

build: ## build bin/dragoman
	$(BUILD) -o $(BINARY) ./cmd/dragoman

# The new binary is renamed into place: one that runs cannot be written to, and a half-copied one never starts.
install: build ## copy the binary to PREFIX/bin (PREFIX=~/.local)
	mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 $(BINARY) "$(DESTDIR)$(PREFIX)/bin/$(notdir $(BINARY)).new"
	mv -f "$(DESTDIR)$(PREFIX)/bin/$(notdir $(BINARY)).new" "$(DESTDIR)$(PREFIX)/bin/$(notdir $(BINARY))"

run: build ## build, then play the demo: every protocol, one prompt each, no key needed
	$(BINARY) demo

# A build uses the profile in cmd/dragoman/default.pgo: streams take 2 to 6 % less processor time. For it all packages are compiled once
# more than for tests and checks, which go without.
test budgets test-hosts test-agents test-all race-e2e torture conformance lint imports golden vet typecheck vuln: export GOFLAGS := $(shell $(GO) env GOFLAGS) -pgo=off

# With a larger heap, compiling takes a fifth less time, and compiling is a third of the whole. The tests run with Go's default.
test lint cross typecheck: export GOGC = 400
# The race detector makes each program wait for a second at its end, unless it is told not to.
test: export GORACE = atexit_sleep_ms=0

# -count=1: the end-to-end tests start the binary, whose sources Go's test cache does not see. -vet=off: the linters
# look at the tests too, with all of vet.
TESTS = $(GO) test -exec 'env -u GOGC' -count=1 -vet=off -timeout 20m

# The race detector alone needs cgo.
CGO = CGO_ENABLED=$(if $(strip $(RACE)),1,0)

# The end-to-end tests run beside the others, without the race detector, which would make them several times as slow;
# "make race-e2e" runs them with it. They mostly wait for programs and clocks, hence -parallel. The tests of bridge are
# the longest of the rest, so they start first.
ifeq ($(PKG),./...)
test: ## run all tests; those of packages with the race detector where a C compiler is found (RACE=: without it, in half the time)
	@CGO_ENABLED=0 $(TESTS) -p 2 -parallel 6 ./e2e/conformance ./e2e/... & outside=$$!; \
	$(CGO) $(TESTS) $(RACE) -p 3 ./bridge/... $(filter-out dragoman/e2e%,$(shell $(GO) list ./...)); inside=$$?; \
	wait $$outside && test $$inside = 0
	$(if $(strip $(RACE)),$(MAKE) budgets)
else
test:
	$(CGO) $(TESTS) $(RACE) -p 4 $(PKG)
endif

# Tests named TestBudget… count allocations and system calls. The race detector makes more of them, so they skip under it; without
# it, "make test" runs them with the others.
budgets: ## run the tests that count allocations and system calls, without the race detector
	CGO_ENABLED=0 $(TESTS) -p 4 -run '^TestBudget' $(sort $(dir $(shell grep -rlE --include='*_test.go' --exclude-dir=node_modules '^func TestBudget' ./*)))

# The programs come from npm, 1 GB of them, and stay in the user's cache. "make test" runs the tests of those that are installed quickly.
test-hosts: ## run the tests with other people's programs in front of the binary (Claude Code, Codex, Gemini CLI, OpenCode, acpx)
	DRAGOMAN_HOSTS=all $(GO) test -count=1 -timeout 30m -v -run '^Test(Hosts|ACPX|ACP(Go)?Libraries|MCPAll|ServerDoesEverything)' ./e2e

test-all: ## run the end-to-end tests in all combinations; make test has each client, way and state in one or two
	DRAGOMAN_E2E_ALL=1 DRAGOMAN_HOSTS=all DRAGOMAN_AGENTS=all $(GO) test -count=1 -timeout 90m ./e2e

# Likewise, 2 GB of them, and up to eight of each run at once.
test-agents: ## run the tests with other people's agents behind the binary (Claude, Codex, Gemini CLI, OpenCode)
	DRAGOMAN_AGENTS=all $(GO) test -count=1 -timeout 30m -v -run '^TestAgents' ./e2e

race-e2e: ## run the end-to-end tests with the race detector, in the binary as well
	DRAGOMAN_E2E_RACE=1 $(GO) test -race -count=1 -timeout 60m ./e2e/...

# Tests named TestTorture… do at random and for a long time what others do briefly: they kill and stop processes, starve them of disk
# space and files, make file system calls fail, and cut the power. They run only here, and print how much they have tried.
torture: ## run the long tests, for TORTURE=20m in total
	GO='$(GO)' bash .ci/torture '$(TORTURE)'

# npm's suites for MCP servers: against our own server, and through the relay and the aggregate; and those for clients, with the two as
# the client. No run may fail. "make test" runs a quarter of the combinations of suite, transport and server, a quarter of the scenarios
# for clients, and half of the scenarios of logins.
conformance: ## run MCP's conformance suites RUNS=20 times
	CONFORMANCE=all CONFORMANCE_TRIES=1 $(GO) test -count=$(RUNS) -timeout 120m ./e2e/conformance

# lint has all analyzers of vet.
check: formatted lint imports golden cross vet-windows ## run every check that is not a test

formatted: ## fail when gofumpt would change a file
	@diff=$$($(TOOL) gofumpt -d .) && test -z "$$diff" || { echo "$$diff"; echo "gofumpt would change these files: make fmt"; exit 1; }

vet: ## go vet
	$(GO) vet $(PKG)

lint: ## golangci-lint, with the linters of .golangci.yml
	$(TOOL) golangci-lint run $(PKG)

# depguard sees direct imports only; these tests also check transitive ones, and who uses os.Stdout.
imports: ## the import rule
	@out=$$($(GO) test -count=1 -v -run 'Import|Stdout' ./cmd/dragoman 2>&1) || { echo "$$out"; exit 1; }; \
	case "$$out" in *"--- PASS"*) echo "imports: the rule holds" ;; *) echo "imports: cmd/dragoman has no such test"; exit 1 ;; esac

golden: ## fail when golden files or the schema are out of date
	bash .ci/golden

# Nothing of it runs, so nothing is optimized, which takes a fifth of the time.
CROSS = CGO_ENABLED=0 GOFLAGS='$(GOFLAGS) -pgo=off "-gcflags=all=-N -l"'
cross: typecheck ## build for macOS and Windows
	$(CROSS) GOOS=darwin GOARCH=arm64 $(GO) build ./...
	$(CROSS) GOOS=windows GOARCH=amd64 $(GO) build ./...

# What CI does instead of cross: it takes a tenth of the time.
typecheck: ## type-check everything, tests too, for macOS and Windows
	$(GO) run -modfile=.ci/tools.mod ./.ci/typecheck darwin/arm64 windows/amd64

vet-windows: ## go vet for Windows, which takes CI too long
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./...

fmt: ## rewrite all Go files with gofumpt
	$(TOOL) gofumpt -w .

# Beside a bare Go program and an agent without anything. It takes minutes and a machine that does nothing else: it refuses to run
# when that is busy, but for BENCH_FORCE=1. All parts together write e2e/BENCHMARKS.md and e2e/bench.svg; some are only printed.
bench: ## measure what users notice, and write e2e/BENCHMARKS.md (BENCH=start,turn,stream,latency,long,sessions,list,search,complete,shell,calls,idle)
	@BENCH='$(BENCH)' $(GO) run ./e2e/bench

gobench: ## run the benchmarks of packages (BENCH=regexp PKG=./... COUNT=6 BENCHTIME=1s)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -benchtime $(BENCHTIME) -timeout 30m $(PKG)

benchstat: ## compare two runs of `make gobench` (OLD=file NEW=file)
	$(TOOL) benchstat $(OLD) $(NEW)

# The profile is that of a binary that streams, runs turns, searches and relays calls.
pgo: ## renew the profile that the compiler optimizes with (cmd/dragoman/default.pgo), while the load of "make bench" runs
	rm -rf bin/profiles && mkdir -p bin/profiles
	@BENCH_FORCE=1 BENCH_PROFILES='$(CURDIR)/bin/profiles' BENCH=turn,stream,latency,search,calls $(GO) run ./e2e/bench
	$(GO) tool pprof -proto -output cmd/dragoman/default.pgo bin/profiles/*.pb.gz

vuln: ## look for known vulnerabilities in what the binary uses (asks vuln.go.dev)
	$(TOOL) govulncheck $(PKG)

clean: ## remove bin
	rm -rf bin

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
