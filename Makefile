# Everything a newcomer, a developer and CI run. `make` alone lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# Programs and tests are built alike, so that they share what is compiled.
export GOFLAGS := -trimpath
# Neither git status, which go build asks, nor VERSION, before it is used, writes to .git: tests that list the checkout
# keep their cached results.
export GIT_OPTIONAL_LOCKS := 0

GO      ?= go
BUILD   := build
SPDL    := $(BUILD)/spdl
LAB := $(BUILD)/spdl-lab
VERSION  = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  = -X github.com/spdl/spdl/abci/version.Version=$(VERSION)
LINT    := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.6.2
FUZZ    ?= 5s
BENCH   ?=
# lint runs vet, and a linker that writes no DWARF takes half the time.
TEST    := $(GO) test -vet=off -ldflags=-w -timeout 30m
comma   := ,

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## build/spdl and build/spdl-lab
	@mkdir -p $(BUILD)
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BUILD)/ ./cmd/spdl ./cmd/spdl-lab

.PHONY: verify-page
verify-page: ## the verifier of models for browsers: build/verify-page for any web server, and into the next make build
	@mkdir -p $(BUILD)
	@.ci/verify-page $(BUILD)/verify-page $(VERSION)

.PHONY: demo
demo: build ## four nodes train on the embedded MNIST, 25 rounds
	$(LAB) testnet start --validators 4

.PHONY: check
check: build lint ## the inner loop: build, vet, linters, short tests of what changed
	$(TEST) -short ./...

.PHONY: test
test: ## all tests, some of them with fewer cases than test-long: 11 to 14 minutes of CPU without a cache
	$(TEST) ./...

.PHONY: test-long
test-long: ## all cases of all tests; after make test it runs only what that left out
	SPDL_TEST_LONG=1 $(TEST) ./...

.PHONY: cover
cover: ## coverage of the pure packages, at least 90 %
	@.ci/cover

# The packages with the longest tests come first, so that none of them runs alone at the end.
.PHONY: race
race: ## the tests of the packages with most goroutines under the race detector (LONG=1: of all that have some)
	$(GO) test -race -short -ldflags=-w -timeout 30m $(if $(LONG),./app/worker/trainer ./app/worker ./abci/... ./app/... ./testnet,./app/worker ./abci ./abci/node ./abci/pool ./abci/reactor ./abci/store ./abci/limit)

.PHONY: lint
lint: ## gofmt, vet and the linters
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(LINT) run ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ (5s)
	@.ci/fuzz $(FUZZ)

.PHONY: determinism
determinism: ## the golden hashes with and without assembly, both VNNI and AVX2, GOAMD64 v1 and v3, GOMAXPROCS 1 and 2, arm64 under qemu-user
	@.ci/determinism

# Nets that a newcomer makes, that are killed, attacked, joined and upgraded: a minute each at most.
E2E_GATE = ^Test(Tour|Founding|Kill|Hostile|Join|Consent|Tolerance|Upgrade|WorkerProcess|RemoteValidator|FrontDoor)$$

.PHONY: e2e
e2e: verify-page build ## end-to-end runs: localnets, kill -9, hostile clients, a browser, where chromium is installed (SLICE=1: what CI runs with every commit, LONG=1: all cases, SKIP=regexp)
	$(if $(LONG),SPDL_TEST_LONG=1 )$(GO) test -tags e2e -count 1 -v -timeout 60m $(if $(SLICE),-run '$(E2E_GATE)') $(if $(SKIP),-skip '$(SKIP)') ./testnet/e2e
	$(GO) test -tags e2e -count 1 -v -timeout 30m -run Browser ./cmd/internal/explorer

.PHONY: chaos
chaos: ## faults and attacks on real nets of 4 and 7 (SLICE=1: two minutes of them, CELL=regexp SIZES=4,7 SEED=1 HIDDEN=256)
	@mkdir -p $(BUILD)
	$(GO) test -tags e2e -count 1 -v -timeout $(if $(SLICE),5m,3h) -run Chaos ./testnet/e2e -chaos -chaos.table $(CURDIR)/$(BUILD)/chaos.txt \
		-chaos.sizes $(or $(SIZES),$(if $(SLICE),4,4$(comma)7)) -chaos.seed $(or $(SEED),$(if $(SLICE),$(shell git rev-list --count HEAD),1)) \
		$(if $(SLICE),-chaos.slice 90s) $(if $(CELL),-chaos.cell '$(CELL)') $(if $(HIDDEN),-chaos.hidden $(HIDDEN))

.PHONY: sim
sim: ## 1,000 random histories of simulated nets (SEEDS=1000)
	$(GO) test -count 1 -timeout 30m ./testnet/sim -run Random -seeds $(or $(SEEDS),1000)

.PHONY: vsim
vsim: ## full nodes in virtual time: SEEDS=4 histories from FIRST=1 on, or SEED, NODES=4, TIME=10m each; HISTORY=file, TWINS=number of scenarios
	@$(if $(TWINS),RUN=TwinScenarios) .ci/virtual -seeds $(if $(SEED),1,$(or $(SEEDS),4)) -first $(or $(SEED),$(FIRST),1) \
		-nodes $(or $(NODES),4) -time $(or $(TIME),10m) $(if $(HISTORY),-history $(abspath $(HISTORY))) $(if $(TWINS),-twins $(TWINS))

