package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

var newsTemplate = notify.Template{
	Subject: "{{range $i, $e := .Entries}}{{if $i}}, {{end}}{{$e.What}}{{end}}{{if .More}} and {{.More}} more{{end}}",
}

// news registers the type "news", whose messages wait for 08:00, and sets the clock.
func (h *host) news(change func(*notify.Type)) {
	t := notify.Type{Name: "news", Digest: notify.Digest{Window: 24 * time.Hour, At: "08:00"}, Renderer: newsTemplate}
	if change != nil {
		change(&t)
	}
	h.Register(t)
	h.clk.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
}

// item is a job of the type "news", in the order of the alphabet.
func item(what string, people ...notify.Recipient) notify.Job {
	return notify.Job{
		SourceOn: storetest.Start.Add(time.Duration(what[0]) * time.Second),
		Scope:    "tenant", Type: "news", PartitionKey: "feed", RowKey: keys.AutomationRowKey(what),
		EventData: json.RawMessage(`{"What":"` + what + `"}`), Recipients: people,
	}
}

// tomorrow moves the clock behind the end of the window.
func (h *host) tomorrow() {
	h.clk.Add(24 * time.Hour)
	h.drain()
}

// subjects are those of what was sent, by address.
func (h *host) subjects() map[string][]string {
	out := map[string][]string{}
	for _, m := range h.sent() {
		name, _, _ := strings.Cut(m.To, "@")
		out[name] = append(out[name], m.Subject)
	}
	return out
}

// digests are the jobs that are digests, by their moments.
func (h *host) digests() (out []*notify.JobRow) {
	for _, j := range all(h, notify.Jobs) {
		if !j.DigestOn.IsZero() {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *notify.JobRow) int { return a.DigestOn.Compare(b.DigestOn) })
	return out
}

// job is the stored row of a job.
func (h *host) job(j notify.Job) (row *notify.JobRow) {
	h.t.Helper()
	key, err := keys.Join(j.PartitionKey, j.RowKey)
	if err != nil {
		h.t.Fatal(err)
	}
	h.inOne(func(tx storage.Tx) (err error) {
		row, err = notify.Jobs.Get(h.t.Context(), tx, j.Scope, key)
		return err
	})
	return row
}

func (h *host) inDigest(j notify.Job) string {
	h.t.Helper()
	trace, err := h.Trace(h.t.Context(), j.Scope, j.Coordinates())
	if err != nil || len(trace.Digests) != 1 {
		h.t.Fatal(trace.Digests, err)
	}
	return trace.Digests[0].String()
}

func TestEachRecipientGetsOneMessageForAWindow(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(nil)
		h.dispatch(item("a", person("sam"), person("kim")), item("b", person("sam")))
		h.drain()
		h.dispatch(item("c", person("sam")), item("a", person("sam"), person("kim")))
		h.drain()
		h.same("too early", 0, len(h.sent()))
		for _, what := range []string{"a", "b", "c"} {
			h.same("status of "+what, notify.StatusDigested, h.job(item(what)).Status)
		}
		h.same("where", "waits for the digest of 08:00, with 2 others (2026-03-02 UTC)", h.inDigest(item("c")))
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"a, b, c"}, "kim": {"a"}}, h.subjects())
		h.same("where", "told in the digest of 08:00, with 2 others (2026-03-02 UTC)", h.inDigest(item("c")))
		h.tomorrow()
		h.same("sent again", 2, len(h.sent()))
		h.dispatch(item("d", person("sam")))
		h.tomorrow()
		h.tomorrow()
		h.same("the next", []string{"a, b, c", "d"}, h.subjects()["sam"])
	})
}

// One job alone is told as if there were no digest.
func TestADigestOfOneIsTheOrdinaryMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(func(n *notify.Type) {
			n.Renderer = notify.Template{Subject: "{{.What}} for {{.Recipient.Name}}: {{.Code}}"}
		})
		sam := person("sam")
		sam.Data = map[string]string{"Code": "4711"}
		h.dispatch(item("a", sam))
		h.drain()
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"a for sam: 4711"}}, h.subjects())
	})
}

func TestADigestInAnInbox(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(nil)
		h.dispatch(item("a", inbox("sam")), item("b", inbox("sam")))
		h.drain()
		h.tomorrow()
		got, _, err := h.Inbox("tenant", "user:sam").Messages(t.Context(), storage.Page{})
		if err != nil || len(got) != 1 || got[0].Content.Subject != "a, b" || len(h.sent()) != 0 {
			t.Error(got, err)
		}
	})
}

