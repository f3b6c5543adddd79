package survey_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
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

// elsewhere has the host be a process with another channel alone.
func (h *host) elsewhere() {
	h.use(survey.Options{Elsewhere: true}, channel.Func("sms:other", h.send))
}

// The second: no process has the channel. The message waits on hold, and the link expires.
func TestALinkWhoseChannelNoProcessHasExpires(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.elsewhere()
		id := h.linked(csiGR)
		h.at(0)
		h.at(59 * time.Minute)
		if i := h.status(id, survey.StatusPending); i.NextSendOn.IsZero() || i.IsOnSupportHold {
			h.t.Fatalf("stopped too early: %+v", i)
		}
		h.at(80 * time.Minute)
		if i := h.status(id, survey.StatusPending); i.ReasonCode != reasons.Unserved || i.NextSendOn.IsZero() {
			h.t.Fatalf("the row is %+v", i)
		}
		h.at(30 * day)
		h.status(id, survey.StatusExpired)
		h.use(survey.Options{}, h.memory())
		h.at(31 * day)
		if n := len(h.sent()); n != 0 {
			h.t.Errorf("%d sends of a link that has expired", n)
		}
	})
}

// The third: the tickers were down for longer than the grace. It is not sent after
// all.
func TestALinkThatNobodyGotToExpiresUnsent(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("2d", nil))
		h.at(32 * day)
		i := h.status(id, survey.StatusExpired)
		if len(h.sent()) != 0 || i.ReasonCode != reasons.TooLate {
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

// A link that is never sent stays open for as long as its schedule runs, and its message is
// tried for as long as its grace.
func TestAScheduleLongerThanTheGraceIsNotCutOff(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("60d", nil))
		h.at(45 * day)
		h.status(id, survey.StatusPending)
		h.fails(errors.New("away"))
		h.at(60 * day)
		h.at(90*day - time.Second)
		if i := h.status(id, survey.StatusPending); i.NextSendOn.IsZero() || len(h.sent()) != 2 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		h.at(90 * day)
		if i := h.status(id, survey.StatusExpired); i.ReasonCode != reasons.TooLate {
			h.t.Errorf("%+v", i)
		}
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
		if i := h.status(id, survey.StatusExpired); i.ReasonCode != reasons.ExpiresAfter || len(h.sent()) != 1 {
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

// A rolling deployment: for a while, however long, only processes without the channel run, or
// without any.
func TestASendWaitsForAProcessThatHasItsChannel(t *testing.T) {
	for name, without := range map[string]func(*host){
		"another channel": (*host).elsewhere, "no channel": func(h *host) { h.use(survey.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			eachHost(t, nil, func(h *host) {
				without(h)
				id := h.linked(csiGR)
				for _, after := range []time.Duration{0, 20 * time.Minute, 50 * time.Minute, 5 * time.Hour} {
					h.at(after)
				}
				h.use(survey.Options{}, h.memory())
				h.at(5*time.Hour + 20*time.Minute)
				h.status(id, survey.StatusSent)
			})
		})
	}
}
