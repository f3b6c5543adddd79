package automation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage/driver"
)

// ScopedSource is a source in a tenant.
type ScopedSource struct {
	Scope  Scope
	Source Source
}

// SourceCandidates are all that a source should be reminded of now.
type SourceCandidates struct {
	// Version is that of the state that they were made from, as in [Event]; zero:
	// the source has no versions.
	Version    int64
	Candidates []Candidate
}

// CandidatesProvider is for a [TriggerProvider] that can say without an event what
// sources should be reminded of. With it a wish stays current: due rows are compared
// with what it says at their moment, and a [Replan] asks it after settings have
// changed. It loads the sources by what they are now; one that is gone has no
// candidates. It may be called from several goroutines, also inside a transaction
// (see [TxOf]), and changes nothing.
type CandidatesProvider interface {
	// CandidatesOf answers for many sources, in their order. If it fails it is asked
	// about one at a time, so that a bad one fails by itself.
	CandidatesOf(ctx context.Context, of []ScopedSource) ([]SourceCandidates, error)
}

// SettingAsker is for the Data of a [Setting] that can say what the setting asks
// for now about what a row is about. It is used for types that have no
// [CandidatesProvider]. It may be called from several goroutines and changes nothing.
type SettingAsker interface {
	// Asks reports whether the setting still asks for the row, and gives all that it
	// asks for about the row's target date, or its series. It names no Identity.
	Asks(d Due) (c []Candidate, wanted bool)
}

// candidatesOf asks a provider about sources; an error is about the source in its
// place.
func candidatesOf(ctx context.Context, p CandidatesProvider, of []ScopedSource) ([]SourceCandidates, []error) {
	errs := make([]error, len(of))
	if len(of) == 0 {
		return nil, errs
	}
	out, err := askTogether(ctx, p, of)
	switch {
	case err == nil:
	case len(of) == 1 || ctx.Err() != nil:
		out = make([]SourceCandidates, len(of))
		for i := range errs {
			errs[i] = err
		}
	default:
		out = nil
		for i := range of {
			one, err := candidatesOf(ctx, p, of[i:i+1])
			out, errs[i] = append(out, one...), err[0]
		}
	}
	return out, errs
}

func askTogether(ctx context.Context, p CandidatesProvider, of []ScopedSource) (out []SourceCandidates, err error) {
	err = work.Guard(func() error {
		out, err = p.CandidatesOf(ctx, slices.Clone(of))
		if err == nil && len(out) != len(of) {
			err = fmt.Errorf("automation: %d lists of candidates for %d sources", len(out), len(of))
		}
		return err
	})
	return out, err
}

// askNow asks about the sources of open rows of a setting.
func (p *scannedPage) askNow(setting string) func(context.Context, []*scannedSource) {
	p.setting = setting
	if provider, ok := p.t.candidates(); ok {
		return func(ctx context.Context, among []*scannedSource) { p.askCandidates(ctx, provider, among) }
	}
	return p.askSetting
}

// askCandidates asks the provider. Rows of other settings are compared with theirs.
func (p *scannedPage) askCandidates(ctx context.Context, provider CandidatesProvider, among []*scannedSource) {
	of := make([]ScopedSource, len(among))
	for i, x := range among {
		of[i] = ScopedSource{p.scope, x.event.Source}
	}
	answers, errs := candidatesOf(ctx, provider, of)
	for i, x := range among {
		if x.err = errs[i]; x.err != nil {
			continue
		}
		x.event.Version = answers[i].Version
		x.plan.plans, x.err = p.s.planner().plansOf(ctx, p.t.Name, p.scope, x.event.Source, answers[i].Candidates)
		x.plan.spoken = []string{p.setting}
		for _, plan := range x.plan.plans {
			x.plan.spoken = append(x.plan.spoken, plan.want.Setting)
		}
	}
}

// askSetting compares the open rows of sources with their setting.
func (p *scannedPage) askSetting(ctx context.Context, among []*scannedSource) {
	rows, settings, err := p.loadSetting(ctx, among)
	for _, x := range among {
		x.err = err
		if err == nil {
			x.err = p.askRows(ctx, x, settings[0], rows[x.event.Source.ID])
		}
	}
}

func (p *scannedPage) loadSetting(ctx context.Context, among []*scannedSource) (map[string][]*scheduleRow, []Setting, error) {
	settings, err := p.s.settings(ctx, p.scope, []string{p.setting})
	if err != nil {
		return nil, nil, err
	}
	for _, x := range among {
		x.plan.spoken = []string{p.setting}
	}
	rows := map[string][]*scheduleRow{}
	read := func(from driver.Reader) error {
		clear(rows)
		all, err := p.openRows(ctx, from, among)
		for _, row := range all {
			rows[row.Source] = append(rows[row.Source], row)
		}
		return err
	}
	if tx, ok := TxOf(ctx); ok {
		return rows, settings, read(tx)
	}
	return rows, settings, p.s.read(ctx, read)
}

