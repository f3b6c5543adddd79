package repotest

import (
	"slices"
	"strings"
	"testing"
)

const library = "github.com/belfry-go/belfry"

// Words that many rows need.
const (
	contract = "storage storage/driver "
	clockAPI = "github.com/benbjohnson/clock "
	otelAPI  = "go.opentelemetry.io/otel "
	pgDriver = "github.com/lib/pq "
	lower    = "health keys reasons internal/... " + contract + clockAPI + otelAPI // what each domain stands on
)

// imports says who may import what beside the standard library. The first row that has the
// package counts. "x/..." is x and all below it; a library is named with all below it.
// database/sql and testing need permission like libraries. Test files may import anything,
// and so may the test packages (see kits), except those that have a row here.
var imports = []struct{ who, may, why string }{
	// Pure functions and contracts.
	{"keys reasons storage/driver storage/postgres/migrations", "", "a host may use them anywhere: standard library only"},
	{"internal/backoff", "storage/driver", "when to try again"},
	{"internal/canonical internal/civil internal/states notify/internal/render internal/strictjson internal/permanent", "", "pure functions on their arguments: standard library only"},
	{"internal/safedial internal/standardwebhooks notify/channel/internal/jws", "", "connections and signatures for any domain: standard library only"},
	{"internal/recur", "internal/civil github.com/adhocore/gronx github.com/teambition/rrule-go", "pure functions: the two libraries of cadences, and civil time"},
	{"internal/filter", "internal/strictjson keys", "pure functions: decimals, and the reading of JSON"},
	{"internal/spelling", "keys github.com/nyaruka/phonenumbers golang.org/x/net/idna golang.org/x/text", "normal forms of addresses, telephone numbers and domains"},
	{"internal/loglimit", clockAPI, "it limits what anyone logs"},
	{"internal/httpapi", "internal/loglimit", "it answers for the handlers of any domain"},
	{"storage", "storage/driver", "what a host holds: no adapter, no domain"},
	{"health", "storage", "what every domain answers with"},

	// Adapters know the contract and their own driver: no domain.
	{"storage/memory", contract + clockAPI + "github.com/tidwall/btree", "it has ordered indexes in memory"},
	{"storage/internal/sqlstore", contract + clockAPI + otelAPI + "database/sql golang.org/x/sync/semaphore", "the SQL of both dialects, for any driver"},
	{"storage/internal/pgserver", "storage/driver storage/internal/sqlstore storage/postgres/migrations database/sql " + clockAPI, "what both adapters for PostgreSQL share: no driver"},
	{"storage/postgres", contract + otelAPI + "storage/internal/... storage/postgres/migrations database/sql " + pgDriver, "PostgreSQL by lib/pq"},
	{"storage/pgx", contract + "storage/internal/... storage/postgres/migrations database/sql github.com/jackc/pgx/v5 github.com/jackc/puddle/v2", "PostgreSQL by pgx and its pool alone; a module of its own"},
	{"storage/sqlite", contract + otelAPI + "storage/internal/sqlstore database/sql github.com/jmoiron/sqlx github.com/mattn/go-sqlite3 modernc.org/sqlite", "SQLite, with cgo and without"},

	// Test packages that hosts or authors of adapters use stand on what these have.
	{"storage/storagetest", contract + clockAPI + "internal/testlevel testing github.com/google/go-cmp pgregory.net/rapid", "it tests any adapter, so it knows only the contract"},
	{"storage/internal/traptest", "internal/faultnet internal/pgtest internal/testlevel storage/driver database/sql testing " + clockAPI + pgDriver, "it tests both adapters for PostgreSQL, so it imports neither"},
	{"survey/surveytest", "notify notify/channel notify/notifytest storage storage/memory survey survey/form testing " + clockAPI, "it stands on the public API, like the tests of a host"},
	{"notify/notifytest notify/channeltest notify/channel/internal/sendtest", "notify notify/channel storage testing " + clockAPI + "github.com/google/go-cmp", "they test any channel"},

	// Domains. automation and survey use notify, support uses all three; none uses an adapter.
	{"notify/channel/internal/mail notify/channel/smtp", "notify/channel notify/channel/internal/mail github.com/wneessen/go-mail", "a library builds mail"},
	{"notify/channel/ses", "notify/channel notify/channel/internal/... github.com/aws/aws-sdk-go-v2/aws", "the signer of requests only; a module of its own"},
	{"notify/channel/...", "notify/channel notify/channel/internal/... internal/... keys", "a channel is one transport: no other channel, not notify itself"},
	{"notify/gate", lower + "notify/channel", "what gates are asked, and those for policies: nothing of what asks them"},
	{"notify", lower + "notify/channel notify/gate notify/internal/... golang.org/x/text", "it delivers for everyone: no other domain, no channel"},
	{"notify/...", lower + "notify notify/channel notify/gate notify/templates golang.org/x/text", "templates and HTTP belong to notify"},
	{"automation/causes automation/cutover automation/dst automation/threshold", "storage internal/audit internal/civil keys", "what candidates and answers consist of: nothing of the scheduler"},
	{"automation/...", lower + "automation automation/causes automation/cutover automation/dst automation/report automation/threshold notify notify/channel notify/gate", "it decides when, and hands over to notify"},
	{"survey/subscriber/watermill", "survey survey/form github.com/ThreeDotsLabs/watermill/message", "the host chooses the broker; a module of its own"},
	{"survey/...", lower + "survey survey/form notify notify/channel notify/gate golang.org/x/text", "of notify it needs Gate and the transport"},
	{"support/...", lower + "golang.org/x/sync/errgroup support automation automation/causes automation/report notify notify/channel survey survey/form", "it reaches a database through the domains only"},
	{"internal/sweep", lower + " golang.org/x/sync/errgroup", "it deletes by the rules of the domains and knows none of them"},
	{"internal/tables", "automation/... notify/... survey internal/... storage/driver", "it lists the tables of all domains"},
	{"tenant", lower + " internal/tables", "it copies rows of any table and knows no domain"},
	{"internal/demo", ". automation automation/causes reasons notify notify/channel notify/channel/file storage storage/sqlite support support/supporthttp github.com/benbjohnson/clock", "a host, as the examples are"},
	{"internal/...", lower, "internal packages serve the domains and know none of them, nor an adapter"},

	// Programs and what drives the domains.
	{".", lower + "golang.org/x/sync", "the Poller drives any service and knows none"},
	{"cli", lower + ". automation/... notify/... support survey tenant", "the program that uses it chooses the database"},
	{"cmd/...", "cli automation notify reasons support survey storage storage/postgres storage/sqlite", "it joins the command line with two adapters"},
	{"examples/... docs/code/...", ". automation/... health keys notify/... reasons support/... survey/... storage/... docs/code/transactions/queries database/sql github.com golang.org go.opentelemetry.io gorm.io", "hosts: the public API, and what a host likes"},
}

