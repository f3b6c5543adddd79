# The targets that people run have a ## comment; `make help` lists them.

GO ?= go
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
CYCLONEDX_VERSION := v1.10.0
LINT_DIR := $(CURDIR)/.tools/golangci-lint-$(GOLANGCI_LINT_VERSION)
LINT := $(LINT_DIR)/golangci-lint

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Compilers and tests collect their garbage more rarely: a fifth less of a processor's time, for a
# gigabyte of memory at most.
demo console test check test-all test-full test-nocgo test-pgx test-examples test-ses test-watermill test-browser race: export GOGC ?= 400

.PHONY: demo
demo: ## a school reminds its people: the main job, crash included
	$(DEMO)

.PHONY: console
console: ## the demo's database in a browser: who got what, and why
	$(DEMO) -console localhost:8080

# SQLite is compiled without optimisation: 4 s of a processor instead of 34. Where there is no C
# compiler Go takes the SQLite in Go by itself.
DEMO := CGO_CFLAGS=-O0 $(GO) run ./examples/certificate-expiry

.PHONY: setup
setup:
	@./scripts/setup-test.sh

.PHONY: test
test: setup ## the quick tests, in about three minutes; installs PostgreSQL and PgBouncer where they are missing and it may
	BELFRY_TEST=quick $(GO) test -timeout 20m ./...

.PHONY: check
check: ## all that a change has to pass: every test on every adapter, the modules, the browser, the linter
	@failed=; for step in fmt-check api-check lint test-all test-nocgo test-pgx test-bench test-examples test-ses test-watermill test-browser vulncheck; do \
		echo "== make $$step"; begun=$$(date +%s); $(MAKE) $$step || failed="$$failed $$step"; \
		echo "== make $$step took $$(($$(date +%s) - begun)) s"; done; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed"; exit 1; fi

# They begin first, so that none of them runs alone in the end.
LONGEST := ./internal/faults ./storage/postgres ./internal/chaostest ./automation ./notify ./survey .

.PHONY: test-all
test-all: setup ## all tests of the main module, on every adapter
	BELFRY_TEST=all $(GO) test -timeout 60m $(LONGEST) ./...

.PHONY: test-full
test-full: setup ## all tests at full length, for the night and before a release: guards at a million rows, long chaos
	BELFRY_TEST=full $(GO) test -count 1 -timeout 60m ./...
	cd bench && BELFRY_TEST=full $(GO) test -count 1 -timeout 30m ./hostpool
	cd storage/pgx && BELFRY_TEST=full $(GO) test -count 1 -timeout 60m ./...
	cd notify/channel/ses && BELFRY_TEST=full $(GO) test -count 1 -timeout 30m ./...
	CGO_ENABLED=0 BELFRY_TEST=full $(GO) test -count 1 -timeout 60m -run '/sqlite' ./internal/chaostest

.PHONY: race
race: setup ## all tests under the race detector, in random order
	BELFRY_TEST=all $(GO) test -race -shuffle on -timeout 30m ./...

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

.PHONY: test-bench
test-bench: setup ## all tests of the comparison with the peers
	cd bench && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...
	cd bench/riversqlite && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...

.PHONY: test-examples
test-examples: setup ## all tests of the examples that are modules of their own
	cd examples/compose && $(GO) vet ./... && $(GO) test -timeout 10m ./...
	cd examples/http-service && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...
	cd examples/transactions && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...

.PHONY: test-nocgo
test-nocgo: ## SQLite without cgo: its adapter's tests, stories of each domain, killed processes, examples, a static program
	CGO_ENABLED=0 BELFRY_TEST=all $(GO) test -timeout 20m ./storage/sqlite
	CGO_ENABLED=0 BELFRY_TEST=quick $(GO) test -timeout 20m -run '/sqlite' ./internal/storytest
	CGO_ENABLED=0 BELFRY_TEST=all $(GO) test -timeout 20m -run '/sqlite' ./internal/chaostest
	CGO_ENABLED=0 BELFRY_TEST=quick $(GO) test -timeout 20m ./examples/hello ./examples/invoices

.PHONY: test-pgx
test-pgx: setup ## all tests of the adapter for pgx, and the domains' tests on it
	cd storage/pgx && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 40m ./...

.PHONY: test-versions
test-versions: setup ## every claimed version of PostgreSQL, by lib/pq and by pgx, about an hour; LEVEL=quick is ten minutes
	scripts/test-versions.sh

.PHONY: test-ses
test-ses: setup ## all tests of the channel to Amazon SES
	cd notify/channel/ses && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...

.PHONY: test-watermill
test-watermill: ## all tests of the Watermill subscriber, with a broker in their process
	cd survey/subscriber/watermill && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...

.PHONY: setup-browser
setup-browser:
	@./scripts/setup-browser.sh

.PHONY: test-browser
test-browser: setup-browser ## the survey form, preferences, inbox and console in a real browser; installs Chromium where it is missing and it may
	cd survey/surveyhttp/browsertest && $(GO) vet ./... && BELFRY_TEST=all $(GO) test -timeout 20m ./...

.PHONY: lint
lint: $(LINT) ## golangci-lint, which also holds who may import whom
	$(LINT) run ./...
	cd bench && $(LINT) run ./...
	cd bench/riversqlite && $(LINT) run ./...
	cd examples/compose && $(LINT) run ./...
	cd examples/http-service && $(LINT) run ./...
	cd examples/transactions && $(LINT) run ./...
	cd notify/channel/ses && $(LINT) run ./...
	cd storage/pgx && $(LINT) run ./...
	cd survey/subscriber/watermill && $(LINT) run ./...
	cd survey/surveyhttp/browsertest && $(LINT) run ./...

# Built from source at one version, so that everybody sees the same findings.
$(LINT):
	GOBIN=$(LINT_DIR) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

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

.PHONY: api
api: ## write the exported API to docs/api.txt
	@$(GO) run ./internal/apilist > docs/api.txt.new && mv docs/api.txt.new docs/api.txt || { rm -f docs/api.txt.new; exit 1; }

.PHONY: api-check
api-check: ## fail where docs/api.txt is not the exported API
	@listing=$$($(GO) run ./internal/apilist) && if ! printf '%s\n' "$$listing" | diff -u docs/api.txt -; then \
		echo "The exported API changed. If that is meant, run: make api"; exit 1; fi

.PHONY: migrations
migrations: ## write the checksums of all migrations to storage/migrations.txt
	@$(GO) test ./internal/repotest -run TestMigrationsAreThoseOfTheRegister -update

.PHONY: api-since
api-since: ## which exported names are gone or changed since a tag: TAG=v0.1.0
	@git show "$(TAG):docs/api.txt" | diff - docs/api.txt | grep '^<' || echo "Nothing is gone or changed since $(TAG)."

.PHONY: sbom
sbom: ## write belfry-sbom.json: every module that the packages need, with its licence, in CycloneDX
	$(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION) mod -type library -licenses -json -output belfry-sbom.json
