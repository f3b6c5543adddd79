package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/belfry-go/belfry/survey"
)

const ticketFolder = "tickets"

// desk opens a ticket for a complaint. Which responses are complaints, the survey's
// routing says; the desk does not know.
type desk struct {
	dir   string
	tell  say
	calls atomic.Int64
}

// Key is its name in the survey's routing.
func (d *desk) Key() string { return "tickets" }

// Dispatch writes the ticket. A response that comes twice, as it may, has one ticket:
// that of its link.
func (d *desk) Dispatch(_ context.Context, e survey.ResponseCompleted) error {
	d.calls.Add(1)
	var answers struct {
		Rate      json.Number `json:"rate"`
		Complaint string      `json:"complaint"`
	}
	var visit struct {
		WIP string `json:"wip"`
	}
	if err := json.Unmarshal(e.Answers, &answers); err != nil {
		return fmt.Errorf("%w: %w", survey.ErrRefused, err) // it would not be better the next time
	}
	if err := json.Unmarshal(e.CandidateMetadata, &visit); err != nil {
		return fmt.Errorf("%w: %w", survey.ErrRefused, err)
	}
	ticket := filepath.Join(d.dir, e.InstancePublicID+".txt")
	text := fmt.Sprintf("Complaint of %s about order %s, rated %s of 10:\n%s\n", e.CustomerRef, visit.WIP, answers.Rate, answers.Complaint)
	if err := os.WriteFile(ticket, []byte(text), 0o600); err != nil {
		return err
	}
	d.tell("a complaint of %s: ticket %s", e.CustomerRef, ticket)
	return nil
}
