package survey_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/survey"
)

// The document's first lifecycle: the customer never responds after the last
// reminder.
func TestALinkWithoutAResponseExpiresAfterItsGrace(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		h.at(0)
		h.at(day)
		h.at(31*day - time.Second)
		h.status(id, survey.StatusSent)
		h.at(31 * day)
		i := h.status(id, survey.StatusExpired)
		if !i.EndedOn.Equal(h.clock.Now()) || !i.DueOn.IsZero() || len(h.sent()) != 2 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

// The second: nobody has the channel.
func TestALinkWhoseChannelNobodyHasExpires(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		h.at(0)
		h.at(59 * time.Minute)
		if i := h.status(id, survey.StatusPending); h.stored(id).Kind != "memory:default" || i.NextSendOn.IsZero() {
			h.t.Fatalf("stopped too early: %+v", i)
		}
		h.at(80 * time.Minute)
		i := h.status(id, survey.StatusPending)
		if i.ReasonCode != survey.ReasonNoChannel || !i.NextSendOn.IsZero() || h.stored(id).Kind != "" {
			h.t.Fatalf("the row is %+v", i)
		}
		if diff := cmp.Diff([]string{"0/0 no-channel NoChannel"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
		h.at(30 * day)
		h.status(id, survey.StatusExpired)
	})
}

// The third: the tickers were down for longer than the grace. It is not sent after
// all.
func TestALinkThatNobodyGotToExpiresUnsent(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("2d", nil))
		h.at(32 * day)
		i := h.status(id, survey.StatusExpired)
		if len(h.sent()) != 0 || i.ReasonCode != survey.ReasonTooLate {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

// A little earlier it is sent, and its grace counts from then on.
func TestALinkThatIsLateIsSent(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("2d", nil))
		h.at(32*day - time.Second)
		h.status(id, survey.StatusSent)
		h.at(62*day - 2*time.Second)
		h.status(id, survey.StatusSent)
		h.at(62 * day)
		h.status(id, survey.StatusExpired)
	})
}

// A link that is never sent stays open for as long as its schedule runs.
func TestAScheduleLongerThanTheGraceIsNotCutOff(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("60d", nil))
		h.at(45 * day)
		h.status(id, survey.StatusPending)
		h.fails(errors.New("away"))
		for _, after := range []time.Duration{0, 6 * time.Minute, 23 * time.Minute, 90 * time.Minute, 9 * time.Hour, 36 * time.Hour} {
			h.status(id, survey.StatusPending)
			h.at(60*day + after)
		}
		h.status(id, survey.StatusExpired) // the schedule has stopped, and the event is more than 30 days old
	})
}

// A trigger has its own grace.
func TestATriggerHasItsOwnGrace(t *testing.T) {
	for name, c := range map[string]struct {
		more   string
		before time.Duration
		at     time.Duration
		reason string
	}{
		"a shorter grace": {`"expiryGrace": "7d"`, 7*day - time.Second, 7 * day, ""},
		"a longer grace":  {`"expiryGrace": "90d"`, 89 * day, 90 * day, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				id := h.linked(definition("0d", nil, c.more))
				h.at(0)
				h.at(c.before)
				h.status(id, survey.StatusSent)
				h.at(c.at)
				if i := h.status(id, survey.StatusExpired); i.ReasonCode != c.reason {
					h.t.Errorf("reason %q", i.ReasonCode)
				}
			})
		})
	}
}

// The absolute limit of an instance comes before its grace, and before its sends.
func TestTheAbsoluteLimitComesFirst(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("0d", []string{"5d"}))
		if err := h.survey.Write(h.t.Context(), id, func(i *survey.InstanceRow) { i.ExpiresOn = start.Add(4 * day) }); err != nil {
			h.t.Fatal(err)
		}
		h.at(0)
		if i := h.status(id, survey.StatusSent); !i.DueOn.Equal(start.Add(4*day)) || h.stored(id).Kind != "" {
			h.t.Fatalf("due on %v for %q", i.DueOn, h.stored(id).Kind)
		}
		h.use(survey.Options{}) // any process expires it
		h.at(4 * day)
		if i := h.status(id, survey.StatusExpired); i.ReasonCode != survey.ReasonLimit || len(h.sent()) != 1 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

// A changed grace applies to rows that are saved afterwards.
func TestAChangedGraceAppliesToWhatIsSavedAfterwards(t *testing.T) {
	eachHost(t, &survey.Options{ExpiryGrace: 10 * day}, func(h *host) {
		before := h.linked(definition("0d", []string{"5d"}))
		h.at(0)
		h.at(5 * day)
		h.use(survey.Options{ExpiryGrace: 20 * day}, h.memory())
		if i := h.status(before, survey.StatusSent); !i.DueOn.Equal(start.Add(15 * day)) {
			h.t.Fatalf("due on %v", i.DueOn)
		}
		h.at(15 * day) // looked at again, and not yet over by the new grace
		if i := h.status(before, survey.StatusSent); !i.DueOn.Equal(start.Add(25 * day)) {
			h.t.Fatalf("due on %v", i.DueOn)
		}
		h.at(25 * day)
		h.status(before, survey.StatusExpired)
	})
}

