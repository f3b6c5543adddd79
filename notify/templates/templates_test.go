package templates_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// desk is a program whose tenants write the templates of "visit".
type desk struct {
	*templates.Table
	out   *notify.Notifier
	store storage.Store
	clk   *clock.Mock
	t     testing.TB

	mu   sync.Mutex
	sent []channel.Message
}

func newDesk(t testing.TB, store storage.Store, clk *clock.Mock, more ...templates.Source) *desk {
	d := &desk{Table: templates.NewTable(store), store: store, clk: clk, t: t}
	d.out = notify.New(store, nil, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sent = append(d.sent, m)
		return channel.Receipt{}, nil
	}))
	d.out.Register(notify.Type{Name: "visit", Renderer: templates.From(append([]templates.Source{d.Table}, more...)...)})
	return d
}

// desks runs a test on every adapter; what the table has not, a folder has.
func desks(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	t.Parallel()
	shipped, err := templates.Read(fstest.MapFS{
		"visit/subject.en.tmpl": {Data: []byte("folder {{.Source}}\n")}, "visit/text.en.tmpl": {Data: []byte("Dear {{.Recipient.Name}}")},
	}, "en")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		test(t, newDesk(t, store, clk, shipped))
	})
}

// inMemory is a desk for what does not depend on the adapter, without the folder.
func inMemory(t *testing.T) *desk {
	t.Helper()
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	return newDesk(t, memory.New(&memory.Options{Clock: clk}), clk)
}

func (d *desk) same(what string, want, got any) {
	d.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var support = notify.By{Actor: "kim", Reason: "friendlier words"}

func second[T any](_ T, err error) error { return err }

// visit is a job in a scope for somebody with a locale.
func visit(scope storage.Scope, locale string) notify.Job {
	return notify.Job{Scope: scope, Type: "visit", PartitionKey: "car-7", RowKey: "visit-7", EventData: json.RawMessage(`{"Source":"7"}`),
		Recipients: []notify.Recipient{{Ref: "sam", Channel: "email:test", Address: "sam@example.com", Name: "sam", Locale: locale}}}
}

func setOf(subject string) templates.Set {
	return templates.Set{Default: "en", Locales: map[string]notify.Template{
		"en": {Subject: subject + " {{.Source}}", Text: "Dear {{.Recipient.Name}}"}, "pt": {Subject: subject + " pt {{.Source}}"}}}
}

func (d *desk) put(scope storage.Scope, set templates.Set) string {
	d.t.Helper()
	version, err := d.Put(d.t.Context(), scope, "visit", set, support)
	if err != nil {
		d.t.Fatal(err)
	}
	return version
}

// said renders a visit in a scope as "subject version locale".
func (d *desk) said(scope storage.Scope, locale string) string {
	d.t.Helper()
	j := visit(scope, locale)
	c, err := d.out.Preview(d.t.Context(), j, j.Recipients[0])
	if err != nil {
		return err.Error()
	}
	return c.Subject + " " + c.Version + " " + c.Locale
}

func TestTemplatesAreOfATenantALocaleAndAVersion(t *testing.T) {
	desks(t, func(t *testing.T, d *desk) {
		if got := d.said("tenant", "en"); !strings.HasPrefix(got, "folder 7 ") || len(strings.Fields(got)[2]) != 12 {
			t.Error(got)
		}
		d.same("first", "1", d.put("tenant", setOf("one")))
		d.same("again", "1", d.put("tenant", setOf("one")))
		d.same("second", "2", d.put("tenant", setOf("two")))
		d.same("tenant", "two 7 2 en", d.said("tenant", "xx"))
		d.same("locale", "two pt 7 2 pt", d.said("tenant", "pt-BR"))
		if got := d.said("other", "en"); !strings.HasPrefix(got, "folder") {
			t.Error("another tenant has", got)
		}
		if err := d.Withdraw(t.Context(), "tenant", "visit", "2", support); err != nil {
			t.Fatal(err)
		}
		d.same("withdrawn", "one 7 1 en", d.said("tenant", "en"))
		d.same("third", "3", d.put("tenant", setOf("two"))) // a version is never used again
		all, err := d.Versions(t.Context(), "tenant", "visit")
		if err != nil {
			t.Fatal(err)
		}
		now := d.clk.Now()
		d.same("versions", []templates.Version{{"3", now, false}, {"2", now, true}, {"1", now, false}}, all)
		set, err := d.At(t.Context(), "tenant", "visit", "2")
		if err != nil || set.Version != "2" || set.Locales["en"].Subject != "two {{.Source}}" {
			t.Error(set, err)
		}
		for _, err := range []error{
			second(d.At(t.Context(), "other", "visit", "1")), second(d.At(t.Context(), "tenant", "visit", "01")),
			second(d.At(t.Context(), "tenant", "visi", "1")), d.Withdraw(t.Context(), "tenant", "visit", "9", support),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Error(err)
			}
		}
		if err := d.Withdraw(t.Context(), "tenant", "visit", "2", support); !errors.Is(err, notify.ErrActionRefused) {
			t.Error(err)
		}
	})
}