// What is no longer wanted at the end of the window is not told.
func TestADigestAsksAboutEachOfItsJobsAtItsEnd(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		gone := map[string]bool{}
		h.news(func(n *notify.Type) {
			n.Revalidator = notify.RevalidatorFunc(func(_ context.Context, j notify.Job) (gate.Verdict, error) {
				if gone[string(j.EventData)] {
					return gate.Skip("Gone"), nil
				}
				return gate.Proceed(), nil
			})
		})
		stale := item("stale", person("sam"))
		stale.ValidUntil = h.clk.Now().Add(time.Hour)
		h.dispatch(item("a", person("sam")), item("b", person("sam"), person("kim")), item("c", person("sam")), stale)
		h.drain()
		gone[`{"What":"b"}`] = true
		c := h.job(item("c"))
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactNotificationJob, c.Key, support); err != nil {
			t.Fatal(err)
		}
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"a"}}, h.subjects())
		h.same("c", notify.StatusCancelled, h.job(item("c")).Status)
		h.same("stale", "left out of the digest of 08:00, with 3 others (2026-03-02 UTC): TooLate", h.inDigest(stale))
		for _, d := range h.digests() {
			if d.Recipients[0].Ref == "kim" && (d.Status != notify.StatusSkipped || d.ReasonCode != "Gone") {
				t.Errorf("kim's digest is %s (%s)", d.Status, d.ReasonCode)
			}
		}
	})
}

func TestADigestThatCannotBeAskedAboutIsTriedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		broken := true
		h.news(func(n *notify.Type) {
			n.Revalidator = notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
				if broken {
					return gate.Verdict{}, errLost
				}
				return gate.Proceed(), nil
			})
		})
		h.dispatch(item("a", person("sam")))
		h.drain()
		h.tomorrow()
		d := h.digests()[0]
		h.same("digest", [2]string{notify.StatusReady, reasons.RevalidationFailed}, [2]string{d.Status, d.ReasonCode})
		h.dispatch(item("b", person("sam"))) // nobody has frozen anything
		broken = false
		h.clk.Set(time.Date(2026, 3, 2, 7, 59, 0, 0, time.UTC).Add(24 * time.Hour))
		h.drain()
		h.same("sent", map[string][]string{"sam": {"a"}}, h.subjects())
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"a", "b"}}, h.subjects())
	})
}

// A digest's message that had to wait is asked about by its jobs: the digest itself is
// nothing that a host knows.
func TestADigestThatWaitedIsAskedAboutByItsJobs(t *testing.T) {
	for name, c := range map[string]struct {
		gone string
		want int
	}{"one is gone": {"a", 2}, "all are": {"ab", 1}} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				sent := false
				h.news(func(n *notify.Type) {
					n.Revalidator = notify.RevalidatorFunc(func(_ context.Context, j notify.Job) (gate.Verdict, error) {
						var of struct{ What string }
						if err := json.Unmarshal(j.EventData, &of); err != nil || of.What == "" {
							return gate.Verdict{}, fmt.Errorf("asked about %s: %w", j.EventData, errLost)
						}
						if sent && strings.Contains(c.gone, of.What) {
							return gate.Skip("Gone"), nil
						}
						return gate.Proceed(), nil
					})
				})
				h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
					if !sent {
						sent = true
						return channel.Receipt{}, channel.Transient("busy", 0, nil)
					}
					return channel.Receipt{}, nil
				}
				h.dispatch(item("a", person("sam")), item("b", person("sam")))
				h.drain()
				h.tomorrow()
				h.clk.Add(time.Hour)
				h.drain()
				h.same("calls", c.want, len(h.sent()))
			})
		})
	}
}

// What comes while a digest is made, or afterwards, goes into the next.
func TestWhatIsTooLateForADigestGoesIntoTheNext(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(func(n *notify.Type) { n.Digest = notify.Digest{Window: time.Hour, Throttle: true} })
		h.dispatch(item("a", person("sam")))
		h.drain()
		h.same("the first goes at once", map[string][]string{"sam": {"a"}}, h.subjects())
		h.dispatch(item("b", person("sam")))
		h.drain()
		h.dispatch(item("c", person("sam")))
		h.drain()
		h.same("the others wait", 1, len(h.sent()))
		h.clk.Add(time.Hour)
		h.drain()
		h.same("for the end of the window", map[string][]string{"sam": {"a", "b, c"}}, h.subjects())
		h.dispatch(item("d", person("sam")))
		h.drain()
		h.same("which begins another", 2, len(h.sent()))
		h.clk.Add(3 * time.Hour)
		h.drain()
		h.dispatch(item("e", person("sam")))
		h.drain()
		h.same("after a pause", []string{"a", "b, c", "d", "e"}, h.subjects()["sam"])
	})
}