.PHONY: quint
quint: ## traces of the model testnet/quint/round.qnt replayed on the application (TRACES=10000, STEPS=45, SEED=1)
	@.ci/quint $(or $(TRACES),10000) $(or $(STEPS),45) $(or $(SEED),1)

.PHONY: mutants
mutants: ## 44 faults in copies of the core: the kept traces of the model find each, or it is said what does
	$(GO) test -count 1 -v -timeout 60m -run Mutants ./testnet/quint -mutants

.PHONY: trips
trips: ## the virtual time of a round in one-way trips over the slowest link (NODES=4; WAN=1: in five zones, ZONES=a,b)
	@RUN=Trips .ci/virtual -nodes $(or $(NODES),4) -zones "$(or $(ZONES),$(if $(WAN),$(WAN_ZONES)))"

.PHONY: bench
bench: ## the kernels beside NumPy, PyTorch and pure Go; with BENCH=regexp the benchmarks of that name
	@$(if $(BENCH),$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...,.ci/bench)

WAN_ZONES = virginia,oregon,frankfurt,tokyo,sao-paulo

.PHONY: bench-net
bench-net: ## round time, CPU and bytes beside an application that only stores (SIZES=4,20 REPEAT=3 FLOOD=1 REVEAL=1 HIDDEN=128 ROUNDS=20; ALONE=1: without the other; WAN=1: in five zones, ZONES=a,b)
	$(GO) test -tags e2e -timeout 60m -run '^$$' -bench Round -benchtime 1x ./testnet/e2e -sizes $(or $(SIZES),4,20) -repeat $(or $(REPEAT),3) $(if $(FLOOD),-flood) $(if $(REVEAL),-reveal) $(if $(ALONE),-alone) -hidden $(or $(HIDDEN),0) -rounds $(or $(ROUNDS),0) -zones "$(or $(ZONES),$(if $(WAN),$(WAN_ZONES)))"

.PHONY: bench-scale
bench-scale: ## the powers with which time, CPU, bytes, memory and disk grow in N, d and rounds (KEEP=1: make the small form the last figures)
	$(GO) test -tags e2e -count 1 -v -timeout 30m $(if $(KEEP),-run Growth ./testnet/e2e -keep,-run '^$$' -bench Growth -benchtime 1x ./testnet/e2e)

.PHONY: figures
figures: build ## every figure of the paper and ours into build/figures, with report.html (QUICK=1: 2 minutes; SEEDS=3)
	$(LAB) experiment all --out $(BUILD)/figures$(if $(QUICK),-quick --quick) --seeds $(or $(SEEDS),$(if $(QUICK),1,3))
	$(LAB) report $(BUILD)/figures$(if $(QUICK),-quick)

.PHONY: canaries
canaries: ## advantage of an attack on a person with 1, 5 and 20 rows, by unit of privacy (QUICK=1: 1 minute; SEEDS=3)
	$(GO) test ./privacy -run '^$$' -bench Copies -benchtime 1x -timeout 2h -trials $(if $(QUICK),30,200) -samples $(if $(QUICK),100,600) -seeds $(or $(SEEDS),$(if $(QUICK),1,3))

.PHONY: tables
tables: ## recognised tables from Debian's packages: AUC, accuracy and calibration beside four references
	testnet/experiment/tables/fetch $(BUILD)/tables
	$(GO) run ./testnet/experiment/tables $(BUILD)/tables | tee $(BUILD)/tables/spdl.csv
	/usr/bin/python3 testnet/experiment/tables/reference.py $(BUILD)/tables testnet/experiment/tables | tee $(BUILD)/tables/references.csv

.PHONY: docs
docs: ## manual pages and completions for shells into build/docs
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run -ldflags '$(LDFLAGS)' ./cmd/internal/manual $(BUILD)/docs

.PHONY: notices
notices: ## NOTICES.md, third parties' licences, and build/NOTICES.txt with their words
	$(GO) run ./cmd/internal/notices NOTICES.md $(BUILD)/NOTICES.txt

.PHONY: release
release: verify-page docs notices ## archives, the page that verifies models, SBOMs and the Python wheel into build/release (SIGN=KEY signs SHA256SUMS; ARCH="amd64 arm64 darwin/amd64 darwin/arm64"; without a system: Linux)
	@SIGN='$(SIGN)' .ci/release $(VERSION) $(or $(ARCH),amd64 arm64 darwin/amd64 darwin/arm64)

.PHONY: reproducible
reproducible: ## build the last commit twice, in two folders and with two caches, and compare
	@.ci/reproducible

.PHONY: vuln
vuln: ## known faults in modules that the programs reach (govulncheck); says so where its database cannot be reached
	@.ci/vuln

.PHONY: unit
unit: build ## docs/spdl.service is valid, its exposure by systemd-analyze has a bound, and its node trains under systemd
	@.ci/unit
	@.ci/unit-run

.PHONY: proto
proto: ## generate the .pb.go files
	@.ci/proto

.PHONY: clean
clean: ## remove build/
	rm -rf $(BUILD)
