package automation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
)

// decode reads the row's columns; what cannot be read is put on hold.
func (b *batch) decode(context.Context) {
	for _, t := range b.open() {
		t.due, t.err = t.row.due()
		t.broken = t.err != nil
	}
}

// loadSettings asks for the settings of all rows at once. If that fails they are
// asked for one by one, so that a bad one fails its own rows only.
func (b *batch) loadSettings(ctx context.Context) {
	for scope, bySetting := range b.bySetting() {
		ids := slices.Collect(maps.Keys(bySetting))
		if b.loadSome(ctx, scope, ids, bySetting) == nil {
			continue
		}
		for _, id := range ids {
			err := b.loadSome(ctx, scope, []string{id}, bySetting)
			for _, t := range bySetting[id] {
				t.err = err
			}
		}
	}
}

// bySetting sorts the tries under way.
func (b *batch) bySetting() map[Scope]map[string][]*try {
	out := map[Scope]map[string][]*try{}
	for _, t := range b.open() {
		of := out[t.row.Scope]
		if of == nil {
			of = map[string][]*try{}
			out[t.row.Scope] = of
		}
		of[t.row.Setting] = append(of[t.row.Setting], t)
	}
	return out
}

func (b *batch) loadSome(ctx context.Context, scope Scope, ids []string, bySetting map[string][]*try) error {
	var loaded []Setting
	err := work.Guard(func() (err error) {
		loaded, err = b.s.settings(ctx, scope, ids)
		return err
	})
	for i, setting := range loaded {
		for _, t := range bySetting[ids[i]] {
			t.due.Setting = setting
			if !setting.Active {
				t.stop = ReminderSettingInactive
			}
		}
	}
	return err
}

// checkLateness ends what is not worth its work any more.
func (b *batch) checkLateness(context.Context) {
	for _, t := range b.open() {
		if b.lateness.tooLate(b.now, t.row.ScheduledOn) {
			t.stop = TooLate
		}
	}
}

// revalidate asks whether the source still wants what the row stands for.
func (b *batch) revalidate(context.Context) {
	if b.reminder.Validator == nil {
		return
	}
	b.each(func(t *try) error {
		v, err := b.reminder.Validator.Validate(t.ctx, t.due)
		if err != nil {
			return err
		}
		t.validity = v.word()
		if t.stop = v.why(); t.stop != "" {
			return nil
		}
		return b.compare(t, v)
	})
}

// compare ends a row that the source's candidates of now do not ask for, or
// whose condition they no longer meet, and asks for them.
func (b *batch) compare(t *try, v Validity) error {
	plans, err := b.s.plansOf(t.ctx, t.row.Type, t.row.Scope, t.due.Source, v.candidates)
	if err != nil {
		return err
	}
	p, known, wanted := lookUp(plans, t.row)
	if wanted {
		t.due.measured(p)
		return nil
	}
	if len(plans) > 0 {
		t.stop = InputChanged
		if known {
			t.stop = ThresholdNoLongerMet
		}
		origin := Event{Scope: t.row.Scope, Type: string(InputChanged), Source: t.due.Source, Version: v.version}
		t.decision = &decision{plans: readAt(v.version, plans), origin: origin}
	}
	return nil
}

// resolveRecipients asks whom to tell.
func (b *batch) resolveRecipients(ctx context.Context) {
	if batch, ok := b.reminder.Recipients.(BatchRecipientProvider); ok {
		b.resolveTogether(ctx, batch, b.open())
	} else {
		b.each(func(t *try) (err error) {
			t.to, err = b.reminder.Recipients.Recipients(t.ctx, t.due)
			return err
		})
	}
	for _, t := range b.open() {
		if t.resolved = len(t.to); t.resolved == 0 {
			t.stop = NoRecipients
		}
	}
}

// resolveTogether asks for many rows at once, and if that fails row by row.
func (b *batch) resolveTogether(ctx context.Context, p BatchRecipientProvider, tries []*try) {
	due := make([]Due, len(tries))
	for i, t := range tries {
		due[i] = t.due
	}
	var to [][]notify.Recipient
	err := work.Guard(func() (err error) {
		to, err = p.RecipientsOf(ctx, due)
		if err == nil && len(to) != len(due) {
			err = fmt.Errorf("automation: %d lists of recipients for %d rows", len(to), len(due))
		}
		return err
	})
	switch {
	case err == nil:
		for i, t := range tries {
			t.to = to[i]
		}
	case len(tries) == 1:
		tries[0].err = err
	default:
		for _, t := range tries {
			b.resolveTogether(ctx, p, []*try{t})
		}
	}
}

// applyPolicy gives the host the last word on recipients and channels.
func (b *batch) applyPolicy(context.Context) {
	if b.reminder.Policy == nil {
		return
	}
	b.each(func(t *try) (err error) {
		t.to, err = b.reminder.Policy.Deliver(t.ctx, t.due, t.to)
		if err == nil && len(t.to) == 0 {
			t.stop = SkippedByPolicy
		}
		return err
	})
}
