package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// tick is the outside timer of a host that runs no poller: it posts until nothing is
// due, and says how many rows were.
func (t *story) tick(ctx context.Context) (sum int, err error) {
	for {
		got, err := t.machine.do(ctx, http.MethodPost, "/api/Surveys/scheduler/tick", "", "")
		if err != nil {
			return sum, err
		}
		var done struct{ Processed int }
		if err := json.Unmarshal([]byte(got.body), &done); err != nil || got.status != http.StatusOK {
			return sum, fmt.Errorf("tick: %d %s", got.status, got.body)
		}
		if done.Processed == 0 {
			return sum, nil
		}
		sum += done.Processed
	}
}

// pass lets d pass, with a tick every now and then.
func (t *story) pass(ctx context.Context, d, every time.Duration) (sum int, err error) {
	for end := t.clk.Now().Add(d); t.clk.Now().Before(end); {
		t.clk.Add(min(every, end.Sub(t.clk.Now())))
		n, err := t.tick(ctx)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// look is what the administrator sees of a customer's link.
func (t *story) look(ctx context.Context, address string) (s linkStory, err error) {
	got, err := t.machine.do(ctx, http.MethodGet, "/admin/links/"+t.ids[address], "", "")
	if err != nil {
		return s, err
	}
	if got.status != http.StatusOK {
		return s, fmt.Errorf("the link of %s: %d %s", address, got.status, got.body)
	}
	return s, json.Unmarshal([]byte(got.body), &s)
}

// is compares the status of a customer's link.
func (t *story) is(ctx context.Context, address, want string) error {
	s, err := t.look(ctx, address)
	if err != nil {
		return err
	}
	return expect("the link of "+address, s.Status, want)
}
