# make demo   builds Footfall, imports a sample log and leaves it running
# make test   the tests, on Debian 12 with Go, gcc, make and git
# make test-e2e   agent jobs with a real agent and a real forge; needs npm
#
# What a target needs beyond that it installs by itself: Debian packages by
# apt-get, tools into TOOLS, outside of the checkout.

TOOLS         ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/footfall-tools
GOLANGCI_LINT  = $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
GOLANGCI_VERSION = v2.15.0
CRAWLERS_VERSION = 1.60.0
OPENCODE_VERSION = 1.18.33
GITEA_VERSION    = v1.26.0
OCTOKIT_VERSION  = 23.0.2
FUZZTIME      ?= 50000x
BENCH_RUNS    ?= 10
SOAK_DURATION ?= 30m
SOAK_RATE     ?= 800000

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS  = -X main.version=$(VERSION) -X main.revision=$(COMMIT)

.PHONY: all build demo test test-e2e test-long lint fuzz bench bench-peers bench-exports soak crawlers strace bubblewrap redis clean

all: build

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/footfall ./cmd/footfall

demo: build
	bin/footfall demo

test: strace bubblewrap
	go vet ./...
	go test -race -timeout 15m ./...

# Agent jobs with opencode as npm has it, with Gitea, and against GitHub's own
# description of its API. The first run builds Gitea, which takes minutes.
OPENCODE = $(TOOLS)/opencode-$(OPENCODE_VERSION)/opencode
GITEA    = $(TOOLS)/gitea-$(GITEA_VERSION)/gitea
OCTOKIT  = $(TOOLS)/octokit-$(OCTOKIT_VERSION)/api.github.com.json

test-e2e: bubblewrap $(OPENCODE) $(GITEA) $(OCTOKIT)
	FOOTFALL_OPENCODE=$(OPENCODE) FOOTFALL_GITEA=$(GITEA) FOOTFALL_GITEA_ROOT=$(dir $(GITEA))static \
	FOOTFALL_GITHUB_OPENAPI=$(OCTOKIT) \
	  go test -count=1 -timeout 15m -v -run 'TestReal' ./agentjobs/...

$(OPENCODE):
	rm -rf $(@D) && mkdir -p $(@D)
	cd $(@D) && npm install --silent --no-audit --no-fund --no-save opencode-ai@$(OPENCODE_VERSION)
	ln -s "$$(cd $(@D) && ls node_modules/opencode-linux-*/bin/opencode | tail -n 1)" $@

# Gitea's go.mod replaces modules, so it is built where its source is.
$(GITEA):
	rm -rf $(@D) && mkdir -p $(@D)
	source=$$(go mod download -json code.gitea.io/gitea@$(GITEA_VERSION) | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p') && \
	  mkdir $(@D)/static && cp -r "$$source/options" "$$source/templates" $(@D)/static && \
	  chmod -R u+w $(@D)/static && cd "$$source" && \
	  go build -tags "sqlite sqlite_unlock_notify" -o $@.part . && mv $@.part $@

$(OCTOKIT):
	rm -rf $(@D) && mkdir -p $(@D)
	cd $(@D) && npm pack --silent @octokit/openapi@$(OCTOKIT_VERSION) && tar -xzf *.tgz && ln package/generated/api.github.com.json $@

# The tests of crashes and faults on the real binary, and of kills in the store,
# with 50 rounds instead of a few.
test-long: strace bubblewrap
	FOOTFALL_ROUNDS=50 go test -count=1 -timeout 120m -v -run 'TestKill|TestAgentKill|TestFailedSync|TestFullDisk|TestDamagedFiles' ./cmd/footfall
	FOOTFALL_ROUNDS=50 go test -count=1 -timeout 30m -v -run TestKill ./internal/store

lint: $(GOLANGCI_LINT)
	$(GOLANGCI_LINT) run ./...

# A short run of every fuzz target, one after the other. It is bounded by number,
# since a run that time ends may fail for that alone. What is found is kept under
# testdata/fuzz and runs with the tests from then on.
fuzz:
	@go list -f '{{.Dir}}' ./... | while read -r dir; do \
	  grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2>/dev/null | sed 's/^func //' | while read -r target; do \
	    echo "fuzz $$target in $${dir#$(CURDIR)/}"; \
	    (cd "$$dir" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x .) </dev/null || exit 1; \
	  done || exit 1; \
	done

# Footfall alone; bench/README.md says what the figures mean.
bench: build
	go run ./bench/load -footfall bin/footfall

# Footfall beside other systems: BENCH_RUNS of the way in, the first of them with
# exports. This and all drawing is a Go module of its own, which needs cgo.
bench-peers: build redis
	cd bench/peers && go run . -footfall ../../bin/footfall -runs $(BENCH_RUNS) -out ../results/peers.txt
	cd bench/peers && go tool benchstat -col /peer ../results/peers.txt

# All figures and graphs of exports: beside other systems, on large sites, after
# restarts, beside page views, and how they grow.
EXPORT_PEERS  = footfall,redis-memory,duckdb-appender
EXPORT_CURVES = days paths visitors

bench-exports: build redis
	cd bench/peers && go run . -footfall ../../bin/footfall -only $(EXPORT_PEERS),go-maps -out ../results/exports-peers.txt
	cd bench/peers && go run . -footfall ../../bin/footfall -only $(EXPORT_PEERS) -days 365 -events 8111111 \
	  -lengths 1,2,4,7,14,30,60,90,180,365 -queries 7 -points ../results/curve-days.csv
	go run ./bench/load -footfall bin/footfall -measure restart,year,many-paths,live,spread,paths-curve,visitors-curve \
	  -curves bench/results -out bench/results/exports.txt
	cd bench/peers && for axis in $(EXPORT_CURVES); do \
	  go run ./plot -curves -in ../results/curve-$$axis.csv -out ../results/curve-$$axis.png -title "totals and top 50, by $$axis" || exit 1; \
	done

soak: build
	go run ./bench/soak -footfall bin/footfall -duration $(SOAK_DURATION) -rate $(SOAK_RATE) -out bench/results/soak.csv
	cd bench/peers && go run ./plot -in ../results/soak.csv -out ../results/soak.png \
	  -title "footfall serve, $(SOAK_RATE) page views a second for $(SOAK_DURATION)"

# Derives the embedded table of crawlers from the npm package, which npm fetches.
crawlers:
	rm -rf $(TOOLS)/crawlers && mkdir -p $(TOOLS)/crawlers
	cd $(TOOLS)/crawlers && npm pack --silent crawler-user-agents@$(CRAWLERS_VERSION) && tar -xzf *.tgz
	go run ./ingest/useragent/internal/derive -package $(TOOLS)/crawlers/package \
	  -out ingest/useragent/crawlers.tsv -instances ingest/useragent/testdata/crawlers.txt

# A test traces the system calls of the binary.
strace:
	@command -v strace >/dev/null || { \
	  sudo=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$sudo apt-get update -q && $$sudo apt-get install -q -y --no-install-recommends strace; }

# Agents run in it.
bubblewrap:
	@command -v bwrap >/dev/null || { \
	  sudo=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$sudo apt-get update -q && $$sudo apt-get install -q -y --no-install-recommends bubblewrap; }

# On a system with services, Debian's package also starts one, which is not used.
redis:
	@command -v redis-server >/dev/null || { \
	  sudo=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$sudo apt-get update -q && $$sudo apt-get install -q -y --no-install-recommends redis-server; }

$(GOLANGCI_LINT):
	mkdir -p $(TOOLS)
	GOBIN=$(TOOLS)/install go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/install/golangci-lint $@

clean:
	rm -rf bin
