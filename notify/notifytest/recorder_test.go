package notifytest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
)

// judge is a TB that keeps what a test would have failed with.
type judge struct{ verdicts []string }

func (j *judge) Helper() {}

func (j *judge) Errorf(format string, args ...any) {
	j.verdicts = append(j.verdicts, fmt.Sprintf(format, args...))
}

func (j *judge) Fatalf(format string, args ...any) { j.Errorf(format, args...) }

func mail(id, to string) channel.Message {
	return channel.Message{ID: id, To: to, Subject: "Hello", Attempt: 1}
}

func send(t *testing.T, c channel.Channel, m channel.Message) error {
	t.Helper()
	receipt, err := c.Send(t.Context(), m)
	want := channel.Receipt{}
	if err == nil {
		want.ID = "receipt-" + m.ID
	}
	if receipt != want {
		t.Errorf("%+v with %v", receipt, err)
	}
	return err
}

func TestRecorderKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	r := notifytest.NewRecorder()
	m := mail("a", "sam@example.com")
	m.Metadata, m.Template.Params = map[string]string{"k": "v"}, []string{"p"}
	if err := send(t, r, m); err != nil {
		t.Fatal(err)
	}
	m.Metadata["k"], m.Template.Params[0] = "changed", "changed"
	r.Sent(t, 1)
	want := mail("a", "sam@example.com")
	want.Metadata, want.Template.Params = map[string]string{"k": "v"}, []string{"p"}
	if diff := cmp.Diff(want, r.To(t, "sam@example.com")); diff != "" {
		t.Error(diff)
	}
}

func TestAssertionsSayWhatWasSentInstead(t *testing.T) {
	t.Parallel()
	r := notifytest.NewRecorder()
	_ = send(t, r, mail("a", "sam@example.com"))
	_ = send(t, r, mail("b", "alex@example.com"))
	_ = send(t, r, mail("c", "alex@example.com"))
	var j judge
	r.Sent(&j, 2)
	r.To(&j, "kim@example.com")
	r.To(&j, "alex@example.com")
	for i, want := range []string{"email:test sent 3 messages, want 2", "sent 0 messages to kim@example.com", "sent 2 messages to alex@example.com"} {
		if !strings.Contains(j.verdicts[i], want) || !strings.Contains(j.verdicts[i], `sam@example.com: "Hello" (message a, attempt 1)`) {
			t.Errorf("%s", j.verdicts[i])
		}
	}
}

func TestMessageIsNotAcceptedTwice(t *testing.T) {
	t.Parallel()
	r := notifytest.NewRecorder()
	_ = send(t, r, mail("a", "sam@example.com"))
	err := send(t, r, mail("a", "sam@example.com"))
	if !errors.Is(err, notifytest.ErrRepeated) || channel.Classify(err).Class != channel.ClassPermanent {
		t.Error(err)
	}
	var j judge
	r.Sent(&j, 1)
	r.To(&j, "sam@example.com")
	want := "email:test was given message a again after it had sent it"
	if diff := cmp.Diff([]string{want, want}, j.verdicts); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatsMayBeAllowed(t *testing.T) {
	t.Parallel()
	r := notifytest.NewRecorder().AllowRepeats()
	for range 2 {
		if err := send(t, r, mail("a", "sam@example.com")); err != nil {
			t.Error(err)
		}
	}
	r.Sent(t, 2)
}

func TestKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	got := []string{notifytest.NewRecorder().Key(), notifytest.Failing(context.Canceled).As("sms:test").Key()}
	if diff := cmp.Diff([]string{"email:test", "sms:test"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecorderIsSafeForManyGoroutines(t *testing.T) {
	t.Parallel()
	r := notifytest.NewRecorder().WithLookup()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			m := mail(fmt.Sprint(i), "sam@example.com")
			_, err := r.Send(t.Context(), m)
			got, lookupErr := r.Lookup(t.Context(), m)
			if err != nil || lookupErr != nil || got.Status != channel.LookupAccepted {
				t.Error(err, lookupErr, got)
			}
		})
	}
	if err := r.Wait(t.Context(), 50); err != nil {
		t.Error(err)
	}
	all.Wait()
	r.Sent(t, 50)
	if r.Calls() != 50 || r.Lookups() != 50 {
		t.Error(r.Calls(), r.Lookups())
	}
}
