# The targets that people run have a ## comment; `make help` lists them.

GO ?= go
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
GREMLINS_VERSION := v0.6.0
CYCLONEDX_VERSION := v1.10.0
APIDIFF_VERSION := v0.0.0-20261113113407-e3970619a1a4
MODULE := github.com/belfry-go/belfry
# Beside the build cache, so that each clone finds it; by Go's version, since a linter cannot
# read the code of a newer Go than built it.
LINT_DIR = $(shell dirname "$$($(GO) env GOCACHE)")/belfry-tools/golangci-lint-$(GOLANGCI_LINT_VERSION)-$(shell $(GO) env GOVERSION)
LINT_MODULES := . bench bench/riversqlite docs/code/transactions examples/http-service notify/channel/ses storage/pgx survey/subscriber/watermill survey/surveyhttp/browsertest

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Compilers and tests collect their garbage more rarely: a fifth less of a processor's time, for a
# gigabyte of memory at most. Benchmarks and drills are left as they are.
demo console check race test test-%: export GOGC ?= 400

# Random tests have one seed before a change lands, and others at night.
check test test-%: export RAPID_SEED ?= 1

# Every step runs, so that one run shows all that is wrong, and says how long it took.
steps = failed=; for step in $(1); do \
	echo "== make $$step"; begun=$$(date +%s); $(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	echo "== make $$step took $$(($$(date +%s) - begun)) s"; done; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed"; exit 1; fi

.PHONY: demo
demo: ## a school reminds its people: the main job, crash included
	$(DEMO)

.PHONY: console
console: ## the demo's database in a browser: who got what, and why
	$(DEMO) -console localhost:8080

# SQLite is compiled without optimisation: 4 s of a processor instead of 34. Where there is no C
# compiler Go takes the SQLite in Go by itself.
DEMO := CGO_CFLAGS=-O0 $(GO) run ./internal/demo

.PHONY: setup
setup:
	@./scripts/setup-test.sh

# One PostgreSQL for all packages of a run; by its import path, for modules below this one too.
WITH_CLUSTER := $(GO) run github.com/belfry-go/belfry/internal/pgtest/run --

.PHONY: test
test: setup ## the quick tests, in about two minutes; installs PostgreSQL and PgBouncer where they are missing and it may
	BELFRY_TEST=quick $(WITH_CLUSTER) $(GO) test -timeout 20m ./...

.PHONY: check
check: setup setup-browser ## all that a change has to pass, in about ten minutes: the tests, the modules, the browser, the linter
	@$(WITH_CLUSTER) $(MAKE) --no-print-directory check-steps

.PHONY: check-steps
check-steps:
	@$(call steps,fmt-check lint test-check test-nocgo test-pgx test-modules test-browser)

.PHONY: nightly
nightly: setup setup-browser ## what is long, random, timed, or counts what a server does: before a release, and before work on a part is called done
	@$(WITH_CLUSTER) $(MAKE) --no-print-directory nightly-steps

.PHONY: nightly-steps
nightly-steps:
	@$(call steps,nightly-main nightly-nocgo nightly-pgx nightly-modules race drill drill-ha test-versions vulncheck)

.PHONY: test-check
test-check:
	BELFRY_TEST=check $(GO) test -timeout 30m ./...

.PHONY: test-nocgo
test-nocgo: ## SQLite without cgo: its adapter's tests and the stories of each domain
	CGO_ENABLED=0 BELFRY_TEST=check $(GO) test -timeout 30m ./storage/sqlite
	CGO_ENABLED=0 BELFRY_TEST=check $(GO) test -timeout 30m -run '/sqlite' ./internal/storytest

.PHONY: test-pgx
test-pgx: ## the adapter for pgx, and the stories of each domain on it
	cd storage/pgx && BELFRY_TEST=check $(GO) test -timeout 30m ./...

# Modules beside the main one, but for the browser's and the benchmarks; the linter compiles all.
MODULES := docs/code/transactions examples/http-service notify/channel/ses survey/subscriber/watermill

.PHONY: test-modules
test-modules: ## the examples, channels and subscribers that are modules of their own
	@set -e; for dir in $(MODULES); do (cd $$dir && BELFRY_TEST=check $(GO) test -timeout 30m ./...); done

.PHONY: test-browser
test-browser: setup-browser ## the survey form, preferences, inbox and console in a real browser; installs Chromium where it is missing and it may
	cd survey/surveyhttp/browsertest && BELFRY_TEST=check $(GO) test -timeout 30m ./...

.PHONY: nightly-main
nightly-main:
	BELFRY_TEST=nightly $(GO) test -count 1 -timeout 3h ./...

.PHONY: nightly-nocgo
nightly-nocgo:
	CGO_ENABLED=0 BELFRY_TEST=nightly $(GO) test -count 1 -timeout 1h ./storage/sqlite
	CGO_ENABLED=0 BELFRY_TEST=nightly $(GO) test -count 1 -timeout 1h -run '/sqlite' ./internal/chaostest
	CGO_ENABLED=0 BELFRY_TEST=quick $(GO) test -timeout 20m ./examples/hello ./examples/front

.PHONY: nightly-pgx
nightly-pgx:
	cd storage/pgx && BELFRY_TEST=nightly $(GO) test -count 1 -timeout 2h ./...

.PHONY: nightly-modules
nightly-modules:
	@set -e; for dir in $(MODULES) bench bench/riversqlite; do (cd $$dir && BELFRY_TEST=nightly $(GO) test -count 1 -timeout 1h ./...); done

.PHONY: race
race: ## the tests of check under the race detector, in random order
	BELFRY_TEST=check $(WITH_CLUSTER) $(GO) test -race -shuffle on -timeout 1h ./...

.PHONY: bench
bench: setup ## all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./...

# The program runs in bench/; where it writes is said from here.
.PHONY: bench-peers
bench-peers: setup ## Belfry beside its peers, about 20 minutes; bench/README.md has the rules and BENCH_QUICK=1
	cd bench && BENCH_JSON="$(abspath $(BENCH_JSON))" $(GO) run .

.PHONY: drill
drill: setup ## bad days on SQLite and PostgreSQL, up to 25 minutes; DAYS=hang,flood plays some, DRILL_FULL=1 the longest too
	$(GO) run ./internal/drill -only "$(DAYS)"

.PHONY: drill-ha
drill-ha: ## fail-overs on Patroni, etcd, HAProxy and PgBouncer, half an hour; ROUNDS=1 is shorter
	@./scripts/setup-test.sh ha
	$(GO) run ./internal/drill/ha -rounds $(or $(ROUNDS),3)

.PHONY: test-dsn
test-dsn: ## what holds on a cluster of yours: conformance, stories, killed workers, a benchmark: DSN=postgres://…
	@$(GO) run ./internal/drill/dsn -dsn "$(or $(DSN),$(error DSN= which cluster?))"

.PHONY: test-versions
test-versions: setup ## every claimed version of PostgreSQL, by lib/pq and by pgx, about an hour; LEVEL=quick is ten minutes
	scripts/test-versions.sh

.PHONY: setup-browser
setup-browser:
	@./scripts/setup-browser.sh

.PHONY: lint
lint: ## golangci-lint on each module; built from source where this machine has no such version yet
	@dir="$(LINT_DIR)"; lint="$$dir/golangci-lint"; \
	[ -x "$$lint" ] || GOBIN="$$dir" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) || exit 1; \
	failed=; for module in $(LINT_MODULES); do \
		(cd $$module && "$$lint" run --allow-serial-runners ./...) || failed="$$failed $$module"; done; \
	if [ -n "$$failed" ]; then echo "The linter found something in:$$failed"; exit 1; fi