func TestTheVersionIsOnTheMessage(t *testing.T) {
	desks(t, func(t *testing.T, d *desk) {
		d.put("tenant", setOf("one"))
		if _, err := d.out.Notify(t.Context(), visit("tenant", "en")); err != nil {
			t.Fatal(err)
		}
		if err := belfry.NewPoller(d.store, nil, d.out).Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		sent, _, err := d.out.Support().AllMessages(t.Context(), "tenant", storage.Page{})
		if err != nil || len(sent) != 1 || len(d.sent) != 1 {
			t.Fatal(sent, d.sent, err)
		}
		d.same("version", "1", sent[0].Content.Version)
	})
}

// Another process keeps what it has read for five seconds.
func TestAChangeOfTemplatesIsSeenByEveryProcess(t *testing.T) {
	d := inMemory(t)
	other := templates.NewTable(d.store)
	read := func() string {
		set, err := other.Templates(d.t.Context(), "tenant", "visit")
		if err != nil {
			d.t.Fatal(err)
		}
		return set.Version
	}
	d.put("tenant", setOf("one"))
	d.same("first", "1", read())
	d.put("tenant", setOf("two"))
	d.same("at once", "1", read())
	d.clk.Add(5 * time.Second)
	d.same("later", "2", read())
}

func TestRacingTemplatesAreVersionsOfTheirOwn(t *testing.T) {
	desks(t, func(t *testing.T, d *desk) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]bool{}
		for i := range 6 {
			wg.Go(func() {
				version, err := d.Put(t.Context(), "tenant", "visit", setOf(string(rune('a'+i))), support)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || got[version] {
					t.Error(version, err)
				}
				got[version] = true
			})
		}
		wg.Wait()
		d.same("versions", 6, len(got))
	})
}

