package main

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// line is what the worker tells its parent, as one line of JSON.
type line struct {
	Now     time.Time `json:"now"`
	Sent    int64     `json:"sent,omitempty"`
	Calling bool      `json:"calling,omitempty"` // the mail is out, and nobody has written that down
	Renewed string    `json:"renewed,omitempty"`
}

// killedOn is a morning on which many mails go out at once. It is in the middle
// of them that the worker dies.
var killedOn = time.Date(2026, 3, 11, 9, 0, 0, 0, time.UTC)

// The certificate that is renewed, when, and until when it is valid then.
const renewedID = "teacher-017-first-aid"

var (
	renewedOn    = time.Date(2026, 4, 8, 10, 0, 0, 0, time.UTC)
	renewedUntil = automation.Date{Year: 2028, Month: time.May, Day: 2}
)

// work polls until nothing is due, moves the clock, and polls again.
func work(ctx context.Context, s settings, stdout io.Writer) error {
	now, err := time.Parse(time.RFC3339, s.now)
	if err != nil {
		return err
	}
	tell := json.NewEncoder(stdout)
	counted := &countingChannel{}
	store, clk, school, err := openSchool(ctx, s, now, counted.decorate)
	if err != nil {
		return err
	}
	defer store.Close()
	counted.stall = func() {
		if s.stall && !clk.Now().Before(killedOn) {
			_ = tell.Encode(line{Now: clk.Now(), Calling: true})
			select {} // until it is killed
		}
	}
	poller := belfry.NewPoller(store, nil, school.reminders, school.out)
	renewed := false
	for ; clk.Now().Before(lastDay); clk.Add(3 * time.Hour) {
		if !renewed && !clk.Now().Before(renewedOn) {
			renewed = true
			if _, err := school.renew(ctx, renewedID, renewedUntil); err != nil {
				return err
			}
			if err := tell.Encode(line{Now: clk.Now(), Renewed: renewedID}); err != nil {
				return err
			}
		}
		if err := poller.Drain(ctx); err != nil {
			return err
		}
		if err := tell.Encode(line{Now: clk.Now(), Sent: counted.sent.Load()}); err != nil {
			return err
		}
	}
	return nil
}

// countingChannel counts what goes out, and can stop for ever in a call.
type countingChannel struct {
	notify.Channel
	sent  atomic.Int64
	stall func()
}

func (c *countingChannel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	receipt, err := c.Channel.Send(ctx, m)
	if err == nil {
		c.sent.Add(1)
		c.stall()
	}
	return receipt, err
}

// decorate keeps the ability to tell afterwards what was sent, if there is one.
func (c *countingChannel) decorate(channel notify.Channel) notify.Channel {
	c.Channel = channel
	if lookup, ok := c.Channel.(notify.StatusLookup); ok {
		return struct {
			*countingChannel
			notify.StatusLookup
		}{c, lookup}
	}
	return c
}