// An entry and a close of its digest cannot both win: whoever comes later begins again.
func TestAnEntryThatMeetsTheEndOfItsDigestGoesIntoTheNext(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy := &storetest.Spy{Store: store}
		p := &provider{}
		h := newHost(t, spy, clk, p, p)
		h.news(nil)
		h.dispatch(item("a", person("sam")))
		h.drain()
		h.dispatch(item("b", person("sam")))
		h.run("notify.scheduler")
		var met, claimed *notify.JobRow
		spy.SetHook(func(c storetest.Call) error {
			switch {
			case c.Verb == storetest.Begin && met != nil && claimed == nil:
				claimed = met // what came between is committed, and the entry is not
				return store.InTx(t.Context(), func(tx storage.Tx) error { return h.claimDigest(tx, met) })
			case c.Verb == storetest.Update && c.Table == notify.Jobs.Name && met == nil:
				for _, r := range c.Rows {
					if d := r.(*notify.JobRow); !d.DigestOn.IsZero() {
						met = d // another process has claimed it since it was read
						return h.claimDigest(c.Tx, d)
					}
				}
			}
			return nil
		})
		h.run("notify.generator")
		spy.SetHook(nil)
		if claimed == nil {
			t.Fatal("nobody came between")
		}
		h.same("where", "waits for the digest of 08:00 (2026-03-03 UTC)", h.inDigest(item("b")))
	})
}

// claimDigest is the claim of another process: it has the digest, and goes on with it
// elsewhere.
func (h *host) claimDigest(tx storage.Tx, of *notify.JobRow) error {
	d, err := notify.Jobs.Get(h.t.Context(), tx, of.Scope, of.Key)
	if err != nil {
		return err
	}
	d.Status, d.LeaseExpiresOn = notify.StatusGenerating, driver.Now(h.store).Add(lease)
	return notify.Jobs.Save(h.t.Context(), tx, d)
}

func TestAJobIsCancelledOnlyBeforeItsDigestIsBegunWith(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(nil)
		h.dispatch(item("a", person("sam"), person("kim")), item("b", person("sam")))
		h.drain()
		cancel := func(what string) error {
			return h.Support().Cancel(t.Context(), "tenant", notify.ArtifactNotificationJob, h.job(item(what)).Key, support)
		}
		if err := cancel("b"); err != nil {
			t.Fatal(err)
		}
		if err := cancel("b"); !errors.Is(err, notify.ErrActionRefused) {
			t.Error(err)
		}
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"a"}, "kim": {"a"}}, h.subjects())
		if err := cancel("a"); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a job that was told: %v", err)
		}
		h.same("a", notify.StatusDigested, h.job(item("a")).Status)
		h.same("audit", []string{"Cancel by kim: Digested to Cancelled"}, h.actions("notification_job", h.job(item("b")).Key))
	})
}

// A digest is a job like any other: support may cancel it, and what comes then waits for
// the next.
func TestACancelledDigestTellsNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(nil)
		h.dispatch(item("a", person("sam")))
		h.drain()
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactNotificationJob, h.digests()[0].Key, support); err != nil {
			t.Fatal(err)
		}
		h.dispatch(item("b", person("sam")))
		h.drain()
		h.same("where", "waits for the digest of 08:00 (2026-03-03 UTC)", h.inDigest(item("b")))
		h.same("where", "not told, since a person cancelled the digest of 08:00 (2026-03-02 UTC)", h.inDigest(item("a")))
		h.tomorrow()
		h.same("sent", 0, len(h.sent()))
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"b"}}, h.subjects())
		d := h.digests()[0]
		_, err := h.AddRecipients(t.Context(), nil, "tenant", d.Coordinates(), support, person("kim"))
		if !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("recipients of a digest: %v", err)
		}
	})
}

