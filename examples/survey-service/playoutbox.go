package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// outbox passes the responses on; the warehouse is away.
func (t *story) outbox(ctx context.Context) error {
	calls, err := t.tick(ctx)
	if err != nil {
		return err
	}
	a, err := t.look(ctx, unhappy)
	if err != nil {
		return err
	}
	b, err := t.look(ctx, content)
	if err != nil {
		return err
	}
	tickets, err := t.tickets()
	if err != nil {
		return err
	}
	t.at("The timer ticks. has-a-complaint is yes, so a ticket is opened:")
	for line := range strings.Lines(tickets) {
		t.more("  %s", strings.TrimSpace(line))
	}
	t.more("The warehouse is away: both responses wait for it.")
	return errors.Join(
		expect("calls of subscribers", calls, 3), expect("the complaint", fmt.Sprint(a.Subscribers), "map[tickets:Dispatched warehouse:Pending]"),
		expect("the other response", fmt.Sprint(b.Subscribers), "map[warehouse:Pending]"),
		expect("the ticket", tickets, "Complaint of cust-123 about order 40956, rated 3 of 10:\nThe radio is gone.\n"),
	)
}

// tickets are all that were opened, as one text.
func (t *story) tickets() (string, error) {
	names, err := filepath.Glob(filepath.Join(t.path(ticketFolder), "*.txt"))
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), err
}

// deadLetter lets the service try until it gives up.
func (t *story) deadLetter(ctx context.Context) error {
	if _, err := t.pass(ctx, 4*24*time.Hour, time.Hour); err != nil {
		return err
	}
	a, err := t.look(ctx, unhappy)
	if err != nil {
		return err
	}
	t.at("The warehouse was called %d times for two responses, with growing pauses. They are dead letters now;", t.warehouse.calls.Load())
	t.more("the tickets were called %s, since their call succeeded.", times(t.desk.calls.Load()))
	return errors.Join(
		expect("the complaint", fmt.Sprint(a.Subscribers), "map[tickets:Dispatched warehouse:DeadLetter]"),
		expect("calls of the warehouse", t.warehouse.calls.Load(), 18), expect("calls of the tickets", t.desk.calls.Load(), 1),
	)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprint(n, " times")
}

// replay mends the warehouse and has it called again.
func (t *story) replay(ctx context.Context) error {
	if err := os.Mkdir(t.path(warehouseFolder), 0o700); err != nil {
		return err
	}
	counted, err := t.replayed(ctx, "?dryRun=1&reason=the+warehouse+is+back")
	if err != nil {
		return err
	}
	nothing, err := t.tick(ctx)
	if err != nil {
		return err
	}
	replayed, err := t.replayed(ctx, "?reason=the+warehouse+is+back")
	if err != nil {
		return err
	}
	if _, err := t.tick(ctx); err != nil {
		return err
	}
	a, err := t.look(ctx, unhappy)
	if err != nil {
		return err
	}
	stored, err := filepath.Glob(filepath.Join(t.path(warehouseFolder), "*.json"))
	t.at("The warehouse is back. A dry run counts %d dead letters; replayed, they have %d responses in the warehouse.", counted, len(stored))
	return errors.Join(err,
		expect("the dry run", counted, 2), expect("ticks after the dry run", nothing, 0), expect("the replay", replayed, 2),
		expect("the complaint", fmt.Sprint(a.Subscribers), "map[tickets:Dispatched warehouse:Dispatched]"),
		expect("in the warehouse", len(stored), 2), expect("calls of the tickets", t.desk.calls.Load(), 1),
	)
}

func (t *story) replayed(ctx context.Context, query string) (int, error) {
	got, err := t.machine.do(ctx, http.MethodPost, "/admin/dead-letters/warehouse/replay"+query, "", "")
	if err != nil {
		return 0, err
	}
	var n struct{ Replayed int }
	if err := json.Unmarshal([]byte(got.body), &n); err != nil || got.status != http.StatusOK {
		return 0, fmt.Errorf("replay: %d %s", got.status, got.body)
	}
	return n.Replayed, nil
}
