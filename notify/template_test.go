package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func render(t *testing.T, tmpl notify.Template, event string) (notify.Content, error) {
	t.Helper()
	return tmpl.Render(t.Context(), notify.Job{EventData: []byte(event)}, notify.Recipient{Name: "O'Neil <sam>", Locale: "de-AT"})
}

func TestTemplatesRenderTheMembersOfEventData(t *testing.T) {
	t.Parallel()
	got, err := render(t, notify.Template{
		Subject: "{{.Source.ID}} on {{.On}}",
		Text:    "Dear {{.Recipient.Name}}, {{.Amount}}",
		HTML:    "<p title=\"{{.On}}\">Dear {{.Recipient.Name}}</p>",
	}, `{"Source":{"ID":"first-aid"},"On":"2026-05-01","Amount":9007199254740993}`)
	want := notify.Content{
		Subject: "first-aid on 2026-05-01",
		Text:    "Dear O'Neil <sam>, 9007199254740993",
		HTML:    "<p title=\"2026-05-01\">Dear O&#39;Neil &lt;sam&gt;</p>",
		Locale:  "de-AT",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What somebody has typed into a form is neither a template nor HTML, nor a script in
// an attribute.
func TestTemplateInjectionIsText(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{`{{.Recipient.Name}}`, `{{range 1000000}}x{{end}}`, `{{template "x"}}`} {
		event, err := json.Marshal(map[string]string{"Typed": typed + `<script>`, "Link": "javascript:alert(1)"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := render(t, notify.Template{Subject: "{{.Typed}}", Text: "{{.Typed}}", HTML: `<p>{{.Typed}}</p><a href="{{.Link}}">`}, string(event))
		want := notify.Content{
			Subject: typed + "<script>", Text: typed + "<script>", Locale: "de-AT",
			HTML: "<p>" + html.EscapeString(typed+"<script>") + `</p><a href="#ZgotmplZ">`,
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestAnEntityIDIsEventData(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{`42`: "42", `"car-7"`: "car-7", `null`: "<no value>", ``: "<no value>"} {
		got, err := render(t, notify.Template{Text: "{{.EventData}}"}, event)
		if err != nil || got.Text != want {
			t.Errorf("%s: %q, %v", event, got.Text, err)
		}
	}
}

func TestTheDataMayHaveARecipientOfItsOwn(t *testing.T) {
	t.Parallel()
	got, err := render(t, notify.Template{Text: "{{.Recipient}}"}, `{"Recipient":"the archive"}`)
	if err != nil || got.Text != "the archive" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestTemplatesRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tmpl    notify.Template
		event   string
		content bool // refused as content, so that no try follows
	}{
		"a name that is missing":      {notify.Template{Text: "{{.Sourse}}"}, `{"Source":1}`, false},
		"data that is not JSON":       {notify.Template{Text: "x"}, `{`, false},
		"a template that is none":     {notify.Template{Subject: "{{"}, `{}`, false},
		"HTML that cannot be escaped": {notify.Template{HTML: `<a href={{if .A}}"{{end}}>`}, `{"A":true}`, false},
		"a subject that is too long":  {notify.Template{Subject: "{{.A}}"}, `{"A":"` + strings.Repeat("x", channel.MaxSubject+1) + `"}`, true},
		"a text without end":          {notify.Template{Text: `{{range 1000000}}12345678{{end}}`}, `{}`, true},
		"HTML that is too long":       {notify.Template{HTML: `{{range 100000}}12345678{{end}}`}, `{}`, true},
		"a count that says nothing":   {notify.Template{Text: `{{range 3000000000}}{{end}}`}, `{}`, true},
		"a count of the data":         {notify.Template{HTML: `{{range .N}}{{end}}`}, `{"N":3000000000}`, true},
		"texts that double":           {notify.Template{Text: `{{$x := "aaaaaaaa"}}` + strings.Repeat(`{{$x = print $x $x}}`, 27)}, `{}`, true},
		"a template of itself":        {notify.Template{Text: `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`}, `{}`, true},
		"a width":                     {notify.Template{Subject: `{{printf "%1000000000d" 1}}`}, `{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := render(t, c.tmpl, c.event)
			if err == nil || errors.Is(err, channel.ErrContent) != c.content {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Integers can be compared, at any depth; what no int64 holds prints as it was.
func TestNumbersOfTheDataAreNumbers(t *testing.T) {
	t.Parallel()
	got, err := render(t, notify.Template{
		Text: "{{if gt .Days 0}}before{{else}}after{{end}} {{index .Rows 0}} {{if eq .In.N 2}}two{{end}} {{.Big}} {{.Price}}",
	}, `{"Days":-1,"Rows":[3],"In":{"N":2},"Big":92233720368547758070,"Price":1.50}`)
	if want := "after 3 two 92233720368547758070 1.50"; err != nil || got.Text != want {
		t.Errorf("%q, %v, want %q", got.Text, err, want)
	}
}

func TestAPreviewStoresNothing(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	out := notify.New(store, nil)
	out.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "Bom dia"}})
	job := notify.Job{Type: "visit", EventData: json.RawMessage(`{"On":"Monday"}`)}
	got, err := out.Preview(t.Context(), job, notify.Recipient{Locale: "pt"})
	if diff := cmp.Diff(notify.Content{Subject: "Bom dia", Locale: "pt"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := out.Preview(t.Context(), notify.Job{}, notify.Recipient{}); err == nil || !strings.Contains(err.Error(), "no renderer here") {
		t.Error(err)
	}
	if all, _, err := out.Support().AllMessages(t.Context(), "", storage.Page{}); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}

// shelf is a catalogue by business unit.
type shelf struct {
	units map[string]notify.NotificationOption
	asked int
	fail  error
}

func (s *shelf) Options(_ context.Context, asked []notify.Question) ([]notify.NotificationOption, error) {
	s.asked++
	out := make([]notify.NotificationOption, len(asked))
	for i, q := range asked {
		out[i] = s.units[q.BusinessUnit]
	}
	return out, s.fail
}

// shelves runs a story on every adapter with a host that has a catalogue.
func shelves(t *testing.T, units map[string]notify.NotificationOption, story func(h *host, s *shelf)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		p, s := &provider{}, &shelf{units: units}
		h := &host{Notifier: notify.New(store, &notify.Options{Logger: quiet, Catalogue: s}, p), store: store, t: t, clk: clk, provider: p}
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		story(h, s)
	})
}

func (h *host) in(unit, id string, people ...notify.Recipient) {
	h.t.Helper()
	j := visit(id, people...)
	j.BusinessUnit = unit
	h.dispatch(j)
}

// to are the names of those who were sent something.
func (h *host) to() (names []string) {
	for _, m := range h.sent() {
		names = append(names, m.Name)
	}
	return names
}

// keepers is a catalogue that finds who keeps a car by the entity and the data of a job.
type keepers struct{ of map[string]notify.Recipient }

func (k keepers) Options(_ context.Context, asked []notify.Question) ([]notify.NotificationOption, error) {
	out := make([]notify.NotificationOption, len(asked))
	for i, q := range asked {
		out[i] = notify.NotificationOption{Seeded: true, Enabled: true}
		var data struct{ Source string }
		if err := json.Unmarshal([]byte(q.EventData), &data); err != nil {
			return nil, err
		}
		if r, ok := k.of[q.EntityType+" "+q.Entity+" "+data.Source]; ok {
			out[i].Subscribers = []notify.Recipient{r}
		}
	}
	return out, nil
}

// A handler with an id alone can leave it to the catalogue whom a job is for.
func TestSubscribersAreFoundByTheEntity(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		p, k := &provider{}, keepers{map[string]notify.Recipient{"car 1 1": person("sam"), "car 2 2": person("kim")}}
		h := &host{Notifier: notify.New(store, &notify.Options{Logger: quiet, Catalogue: k}, p), store: store, t: t, clk: clk, provider: p}
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.dispatch(visit("1"), visit("2"), visit("3"))
		h.drain()
		h.same("sent", map[string]int{"sam": 1, "kim": 1}, h.got())
		for _, j := range all(h, notify.Jobs) {
			if want := map[string]string{"3": reasons.NoSubscribers}[j.Entity]; j.ReasonCode != want {
				t.Errorf("car %s: %q, want %q", j.Entity, j.ReasonCode, want)
			}
		}
	})
}

// Nobody has checked whom a catalogue names: one who cannot be told costs himself.
func TestASubscriberWhoCannotBeToldStopsNobodyElse(t *testing.T) {
	bad := map[string]notify.Recipient{
		"an inbox that is none":   {Ref: "kim", Inbox: "sam"},
		"an inbox that ends keys": {Ref: "kim", Inbox: "user:\x1fsam"},
		"a NUL":                   {Ref: "kim", Channel: channelKey, Address: "kim@example.com", Name: "k\x00m"},
		"no UTF-8":                {Ref: "kim", Channel: channelKey, Address: "kim@example.com", Name: "k\xffm"},
		"a method that is none":   {Ref: "kim", Channel: "E Mail:smtp", Address: "kim@example.com"},
	}
	for name, r := range bad {
		t.Run(name, func(t *testing.T) {
			units := map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{r, person("lee")}}}
			shelves(t, units, func(h *host, _ *shelf) {
				h.in("north", "1", person("sam"))
				h.drain()
				h.same("messages", map[string]string{"sam": "SentToProvider", "lee": "SentToProvider"}, h.outcomes())
				if j := only(h, notify.Jobs); j.Status != notify.StatusGenerated || j.ReasonCode != reasons.BadAddress {
					h.t.Errorf("job is %s %s", j.Status, j.ReasonCode)
				}
			})
		})
	}
}

// Communication - Codebase flow, "What Notification Settings control": types that
// are not seeded, or have no subscriber, are skipped gracefully.
func TestWhatNobodyWantsIsSkippedWithAReason(t *testing.T) {
	units := map[string]notify.NotificationOption{"off": {Seeded: true}, "lonely": {Seeded: true, Enabled: true}}
	shelves(t, units, func(h *host, _ *shelf) {
		h.in("unknown", "1", person("sam"))
		h.in("off", "2", person("sam"))
		h.in("lonely", "3")
		h.in("lonely", "4", person("kim")) // names somebody, so it needs no subscriber
		h.drain()
		h.same("sent", []string{"kim"}, h.to())
		got := map[string]string{}
		for i := range 4 {
			trace, err := h.Trace(h.t.Context(), "tenant", coordinates(visit(fmt.Sprint(i+1))))
			if err != nil {
				h.t.Fatal(err)
			}
			got[trace.Job.Entity] = trace.Job.Status + " " + trace.Job.ReasonCode + ", " + trace.Schedules[0].Status
		}
		h.same("jobs", map[string]string{
			"1": "Skipped NotSeeded, Skipped", "2": "Skipped Disabled, Skipped",
			"3": "Skipped NoSubscribers, Skipped", "4": "Generated , Dispatched",
		}, got)
	})
}

func coordinates(j notify.Job) notify.Coordinates { return j.Coordinates() }

func TestSubscribersHearBesideThoseWhomTheJobNames(t *testing.T) {
	subscribed := notify.NotificationOption{Seeded: true, Enabled: true, Subscribers: []notify.Recipient{person("boss"), person("sam")}}
	shelves(t, map[string]notify.NotificationOption{"north": subscribed}, func(h *host, s *shelf) {
		h.in("north", "1", person("sam"))
		h.in("north", "2")
		h.drain()
		count := map[string]int{}
		for _, name := range h.to() {
			count[name]++
		}
		h.same("sent", map[string]int{"boss": 2, "sam": 2}, count)
		if s.asked > 2 {
			h.t.Errorf("the catalogue was asked %d times for two passes", s.asked)
		}
	})
}

// Whom a job is for is decided once: a repeat of the generator asks nobody.
func TestSubscribersAreFrozenByTheFirstRun(t *testing.T) {
	units := map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{person("sam")}}}
	shelves(t, units, func(h *host, s *shelf) {
		h.in("north", "1")
		h.drain()
		s.units = map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{person("kim")}}}
		h.regenerate()
		h.drain()
		h.same("sent", []string{"sam"}, h.to())
	})
}

func TestACatalogueThatFailsIsAskedAgain(t *testing.T) {
	units := map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true}}
	shelves(t, units, func(h *host, s *shelf) {
		s.fail = errors.New("away")
		h.in("north", "1", person("sam"))
		h.drain()
		h.same("sent", 0, len(h.sent()))
		s.fail = nil
		h.clk.Add(6 * time.Minute)
		h.drain()
		h.same("sent", []string{"sam"}, h.to())
	})
}