// kits are the packages for tests, beside those whose last word ends in "test". They may
// import anything, but only tests and they themselves import them. The library's own
// programs that start a PostgreSQL of their own are among them.
const kits = "internal/testlevel internal/faultnet internal/mutants internal/contender internal/drill internal/drill/dsn internal/drill/ha internal/pgtest/run bench/... survey/surveyhttp/browsertest/..."

func TestImportsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	fits := make([]bool, len(imports))
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		row := slices.IndexFunc(imports, func(r struct{ who, may, why string }) bool { return has(r.who, f.dir) })
		if row < 0 {
			if !isKit(f.dir) {
				t.Errorf("%s: its package has no row: say in imports_test.go what it may import, and why", f.name)
			}
			continue
		}
		fits[row] = true
		if isKit(f.dir) && strings.Contains(imports[row].who, "...") {
			continue // the row is for the packages around it
		}
		for _, i := range f.tree.Imports {
			if what, ours := short(strings.Trim(i.Path.Value, `"`)); !mayImport(imports[row].may, what, ours) {
				t.Errorf("%s: %s may not import %s: %s (the row is %q in imports_test.go)", f.at(i), f.dir, what, imports[row].why, imports[row].who)
			}
		}
	}
	for i, r := range imports {
		if !fits[i] {
			t.Errorf("the row %q fits no package: delete it", r.who)
		}
	}
}

// short is the path of a package below the root, if it is one of ours, else its whole path.
func short(pkg string) (name string, ours bool) {
	if pkg == library {
		return ".", true
	}
	if below, ok := strings.CutPrefix(pkg, library+"/"); ok {
		return below, true
	}
	return pkg, false
}

func mayImport(may, what string, ours bool) bool {
	first, _, _ := strings.Cut(what, "/")
	switch {
	case ours:
		return has(may, what) && (!isKit(what) || slices.Contains(strings.Fields(may), what))
	case what == "database/sql" || first == "testing":
		return slices.Contains(strings.Fields(may), first) || has(may, what)
	case !strings.Contains(first, "."):
		return true // the standard library
	}
	return slices.ContainsFunc(strings.Fields(may), func(word string) bool {
		return what == word || strings.HasPrefix(what, word+"/")
	})
}

// has reports whether one of the words is the package, or has it below its dots.
func has(words, pkg string) bool {
	return slices.ContainsFunc(strings.Fields(words), func(word string) bool {
		above, dots := strings.CutSuffix(word, "/...")
		return word == pkg || dots && (pkg == above || strings.HasPrefix(pkg, above+"/"))
	})
}

func isKit(pkg string) bool {
	return has(kits, pkg) || strings.HasSuffix(pkg, "test") && !strings.HasPrefix(pkg, "examples/")
}
