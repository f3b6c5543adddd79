package chaostest

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

const (
	consentRounds = 6
	consentPeople = 90
)

// Consents has four processes send while people opt out and addresses are suppressed.
// Whoever had said so before a message was asked for is not called, and everybody else is,
// once.
func Consents(t *testing.T, d Driver) {
	a, rounds := newArena(t, d), d.share(t, consentRounds)
	a.on(func(context.Context, *Host) error { return nil }) // the tables are there
	var workers []*exec.Cmd
	for range 4 {
		workers = append(workers, a.start("run"))
	}
	want := map[string]int{} // calls, by address
	a.on(func(ctx context.Context, h *Host) error {
		_, out := services(h.Store, a.provider.URL)
		for round := range rounds {
			if err := a.ask(ctx, out, round, want); err != nil {
				return err
			}
			a.reach(len(want))
		}
		return nil
	})
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
	all := rounds * consentPeople
	rest := a.query("SELECT status || ' ' || reason_code, count(*) FROM outgoing_message GROUP BY 1")
	if diff := cmp.Diff(map[string]int{"SentToProvider ": len(want), "Skipped OptedOut": all / 3, "Skipped Suppressed": all / 3}, rest); diff != "" {
		t.Errorf("messages at rest: %s", diff)
	}
}

// ask wants a message to each of some people, a third of whom have just opted out, and a
// third of whose addresses have just been suppressed, in as many transactions.
func (a *arena) ask(ctx context.Context, out *notify.Notifier, round int, want map[string]int) error {
	var letters []notify.OutgoingMessage
	for i := range consentPeople {
		p := person(fmt.Sprintf("r%dp%02d", round, i))
		var err error
		switch i % 3 {
		case 0:
			err = out.Contacts().SetPreferences(ctx, notify.Preference{RecipientRef: p.Ref, Method: "email", OptedOut: true})
		case 1:
			err = out.Contacts().Suppress(ctx, "", channel.HardBounce, notify.By{Actor: "test", Reason: "it bounced"}, notify.Destination{Method: "email", Address: p.Address})
		default:
			want[p.Address] = 1
		}
		if err != nil {
			return err
		}
		letters = append(letters, notify.OutgoingMessage{
			Channel: channelKey, PartitionKey: fmt.Sprint("news-", round), NotificationType: "news", RecipientRef: p.Ref, Address: p.Address,
			Content: notify.Content{Subject: "News"},
		})
	}
	_, err := out.EnsureOutgoingMessage(ctx, nil, letters...)
	return err
}

// reach waits until so many calls have come in since the beginning.
func (a *arena) reach(calls int) {
	a.t.Helper()
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	for len(a.provider.log()) < calls {
		select {
		case <-a.provider.arrived:
		case <-late.C:
			a.t.Fatalf("%d calls of %d in two minutes", len(a.provider.log()), calls)
		}
	}
}
