package main

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
)

// explain answers what customers ask support.
func (s *story) explain(ctx context.Context) error {
	key, err := keys.Reminder{
		Setting: setting, SourceType: "invoice", Source: "1002", TriggerKey: "default",
		TargetDate: s.books.invoice("1002").due.String(), OffsetDays: 3,
	}.Key()
	if err != nil {
		return err
	}
	why, err := s.reminders.Explain(ctx, "", key)
	if err != nil {
		return err
	}
	s.say("\nWhy did Ben get no reminder 3 days before 1002 was due? Explain says:\n%s", why)
	if why.Schedule == nil || why.Schedule.ReasonCode != "Paid" {
		return fmt.Errorf("%s should have ended as Paid", key)
	}
	absence, err := s.reminders.ExplainMissing(ctx, "", setting, automation.Source{Type: "invoice", ID: "1006"})
	if err != nil {
		return err
	}
	s.say("\nWhy was Fay never reminded of 1006? ExplainMissing says:\n%s", absence)
	if absence.Cause != automation.CauseOffsetPassed || len(absence.Findings) != 5 {
		return fmt.Errorf("1006 should have five offsets whose moment was over: %+v", absence)
	}
	return nil
}