// askRows says what a setting wants of one source. A setting that cannot tell is not
// spoken for.
func (p *scannedPage) askRows(ctx context.Context, x *scannedSource, setting Setting, rows []*scheduleRow) error {
	asker, ok := setting.Data.(SettingAsker)
	if setting.Active && !ok {
		x.plan.spoken = nil
		return nil
	}
	x.plan.kept = map[string]bool{}
	var all []plan
	for _, row := range rows {
		if !setting.Active || row.Kind != p.t.Name {
			continue
		}
		due, err := row.due()
		if err != nil {
			return err
		}
		due.Setting = setting
		plans, wanted, err := p.s.planner().asked(ctx, row, due, asker)
		if err != nil {
			return err
		}
		all, x.plan.kept[row.Key] = append(all, plans...), wanted
	}
	x.plan.plans = distinct(all)
	return nil
}

// asked is what a setting wants for a row: whether the row stays, and the plans for
// what it asks for about the same. Of a row with an Identity of its own only the row
// itself is planned, since that of others is not known.
func (s planner) asked(ctx context.Context, row *scheduleRow, due Due, asker SettingAsker) ([]plan, bool, error) {
	var candidates []Candidate
	var wanted bool
	err := work.Guard(func() error {
		candidates, wanted = asker.Asks(due)
		return nil
	})
	if err != nil || row.baseKey() != row.Key {
		return nil, wanted, err
	}
	for i := range candidates {
		candidates[i].TriggerKey = cmp.Or(candidates[i].TriggerKey, due.TriggerKey)
		candidates[i].Setting = cmp.Or(candidates[i].Setting, row.Setting)
		candidates[i].Person = cmp.Or(candidates[i].Person, row.Person)
	}
	plans, err := s.plansOf(ctx, row.Kind, row.Scope, due.Source, candidates)
	if err != nil || row.plain() {
		return plans, wanted, err
	}
	plans = slices.DeleteFunc(plans, func(p plan) bool { return p.want.Key != row.Key })
	for i := range plans {
		plans[i].want.InputHash = row.InputHash
	}
	return plans, wanted, nil
}

// plain reports whether the row stands for nothing that its columns do not say.
func (r *scheduleRow) plain() bool {
	c := Candidate{Setting: r.Setting, TriggerKey: r.TriggerKey, Source: Source{r.SourceType, r.Source}}
	in := keys.Input{}
	switch r.TriggerType {
	case DateBased:
		in = keys.Input{TargetDate: r.TargetDate, OffsetDays: r.DaysBefore}
	case InstantBased:
		in = instantInput(r.Key)
	}
	row := c.row(r.Key, r.TriggerType, in)
	return row.InputHash == r.InputHash
}

// checkCurrent compares due rows with what their sources, or settings, ask for now
// (Automation & Reminders, "Execution-time revalidation"). A row that support had
// done once more stays.
func (b *batch) checkCurrent(ctx context.Context) {
	ctx = remembering(ctx)
	var tries []*try
	for _, t := range b.open() {
		if t.row.baseKey() == t.row.Key {
			tries = append(tries, t)
		}
	}
	if provider, ok := b.reminder.candidates(); ok {
		b.compareWithSources(ctx, provider, tries)
		return
	}
	for _, t := range tries {
		t.err = b.compareWithSetting(ctx, t)
	}
}

// compareWithSources asks about the sources of all rows at once.
func (b *batch) compareWithSources(ctx context.Context, provider CandidatesProvider, tries []*try) {
	of := make([]ScopedSource, len(tries))
	for i, t := range tries {
		of[i] = ScopedSource{t.row.Scope, t.due.Source}
	}
	answers, errs := candidatesOf(ctx, provider, of)
	for i, t := range tries {
		if t.err = errs[i]; t.err == nil {
			t.err = b.compareWithSource(ctx, t, answers[i])
		}
	}
}

func (b *batch) compareWithSource(ctx context.Context, t *try, now SourceCandidates) error {
	plans, err := b.s.planner().plansOf(ctx, t.row.Kind, t.row.Scope, t.due.Source, now.Candidates)
	if err != nil {
		return err
	}
	p, known, wanted := lookUp(plans, t.row)
	switch {
	case wanted:
		t.due.measured(p)
		t.moveTo(b, p, now.Version)
	case len(plans) == 0:
		t.stop = Superseded
	default:
		t.change(b, known, now.Version, plans)
	}
	return nil
}

// moveTo has a row wait for its moment of now, if that lies ahead.
func (t *try) moveTo(b *batch, p plan, version int64) {
	if p.want.TriggerType != DateBased || p.skipped {
		return
	}
	if t.moment = p.want.ScheduledOn; t.moment.After(b.now) {
		t.later = true
		t.ask(b, version, []plan{p})
	}
}

// compareWithSetting asks the setting that was loaded about one row. What it asks for is
// planned if the row is not as it says, and of a date in any case: the zone, calendar or
// time of day may have changed, and the re-plan not have come so far.
func (b *batch) compareWithSetting(ctx context.Context, t *try) error {
	asker, ok := t.due.Setting.Data.(SettingAsker)
	if !ok {
		return nil
	}
	return work.Guard(func() error {
		if t.row.TriggerType != DateBased {
			if _, wanted := asker.Asks(t.due); wanted {
				return nil
			}
		}
		plans, wanted, err := b.s.planner().asked(sharing(t.ctx, ctx), t.row, t.due, asker)
		if err != nil {
			return err
		}
		if !wanted {
			t.stop = Superseded
			t.ask(b, 0, plans)
			return nil
		}
		if p, _, found := lookUp(plans, t.row); found {
			t.moveTo(b, p, 0)
		}
		return nil
	})
}
