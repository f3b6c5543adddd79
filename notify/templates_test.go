package notify_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func setOf(subject string) notify.TemplateSet {
	return notify.TemplateSet{Default: "en", Locales: map[string]notify.Template{
		"en": {Subject: subject + " {{.Source}}", Text: "Dear {{.Recipient.Name}}"}, "pt": {Subject: subject + " pt {{.Source}}"}}}
}

func (h *host) put(scope notify.Scope, set notify.TemplateSet) string {
	h.t.Helper()
	version, err := h.Templates().Put(h.t.Context(), scope, "visit", set, support)
	if err != nil {
		h.t.Fatal(err)
	}
	return version
}

// said renders a visit in a scope as "subject version locale".
func (h *host) said(scope notify.Scope, locale string) string {
	h.t.Helper()
	j, sam := visit("7"), person("sam")
	j.Scope, sam.Locale = scope, locale
	c, err := h.Preview(h.t.Context(), j, sam)
	if err != nil {
		return err.Error()
	}
	return c.Subject + " " + c.Version + " " + c.Locale
}

// sourced is a host whose templates come from its table, then from a folder.
func sourced(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	folder, err := notify.ReadTemplates(fstest.MapFS{
		"visit/subject.en.tmpl": {Data: []byte("folder {{.Source}}\n")}, "visit/text.en.tmpl": {Data: []byte("Dear {{.Recipient.Name}}")},
	}, "en")
	if err != nil {
		t.Fatal(err)
	}
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: notify.FromSources(h.Templates(), folder)})
		test(t, h)
	})
}

func TestTemplatesAreOfATenantALocaleAndAVersion(t *testing.T) {
	sourced(t, func(t *testing.T, h *host) {
		if got := h.said("tenant", "en"); !strings.HasPrefix(got, "folder 7 ") || len(strings.Fields(got)[2]) != 12 {
			t.Error(got)
		}
		h.same("first", "1", h.put("tenant", setOf("one")))
		h.same("again", "1", h.put("tenant", setOf("one")))
		h.same("second", "2", h.put("tenant", setOf("two")))
		h.same("tenant", "two 7 2 en", h.said("tenant", "xx"))
		h.same("locale", "two pt 7 2 pt", h.said("tenant", "pt-BR"))
		if got := h.said("other", "en"); !strings.HasPrefix(got, "folder") {
			t.Error("another tenant has", got)
		}
		if err := h.Templates().Withdraw(t.Context(), "tenant", "visit", "2", support); err != nil {
			t.Fatal(err)
		}
		h.same("withdrawn", "one 7 1 en", h.said("tenant", "en"))
		h.same("third", "3", h.put("tenant", setOf("two"))) // a version is never used again
		all, err := h.Templates().Versions(t.Context(), "tenant", "visit")
		if err != nil {
			t.Fatal(err)
		}
		now := h.clk.Now()
		h.same("versions", []notify.TemplateVersion{{"3", now, false}, {"2", now, true}, {"1", now, false}}, all)
		set, err := h.Templates().At(t.Context(), "tenant", "visit", "2")
		if err != nil || set.Version != "2" || set.Locales["en"].Subject != "two {{.Source}}" {
			t.Error(set, err)
		}
		for _, err := range []error{
			second(h.Templates().At(t.Context(), "other", "visit", "1")), second(h.Templates().At(t.Context(), "tenant", "visit", "01")),
			second(h.Templates().At(t.Context(), "tenant", "visi", "1")), h.Templates().Withdraw(t.Context(), "tenant", "visit", "9", support),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Error(err)
			}
		}
		if err := h.Templates().Withdraw(t.Context(), "tenant", "visit", "2", support); !errors.Is(err, notify.ErrActionRefused) {
			t.Error(err)
		}
	})
}

func TestTheVersionIsOnTheMessage(t *testing.T) {
	sourced(t, func(t *testing.T, h *host) {
		h.put("tenant", setOf("one"))
		h.dispatch(visit("7", person("sam")))
		h.drain()
		h.same("version", "1", h.status(notify.StatusSentToProvider).Content.Version)
	})
}

// Another process keeps what it has read for five seconds.
func TestAChangeOfTemplatesIsSeenByEveryProcess(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		other := notify.New(h.store, &notify.Options{Logger: quiet})
		read := func() string {
			set, err := other.Templates().Templates(h.t.Context(), "tenant", "visit")
			if err != nil {
				h.t.Fatal(err)
			}
			return set.Version
		}
		h.put("tenant", setOf("one"))
		h.same("first", "1", read())
		h.put("tenant", setOf("two"))
		h.same("at once", "1", read())
		h.clk.Add(5 * time.Second)
		h.same("later", "2", read())
	})
}

func TestRacingTemplatesAreVersionsOfTheirOwn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]bool{}
		for i := range 6 {
			wg.Go(func() {
				version, err := h.Templates().Put(t.Context(), "tenant", "visit", setOf(string(rune('a'+i))), support)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || got[version] {
					t.Error(version, err)
				}
				got[version] = true
			})
		}
		wg.Wait()
		h.same("versions", 6, len(got))
	})
}

func TestTemplatesThatCannotBeAreRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		en := notify.Template{Subject: "a"}
		for want, set := range map[string]notify.TemplateSet{
			"for everybody else": {Default: "en", Locales: map[string]notify.Template{"de": en}},
			`locale "":`:         {Locales: map[string]notify.Template{"en": en}},
			`locale "not one":`:  {Default: "en", Locales: map[string]notify.Template{"en": en, "not one": en}},
			"two spellings":      {Default: "en", Locales: map[string]notify.Template{"en": en, "EN": en}},
			"missing value":      {Default: "en", Locales: map[string]notify.Template{"en": {Subject: "{{if}}"}}},
			"asks for too much":  {Default: "en", Locales: map[string]notify.Template{"en": {Text: strings.Repeat("x", 300<<10)}}},
			"more than 524288":   {Default: "en", Locales: map[string]notify.Template{"en": {Text: strings.Repeat("x", 200<<10)}, "de": {Text: strings.Repeat("x", 200<<10)}, "fr": {Text: strings.Repeat("x", 200<<10)}}},
		} {
			if _, err := h.Templates().Put(h.t.Context(), "tenant", "visit", set, support); err == nil || !strings.Contains(err.Error(), want) {
				h.t.Errorf("%s: %v", want, err)
			}
		}
		if _, err := h.Templates().Put(h.t.Context(), "tenant", "visit", setOf("a"), notify.By{}); err == nil {
			h.t.Error("nobody did it")
		}
		h.same("rows", 0, h.rows("message_template"))
	})
}

type failingSource struct{}

func (failingSource) Templates(context.Context, notify.Scope, string) (notify.TemplateSet, error) {
	return notify.TemplateSet{}, errors.New("not there")
}

func TestASourceThatFailsIsNotPassedOver(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		for want, sources := range map[string][]notify.TemplateSource{"not there": {failingSource{}, h.Templates()}, "no source": {h.Templates()}} {
			if _, err := notify.FromSources(sources...).Render(h.t.Context(), visit("7"), person("sam")); err == nil || !strings.Contains(err.Error(), want) {
				h.t.Error(want, err)
			}
		}
		refused(h.t, "a nil source", func() { notify.FromSources(nil) })
	})
}
