package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
)

// line is what the worker tells its parent, as one line of JSON.
type line struct {
	Now     time.Time     `json:"now"`
	Made    int           `json:"made"` // recipients that the campaign is done with
	Sent    int64         `json:"sent"`
	Poll    int           `json:"poll"`
	Left    time.Duration `json:"left,omitempty"`
	Calling bool          `json:"calling,omitempty"` // a mail is out, and nobody has written that down
	Alarm   bool          `json:"alarm,omitempty"`   // the alarm went out in this poll
}

// worker polls, and tells how far it is.
type worker struct {
	*club
	tell    *json.Encoder
	real    clock.Clock
	sent    atomic.Int64
	alarmed atomic.Bool
	polls   int
}

// work polls until the campaign is over. Where nothing is due before a wait is
// over, its clock jumps.
func work(ctx context.Context, s settings, stdout io.Writer) error {
	now, err := time.Parse(time.RFC3339Nano, s.now)
	if err != nil {
		return err
	}
	provider, err := openJournal(filepath.Join(s.dir, "journal.txt"))
	if err != nil {
		return err
	}
	c, err := openClub(ctx, s, now, provider)
	if err != nil {
		return err
	}
	defer c.store.Close()
	w := &worker{club: c, tell: json.NewEncoder(stdout), real: clock.New()}
	provider.call = func(to string) { w.called(to, s.stall) }
	poller := belfry.NewPoller(c.store, nil, c.out)
	for {
		before := w.real.Now()
		report, err := poller.PollOnce(ctx, 1000)
		if err != nil {
			return err
		}
		w.polls++
		c.clk.Add(w.real.Since(before))
		p, err := c.out.Campaigns().Progress(ctx, "", guid)
		if err != nil {
			return err
		}
		if err := w.tell.Encode(w.line(p)); err != nil {
			return err
		}
		if report.Claimed == 0 {
			if p.Status == notify.StatusGenerated {
				return nil
			}
			c.clk.Add(time.Minute)
		}
	}
}

func (w *worker) line(p notify.CampaignProgress) line {
	return line{Now: w.clk.Now(), Made: p.Done, Sent: w.sent.Load(), Poll: w.polls, Left: p.Left, Alarm: w.alarmed.Swap(false)}
}

// called counts a mail, and stops for ever in the one in which the worker is to
// be killed.
func (w *worker) called(to string, stall int) {
	if to == warden {
		w.alarmed.Store(true)
		return
	}
	if w.sent.Add(1) == int64(stall) {
		_ = w.tell.Encode(line{Now: w.clk.Now(), Sent: int64(stall), Poll: w.polls, Calling: true})
		select {} // until it is killed
	}
}