.PHONY: fmt
fmt: ## format all Go files
	gofmt -s -w .

.PHONY: fmt-check
fmt-check: ## fail where fmt would change a file
	@changed=$$(gofmt -s -l .) && if [ -n "$$changed" ]; then \
		echo "Not formatted (make fmt does it):"; echo "$$changed"; exit 1; fi

.PHONY: vulncheck
vulncheck: ## known weaknesses of the dependencies; VULNDB=file:///… names a copy of the database
	@said=$$($(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) $(if $(VULNDB),-db $(VULNDB)) ./... 2>&1) && echo "$$said" || { \
		case "$$said" in *"fetching vulnerabilities"*) echo "NOT CHECKED: no way to vuln.go.dev, and no VULNDB." ;; \
		*) echo "$$said"; exit 1 ;; esac; }

APIDIFF := $(GO) run golang.org/x/exp/cmd/apidiff@$(APIDIFF_VERSION) -m

.PHONY: api-since
api-since: ## how the exported API changed since a commit or a tag: REV=HEAD~20
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; mkdir "$$dir/then"; \
	git archive -o "$$dir/then.tar" "$(or $(REV),$(error REV= which commit?))"; tar -x -f "$$dir/then.tar" -C "$$dir/then"; \
	(cd "$$dir/then" && $(APIDIFF) -w ../then.api $(MODULE)); $(APIDIFF) -w "$$dir/now.api" $(MODULE); \
	$(APIDIFF) "$$dir/then.api" "$$dir/now.api" > "$$dir/said"; \
	grep -v '^Ignoring internal' "$$dir/said" || echo "The exported API is that of $(REV)."

.PHONY: sbom
sbom: ## write belfry-sbom.json: every module that the packages need, with its licence, in CycloneDX
	$(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION) mod -type library -licenses -json -output belfry-sbom.json

.PHONY: mutate
mutate: ## change the code of a package in many ways, one at a time, and list what its tests do not notice: PKG=./keys
	$(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@$(GREMLINS_VERSION) unleash --workers 1 --timeout-coefficient 30 $(PKG)
