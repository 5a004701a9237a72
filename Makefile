# Everything a developer does here. `make help` lists it.
GO      ?= go
TOOLS    = $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  = -s -w -X github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/cli.version=$(VERSION)
LAB      = $(GO) run -C test/lab ./cmd/lab
LAB_DIR ?= $(HOME)/.cache/kubevirt-redfish/lab-state
FUZZTIME ?= 20s

.DEFAULT_GOAL = help

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## the program, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/kubevirt-redfish ./cmd/kubevirt-redfish

.PHONY: run
run: build ## build, then serve simulated machines (stop with Ctrl-C)
	bin/kubevirt-redfish serve --simulate $(ARGS)

.PHONY: test
test: ## all fast tests: unit, simulator, conformance
	@test -n "$$REDFISH_SCHEMA_DIR" || echo "REDFISH_SCHEMA_DIR is not set: responses are not checked against DMTF's schemas"
	$(GO) test ./...

.PHONY: test-lab
test-lab: ## the tests on a real Kubernetes and KubeVirt control plane (builds it first: minutes)
	$(LAB) build
	CGO_ENABLED=0 $(GO) test -C test/lab/programs -trimpath ./guest ./reconcile
	$(GO) test -C test/lab -timeout 20m ./...
	LAB=1 $(GO) test -timeout 20m -count=1 -run ^TestLab ./test/e2e

.PHONY: lab
lab: ## start the control plane for a person; prints KUBECONFIG
	@echo "export KUBECONFIG=$$($(LAB) up --state $(LAB_DIR))"

.PHONY: lab-stop
lab-stop: ## stop it
	$(LAB) down --state $(LAB_DIR)

.PHONY: race
race: ## the fast tests under the race detector
	$(GO) test -race ./...

.PHONY: lint
lint: ## static checks of all modules
	$(TOOLS) golangci-lint run ./...
	cd test/lab && $(GO) vet ./...

.PHONY: fmt
fmt: ## format all code
	gofmt -w $$(git ls-files '*.go')

.PHONY: verify
verify: ## what must not change by building: formatting, module files
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) mod tidy -diff
	$(GO) mod verify

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME
	@for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$target/*_test.go | awk '{print $$2}'); do \
			echo "$$target $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzzminimizetime 20x -fuzztime $(FUZZTIME) $$target || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## what it costs: ratios and exact counts
	$(GO) test -run '^$$' -bench . -benchtime 1x ./test/bench

.PHONY: image
image: ## the container image (needs a container engine)
	docker build -f Containerfile --build-arg VERSION=$(VERSION) -t kubevirt-redfish:$(VERSION) .