func TestTemplatesThatCannotBeAreRefused(t *testing.T) {
	d := inMemory(t)
	en := notify.Template{Subject: "a"}
	for want, set := range map[string]templates.Set{
		"en has no template": {Default: "en", Locales: map[string]notify.Template{"de": en}},
		`locale "":`:         {Locales: map[string]notify.Template{"en": en}},
		`locale "not one":`:  {Default: "en", Locales: map[string]notify.Template{"en": en, "not one": en}},
		"two spellings":      {Default: "en", Locales: map[string]notify.Template{"en": en, "EN": en}},
		"missing value":      {Default: "en", Locales: map[string]notify.Template{"en": {Subject: "{{if}}"}}},
		"asks for too much":  {Default: "en", Locales: map[string]notify.Template{"en": {Text: strings.Repeat("x", 300<<10)}}},
		"more than 524288":   {Default: "en", Locales: map[string]notify.Template{"en": {Text: strings.Repeat("x", 200<<10)}, "de": {Text: strings.Repeat("x", 200<<10)}, "fr": {Text: strings.Repeat("x", 200<<10)}}},
	} {
		if _, err := d.Put(d.t.Context(), "tenant", "visit", set, support); err == nil || !strings.Contains(err.Error(), want) {
			d.t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := d.Put(d.t.Context(), "tenant", "visit", setOf("a"), notify.By{}); err == nil {
		d.t.Error("nobody did it")
	}
	d.same("rows", 0, d.rows())
}

type failingSource struct{}

func (failingSource) Templates(context.Context, storage.Scope, string) (templates.Set, error) {
	return templates.Set{}, errors.New("not there")
}

func TestASourceThatFailsIsNotPassedOver(t *testing.T) {
	d := inMemory(t)
	for want, sources := range map[string][]templates.Source{"not there": {failingSource{}, d.Table}, "no source": {d.Table}} {
		if _, err := templates.From(sources...).Render(d.t.Context(), visit("tenant", "en"), notify.Recipient{}); err == nil || !strings.Contains(err.Error(), want) {
			d.t.Error(want, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil source is not refused")
		}
	}()
	templates.From(nil)
}

// rows counts the versions of all types and tenants.
func (d *desk) rows() (n int) {
	d.t.Helper()
	err := d.store.InTx(d.t.Context(), func(tx storage.Tx) (err error) {
		n, err = tx.Count(d.t.Context(), templates.Schemas()[0], driver.Everywhere(), nil, 10_000)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

var errChanged = errors.New("changed its mind")

// What is put in a host's transaction goes with it.
func TestTemplatesBelongToTheTransaction(t *testing.T) {
	desks(t, func(t *testing.T, d *desk) {
		put := func(ends error) {
			err := d.store.InTx(t.Context(), func(tx storage.Tx) error {
				bound := d.WithTx(tx)
				if _, err := bound.Put(t.Context(), "tenant", "visit", setOf("one"), support); err != nil {
					return err
				}
				set, err := bound.Templates(t.Context(), "tenant", "visit")
				if err != nil || set.Version != "1" {
					t.Error(set, err)
				}
				return ends
			})
			if !errors.Is(err, ends) {
				t.Fatal(err)
			}
		}
		put(errChanged)
		d.same("rolled back", 0, d.rows())
		put(nil)
		d.same("committed", 1, d.rows())
	})
}

// A language that is written in two ways is one, and a text in one script is not for
// readers of another.
func TestAReaderGetsTheirLanguageInTheirScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ locales, reader, want string }{
		{"en zh-Hans zh-Hant", "zh-CN", "zh-Hans"},
		{"en zh-Hans zh-Hant", "zh", "zh-Hans"},
		{"en zh-Hans zh-Hant", "zh-TW", "zh-Hant"},
		{"en zh-Hans zh-Hant", "zh-HK", "zh-Hant"},
		{"en zh-CN zh-TW", "zh-Hant", "zh-TW"},
		{"en zh", "zh-Hans-SG", "zh"},
		{"en zh", "zh-Hant", "en"},
		{"en zh", "zh-TW", "en"},
		{"en sr-Cyrl", "sr-RS", "sr-Cyrl"},
		{"en sr", "sr-Latn", "en"},
		{"en sr-Latn", "sr-Latn-RS", "sr-Latn"},
		{"en sr-Latn", "sr", "en"},
		{"en hr", "sr-Latn", "en"},
		{"en pt-BR", "pt", "pt-BR"},
		{"en pt-BR pt-PT", "pt-AO", "pt-PT"},
		{"en nb", "no", "nb"},
		{"en he", "iw", "he"},
		{"de en-GB en-US", "en-AU", "en-GB"},
		{"en de", "fr", "en"},
		{"en de", "not a tag", "en"},
	} {
		locales := strings.Fields(c.locales)
		set := templates.Set{Default: locales[0], Locales: map[string]notify.Template{}}
		for _, l := range locales {
			set.Locales[l] = notify.Template{Subject: l}
		}
		got, err := set.Render(t.Context(), notify.Job{}, notify.Recipient{Locale: c.reader})
		if err != nil || got.Subject != c.want {
			t.Errorf("%s of %s: %q, %v, want %q", c.reader, c.locales, got.Subject, err, c.want)
		}
	}
}
