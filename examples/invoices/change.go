package main

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
)

// changeSettings changes the settings, looks what that would do to the invoices
// that exist, and does it.
func (s *story) changeSettings(ctx context.Context) error {
	if err := change(ctx, s.settings); err != nil {
		return err
	}
	s.say("%s: the settings change to 7 days after as well, and to 08:00. A dry run says what that means:", s.today())
	planned, err := s.reconcile(ctx, true)
	if err != nil {
		return err
	}
	for _, d := range planned.Differences {
		s.say("  %s %s", d.Kind, d.Key)
	}
	s.say("  %d invoices: %d reminders to make, %d to move, %d whose moment is over",
		planned.Scanned, planned.Created, planned.Updated, planned.OffsetPassed)
	if planned.Created != 4 || planned.Updated != 13 || planned.OffsetPassed != 1 {
		return fmt.Errorf("the dry run would do something else: %+v", planned)
	}
	done, err := s.reconcile(ctx, false)
	if err != nil {
		return err
	}
	again, err := s.reconcile(ctx, true)
	if err != nil {
		return err
	}
	s.say("Done: %d made, %d moved; %d differences are left. The mails:", done.Created, done.Updated, len(again.Differences))
	if done.Created != planned.Created || done.Updated != planned.Updated || len(again.Differences) > 0 {
		return fmt.Errorf("the run did not do what the dry run said: %+v, then %+v", done, again)
	}
	return nil
}

// reconcile looks at every open invoice, since a change of settings is no change
// of theirs.
func (s *story) reconcile(ctx context.Context, dry bool) (automation.ReconcileReport, error) {
	return s.reminders.Reconcile(ctx, "", reminder, &automation.ReconcileOptions{DryRun: dry, FromStart: true})
}
