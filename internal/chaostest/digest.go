package chaostest

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// digests are the host's program with a type whose messages wait for one another: the
// first of a minute goes at once. A message names the events that it tells of.
func digests(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, nil, &client{url: provider})
	out.Register(notify.Type{
		Name: "news", Digest: notify.Digest{Window: time.Minute, Throttle: true},
		Renderer: notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
			names := make([]string, len(j.Entries))
			for i, e := range j.Entries {
				names[i] = e.Entity
			}
			told := strings.Join(names, " ") + "|" + strconv.Itoa(j.More)
			return notify.Content{Subject: "News", Metadata: map[string]string{"surveyUrl": told}}, nil
		}),
	})
	return automation.New(store, out, nil), out
}

// Digests has events race for digests in four processes, which are killed at random
// moments, while windows end: each recipient gets one message for a window, and hears of
// each event once.
func Digests(t *testing.T, on Driver) {
	d := &digesting{arena: newArena(t, on), each: 600, people: 50}
	rounds := on.share(t, 6)
	if testlevel.Has(t, testlevel.Nightly) {
		d.each, d.people, rounds = 10_000, 500, 10
	}
	for range rounds {
		d.round()
		d.offset += pastEverything
	}
	for range 20 {
		d.release()
		if err := d.start("digestdrain").Wait(); err != nil {
			t.Fatal(err)
		}
		d.offset += pastEverything
		if d.settled() {
			break
		}
	}
	d.check()
}

// digesting is an arena of events: so many for each round, about so many people.
type digesting struct {
	*arena
	each, people, events int
}

// round wants events while four workers run, and kills these at random moments.
func (d *digesting) round() {
	workers := make([]*exec.Cmd, 4)
	for i := range workers {
		workers[i] = d.start("digest")
	}
	d.on(func(ctx context.Context, h *Host) error {
		_, out := digests(h.Store, d.provider.URL)
		for first := d.events; d.events < first+d.each; d.events += 100 {
			if err := d.want(ctx, out, 100); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range workers {
		d.waitFor(d.people / 5)                  // a round has not many more calls than people
		if err := w.Process.Kill(); err != nil { // SIGKILL
			d.t.Fatal(err)
		}
		_ = w.Wait()
		d.kills++
	}
}

// want asks for the next so many events, each about somebody.
func (d *digesting) want(ctx context.Context, out *notify.Notifier, n int) error {
	var jobs []notify.Job
	var plan []notify.Schedule
	for i := d.events; i < d.events+n; i++ {
		name := fmt.Sprintf("e%06d", i)
		j := notify.Job{
			Type: "news", PartitionKey: "feed", RowKey: name, Entity: name,
			Recipients: []notify.Recipient{person(fmt.Sprintf("p%04d", d.rnd.IntN(d.people)))},
		}
		jobs, plan = append(jobs, j), append(plan, notify.ScheduleFor(j, time.Time{}))
	}
	if _, err := out.EnsureNotificationJob(ctx, nil, jobs...); err != nil {
		return err
	}
	_, err := out.EnsureNotificationScheduler(ctx, nil, plan...)
	return err
}

func (d *digesting) settled() bool {
	return d.query("SELECT 'open', count(*) FROM notification_job WHERE due_on IS NOT NULL OR status = 'Created'")["open"] == 0 &&
		d.query("SELECT 'open', count(*) FROM outgoing_message WHERE due_on IS NOT NULL")["open"] == 0
}

// check compares what the provider got with the events, and the digests with their windows.
func (d *digesting) check() {
	told, ids, counted := map[string]int{}, map[string]bool{}, 0
	for _, c := range d.provider.log() {
		if ids[c.ID] {
			d.t.Errorf("message %s went out twice", c.ID)
		}
		ids[c.ID] = true
		names, more, _ := strings.Cut(c.URL, "|")
		for name := range strings.FieldsSeq(names) {
			told[name]++
		}
		n, err := strconv.Atoi(more)
		if err != nil {
			d.t.Errorf("a message tells %q", c.URL)
		}
		counted += n
	}
	for name, n := range told {
		if n != 1 {
			d.t.Errorf("%s was told %d times", name, n)
		}
	}
	if len(told)+counted != d.events {
		d.t.Errorf("%d events told, %d counted, of %d", len(told), counted, d.events)
	}
	windows := d.query("SELECT digest, count(*) FROM digest_entry GROUP BY digest")
	jobs := d.query(fmt.Sprintf(byStatus, "notification_job"))
	want := map[string]int{notify.StatusDigested: d.events, notify.StatusGenerated: len(windows)}
	if diff := cmp.Diff(want, jobs); diff != "" || len(ids) != len(windows) {
		d.t.Errorf("%d messages of %d windows, jobs at rest (-want +got):\n%s", len(ids), len(windows), diff)
	}
	d.t.Logf("%s: %d kills, %d events, %d messages, %d counted only, %d rows released by support", d.driver.Name, d.kills, d.events, len(ids), counted, d.released)
}