// A rolling deployment: for a while only processes without the channel run.
func TestASendWaitsForAProcessThatHasItsChannel(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		for _, after := range []time.Duration{0, 20 * time.Minute, 40 * time.Minute, 55 * time.Minute} {
			h.at(after)
		}
		h.use(survey.Options{}, h.memory())
		h.at(56 * time.Minute)
		h.status(id, survey.StatusSent)
	})
}

// After an outage the first process to come back may have no channel: nobody could
// take the send, so that is not a reason to stop it.
func TestAnOutageStopsNoSend(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.drain() // the channel has been seen
		h.use(survey.Options{})
		id := h.linked(csiGR)
		h.at(0)
		h.at(5 * time.Hour)
		h.at(5*time.Hour + 20*time.Minute)
		if i := h.status(id, survey.StatusPending); i.NextSendOn.IsZero() {
			h.t.Fatalf("stopped: %+v", i)
		}
		h.use(survey.Options{}, h.memory())
		h.at(5*time.Hour + 21*time.Minute)
		h.status(id, survey.StatusSent)
	})
}

// A process that has the channel and is slow keeps its sends from being stopped by
// one that has not.
func TestABacklogOfAServedChannelIsNotStopped(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		slow := h.service(nil)
		for after := time.Duration(0); after < 4*time.Hour; after += 15 * time.Minute {
			h.clock.Set(start.Add(after))
			if err := slow.Sweep(h.t.Context()); err != nil { // it polls, and has not got to this one
				h.t.Fatal(err)
			}
			h.drain()
		}
		if i := h.status(id, survey.StatusPending); i.NextSendOn.IsZero() {
			h.t.Errorf("stopped: %+v", i)
		}
	})
}

// What was stopped goes on when support says so and the channel is back.
func TestASendThatWasStoppedGoesOnByRetry(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		h.at(0)
		h.at(50 * time.Minute)
		h.at(100 * time.Minute)
		if i := h.status(id, survey.StatusPending); i.ReasonCode != survey.ReasonNoChannel {
			h.t.Fatalf("the row is %+v", i)
		}
		if err := h.survey.Support().Retry(h.t.Context(), "", id, someone); err != nil {
			h.t.Fatal(err)
		}
		h.use(survey.Options{}, h.memory())
		h.drain()
		if i := h.status(id, survey.StatusSent); !i.NextSendOn.Equal(h.clock.Now().Add(day)) {
			h.t.Errorf("the row is %+v", i)
		}
	})
}

func TestAPollDoesNotWaitForTheSweepOfAnother(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.linked(definition("0d", nil))
		begun, let := make(chan struct{}), make(chan struct{})
		h.store = &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Begin && c.Number == 1 {
				close(begun)
				<-let
			}
			return nil
		}}
		s := h.service(nil)
		var both sync.WaitGroup
		poll := func() {
			if _, err := s.PollOnce(t.Context(), 10); err != nil {
				t.Error(err)
			}
		}
		both.Go(poll)
		<-begun
		poll() // ends
		if len(h.sent()) != 1 {
			t.Error("nothing was sent while another swept")
		}
		close(let)
		both.Wait()
	})
}

var errSpins = errors.New("the sweep begins again and again")

// outrun has others write every instance just before a sweep can.
func (h *host) outrun(c storetest.Call) error {
	switch {
	case c.Verb == storetest.Begin && c.Number > 4: // two that read, two that write
		return errSpins
	case c.Verb == storetest.Tally && c.Tx != nil:
		return errors.New("it counts in a transaction that writes")
	case c.Verb == storetest.Update && c.Table == "survey_instance":
		return h.rewritten(c)
	}
	return nil
}

// rewritten writes the rows of a call as they are stored.
func (h *host) rewritten(c storetest.Call) error {
	for _, r := range c.Rows {
		mine := r.(*survey.InstanceRow)
		stored, err := instanceTable.Get(h.t.Context(), c.Tx, mine.Scope, mine.Key)
		if err == nil {
			err = instanceTable.Save(h.t.Context(), c.Tx, stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Where others are quicker with a whole page, the sweep leaves the rest to them.
func TestASweepThatFreedNothingEnds(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.publish(definition("0d", nil))
		h.take(visits(0, 1000))
		h.use(survey.Options{}) // no channels
		for range 2 {
			if err := h.survey.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.clock.Add(50 * time.Minute)
		}
		outrun := &storetest.Spy{Store: h.store, Hook: h.outrun}
		if err := survey.New(outrun, nil).Sweep(t.Context()); err != nil || outrun.Begun() != 4 {
			t.Errorf("%v after %d transactions", err, outrun.Begun())
		}
	})
}
