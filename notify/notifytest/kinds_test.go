package notifytest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
)

func TestFailingAcceptsNothing(t *testing.T) {
	t.Parallel()
	full := channel.Transient("452", 0, nil)
	r := notifytest.Failing(full)
	for range 2 {
		if err := send(t, r, mail("a", "sam@example.com")); !errors.Is(err, full) {
			t.Error(err)
		}
	}
	r.Sent(t, 0)
	if r.Calls() != 2 {
		t.Errorf("%d calls", r.Calls())
	}
}

func TestNilIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(){
		"Failing":      func() { notifytest.Failing(nil) },
		"AcceptedThen": func() { _ = notifytest.AcceptedThen(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

func TestScriptedFollowsItsScript(t *testing.T) {
	t.Parallel()
	later, never := channel.Transient("452", 0, nil), channel.Permanent("550", nil)
	r := notifytest.Scripted(later, nil, never)
	var got []error
	for _, id := range []string{"a", "a", "b", "c"} {
		got = append(got, send(t, r, mail(id, id+"@example.com")))
	}
	if diff := cmp.Diff([]error{later, nil, never, nil}, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	r.Sent(t, 2)
	r.To(t, "a@example.com")
	r.To(t, "c@example.com")
}

func TestAcceptedThenRecordsAndFails(t *testing.T) {
	t.Parallel()
	cut := channel.Unknown("reset", nil)
	r := notifytest.Scripted(notifytest.AcceptedThen(cut))
	if err := send(t, r, mail("a", "sam@example.com")); err != error(cut) {
		t.Error(err)
	}
	r.Sent(t, 1)
	if err := send(t, r, mail("a", "sam@example.com")); !errors.Is(err, notifytest.ErrRepeated) {
		t.Error(err)
	}
}

func TestSlowHoldsTheCallUntilItIsReleased(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := notifytest.Slow(release)
	done := make(chan error)
	go func() {
		_, err := r.Send(t.Context(), mail("a", "sam@example.com"))
		done <- err
	}()
	if err := r.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.Sent(t, 0)
	release <- struct{}{}
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.Sent(t, 1)
}

func TestSlowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := notifytest.Slow(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Send(ctx, mail("a", "sam@example.com"))
	if channel.Classify(err).Class != channel.ClassUnknown {
		t.Error(err)
	}
	r.Sent(t, 0)
	if err := r.Wait(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLookupAnswersByScriptThenByRecord(t *testing.T) {
	t.Parallel()
	r := notifytest.Failing(notifytest.AcceptedThen(channel.Unknown("reset", nil))).WithLookup().Answer(channel.LookupResult{})
	_ = send(t, r, mail("a", "sam@example.com"))
	var got []channel.LookupResult
	for _, id := range []string{"a", "a", "b"} {
		result, err := r.Lookup(t.Context(), mail(id, "sam@example.com"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, result)
	}
	want := []channel.LookupResult{{}, {Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "receipt-a"}}, {Status: channel.LookupAbsent}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Lookup(ended, mail("a", "sam@example.com")); !errors.Is(err, context.Canceled) || r.Lookups() != 3 {
		t.Error(err, r.Lookups())
	}
}
