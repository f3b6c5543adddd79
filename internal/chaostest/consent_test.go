package chaostest

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

// Four processes send while people opt out and addresses are suppressed: whoever had said
// so before a message was asked for is not called, and everybody else is, once.
func TestConsentAndSuppressionHoldInFourProcesses(t *testing.T) {
	t.Parallel()
	onEach(t, consent)
}

const (
	consentRounds = 6
	consentPeople = 90
)

func consent(t *testing.T, adapter, dsn string) {
	a := &arena{t: t, adapter: adapter, dsn: dsn, provider: newProvider(t), rnd: random(t)}
	store, err := open(t.Context(), adapter, dsn, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, out := services(store, a.provider.URL)
	var workers []*exec.Cmd
	for range 4 {
		workers = append(workers, a.start("run"))
	}
	want := map[string]int{} // calls, by address
	for round := range consentRounds {
		a.ask(out, round, want)
		a.arrive(len(want))
	}
	for _, w := range workers {
		_ = w.Process.Kill() // what it was at is looked up
		_ = w.Wait()
	}
	for range 3 {
		a.offset += pastEverything
		a.drain()
	}
	got := map[string]int{}
	for _, c := range a.provider.log() {
		got[c.To]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls by address: %s", diff)
	}
	all := consentRounds * consentPeople
	skipped := a.query("SELECT status || ' ' || reason_code, count(*) FROM outgoing_message GROUP BY 1")
	if diff := cmp.Diff(map[string]int{"SentToProvider ": len(want), "Skipped OptedOut": all / 3, "Skipped Suppressed": all / 3}, skipped); diff != "" {
		t.Errorf("messages at rest: %s", diff)
	}
}

// ask wants a message to each of some people, a third of whom have just opted out, and a
// third of whose addresses have just been suppressed, in as many transactions.
func (a *arena) ask(out *notify.Notifier, round int, want map[string]int) {
	ctx := a.t.Context()
	var letters []notify.OutgoingMessage
	for i := range consentPeople {
		p := person(fmt.Sprintf("r%dp%02d", round, i))
		var err error
		switch i % 3 {
		case 0:
			err = out.Contacts().SetPreferences(ctx, notify.Preference{RecipientRef: p.Ref, Method: "email", OptedOut: true})
		case 1:
			err = out.Contacts().Suppress(ctx, "", notify.HardBounce, notify.By{Actor: "test", Reason: "it bounced"}, notify.Destination{Method: "email", Address: p.Address})
		default:
			want[p.Address] = 1
		}
		if err != nil {
			a.t.Fatal(err)
		}
		letters = append(letters, notify.OutgoingMessage{
			Channel: channelKey, PartitionKey: fmt.Sprint("news-", round), NotificationType: "news", RecipientRef: p.Ref, Address: p.Address,
			Content: notify.Content{Subject: "News"},
		})
	}
	if _, err := out.EnsureOutgoingMessage(ctx, nil, letters...); err != nil {
		a.t.Fatal(err)
	}
}

// arrive waits until so many calls have come in.
func (a *arena) arrive(calls int) {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for len(a.provider.log()) < calls {
		select {
		case <-a.provider.arrived:
		case <-limit.C:
			a.t.Fatalf("%d calls of %d came in", len(a.provider.log()), calls)
		}
	}
}