func TestWhoIsAddedToAJobIsToldInHisDigest(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(nil)
		a := item("a", person("sam"))
		h.dispatch(a)
		h.drain()
		for range 2 {
			if _, err := h.AddRecipients(t.Context(), nil, "tenant", a.Coordinates(), support, person("kim")); err != nil {
				t.Fatal(err)
			}
			h.drain()
		}
		h.same("job", notify.StatusDigested, h.job(a).Status)
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"a"}, "kim": {"a"}}, h.subjects())
	})
}

// However many there are, a digest names so many and counts the others.
func TestADigestOfVeryManyNamesTheFirstAndCountsTheOthers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(func(n *notify.Type) {
			n.Renderer = notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
				return notify.Content{Subject: fmt.Sprint(len(j.Entries), " and ", j.More)}, nil
			})
		})
		for i := range 250 {
			h.dispatch(item(fmt.Sprintf("%03d", i), person("sam")))
		}
		h.drain()
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"100 and 150"}}, h.subjects())
		trace, err := h.Trace(t.Context(), "tenant", h.digests()[0].Coordinates())
		if err != nil || len(trace.Entries) != 250 || len(trace.OutgoingMessages) != 1 {
			t.Error(len(trace.Entries), err)
		}
		told := 0
		for i := range 250 {
			if strings.HasPrefix(h.inDigest(item(fmt.Sprintf("%03d", i))), "told in the digest of 08:00, with 249 others") {
				told++
			}
		}
		h.same("named", 100, told)
	})
}

// A message that cannot say all says what it can.
func TestADigestThatIsTooLongNamesFewer(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(func(n *notify.Type) {
			n.Renderer = notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
				if len(j.Entries) > 2 {
					return notify.Content{}, channel.ErrContent
				}
				return notify.Content{Subject: fmt.Sprint(len(j.Entries), " and ", j.More)}, nil
			})
		})
		for i := range 9 {
			h.dispatch(item(fmt.Sprint(i), person("sam")))
		}
		h.drain()
		h.tomorrow()
		h.same("sent", map[string][]string{"sam": {"2 and 7"}}, h.subjects())
	})
}

// Whatever of it is done twice, a digest has each job once and goes out once.
func TestADigestThatIsRepeatedGoesOutOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.news(nil)
		h.dispatch(item("a", person("sam")), item("b", person("sam")))
		h.run("notify.scheduler")
		h.generateAndDie()
		h.run("notify.generator")
		h.clk.Add(time.Minute)
		h.inOne(func(tx storage.Tx) error { // as support would
			rows, err := notify.Jobs.Find(t.Context(), tx, "tenant", driver.Query{Where: []driver.Cond{driver.Eq("status", notify.StatusDigested)}, Limit: 10})
			for _, j := range rows {
				j.Status, j.DueOn, j.EndedOn = notify.StatusReady, driver.Now(h.store), time.Time{}
			}
			if err != nil {
				return err
			}
			return notify.Jobs.Save(t.Context(), tx, rows...)
		})
		h.drain()
		h.same("entries, digests", [2]int{2, 1}, [2]int{len(all(h, notify.DigestEntries)), len(h.digests())})
		h.clk.Add(24 * time.Hour)
		d := h.digests()[0]
		d.Status = notify.StatusGenerating
		if err := h.GenerateAll(t.Context(), work.Item[notify.JobRow]{Row: d, Ctx: t.Context(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.same("sent", map[string][]string{"sam": {"a, b"}}, h.subjects())
	})
}

func TestATypeThatCannotWaitHasNoDigest(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		daily := notify.Digest{Window: 24 * time.Hour, At: "08:00"}
		for want, typ := range map[string]notify.Type{
			"the type is Urgent":                  {Digest: daily, Urgent: true},
			"the type is Requested":               {Digest: daily, Requested: true},
			"is not between a minute and 31 days": {Digest: notify.Digest{Window: time.Second}},
			"has an At, and is not whole days":    {Digest: notify.Digest{Window: 25 * time.Hour, At: "08:00"}},
			`"8"`:                                 {Digest: notify.Digest{Window: 24 * time.Hour, At: "8"}},
			"Mars":                                {Digest: notify.Digest{Window: time.Hour, Zone: "Mars"}},
			"the Window 0s is not between a minute an": {Digest: notify.Digest{At: "08:00"}},
		} {
			typ.Name = "hasty"
			func() {
				defer func() {
					if text := fmt.Sprint(recover()); !strings.Contains(text, want) || !strings.Contains(text, `Register "hasty": Digest: `) {
						h.t.Errorf("want %q, got %s", want, text)
					}
				}()
				h.Register(typ)
			}()
		}
	})
}
