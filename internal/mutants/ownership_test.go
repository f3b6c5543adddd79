package mutants

// ownershipMutants are faults in the guard that keeps two schedulers apart, and
// in the roll-out. Memory shows them all.
var ownershipMutants = []mutant{
	{
		Name: "I-22 the due pass does not ask the guard", File: "automation/ownershipacquire.go",
		Old: "if !s.registry.guardsAny() {", New: "if true {",
		Package: "./automation", Run: "TestI22_ARunThatTheOldSchedulerDelivered/memory",
	},
	{
		Name: "I-22 the due pass reads the owner and writes nothing", File: "automation/ownershipacquire.go",
		Old: "return storage.Updated, true", New: "return storage.Updated, false",
		Package: "./automation", Run: "TestI22_TheOldSchedulerIsRefused/memory",
	},
	{
		Name: "I-22 the due pass delivers what the old scheduler owns", File: "automation/ownershipacquire.go",
		Old: "&& stored.Owner != AutomationScheduler:\n\t\t\treturn storage.Conflict, false", New: "&& stored.Owner != AutomationScheduler:\n\t\t\treturn storage.Unchanged, false",
		Package: "./automation", Run: "(TestI22_ARunThatTheOldSchedulerDelivered|TestSupportResolvesAConflict)/memory",
	},
	{
		Name: "I-22 the old scheduler delivers what is not its own", File: "automation/ownershipold.go",
		Old: "case stored.Owner != OldScheduler || stored.Status != OwnershipOwned:", New: "case stored.Status != OwnershipOwned:",
		Package: "./automation", Run: "TestI22_TheOldSchedulerIsRefused/memory",
	},
	{
		Name: "I-22 the old scheduler delivers a run twice", File: "automation/ownershipold.go",
		Old: "case stored.Owner != OldScheduler || stored.Status != OwnershipOwned:", New: "case stored.Owner != OldScheduler:",
		Package: "./automation", Run: "TestTheOldSchedulerDeliversARunOnce/memory",
	},
	{
		Name: "I-22 what is delivered changes owner", File: "automation/ownership.go",
		Old: "if o.Status != OwnershipOwned || o.Owner == to {", New: "if o.Owner == to {",
		Package: "./automation", Run: "TestSupportResolvesAConflict/memory",
	},
	{
		Name: "I-22 a row in shadow acquires", File: "automation/rolloutdue.go",
		Old: "if t.err = err; err == nil && !allowed[t] {", New: "if t.err = err; err == nil && allowed == nil {",
		Package: "./automation", Run: "(TestI22_ARetriedShadow|TestARowFromBeforeTheGuard)/memory",
	},
	{
		Name: "I-22 a row in shadow is due", File: "automation/ownershipensure.go",
		Old: "\t\t\tw.shade(g.now)", New: "\t\t\t_ = g.now",
		Package: "./automation", Run: "TestARowInShadowIsNeverDue/memory",
	},
	{
		Name: "I-22 a move back leaves the row to its worker", File: "automation/rolloutruns.go",
		Old: "row.deactivate(s.now(), Shadow)", New: "return n, false",
		Package: "./automation", Run: "(TestI22_AMoveBack|TestAPartMoves)/memory",
	},
	{
		Name: "I-22 what was delivered before the guard is given away", File: "automation/ownershipensure.go",
		Old: "case got.Row.Status == StatusCompleted:", New: "case false:",
		Package: "./automation", Run: "TestWhatWasDeliveredBeforeTheGuard/memory",
	},
	{
		Name: "I-22 another delivery counts as a retry", File: "automation/ownershipacquire.go",
		Old: "if bytes.Equal(stored.Coordinates, want.Coordinates) {", New: "if bytes.Equal(stored.Coordinates, stored.Coordinates) {",
		Package: "./automation", Run: "TestARetryIsTheSameDelivery/memory",
	},
	{
		Name: "I-22 nothing to deliver leaves the run open", File: "automation/ownershipacquire.go",
		Old: "o.Status = OwnershipCancelled", New: "return nil",
		Package: "./automation", Run: "TestARunWithNothingToDeliver/memory",
	},
	{
		Name: "I-28 conflicts of all tenants", File: "automation/ownershipsupport.go",
		Old: "rows, err := schedules.Find(ctx, tx, scope, storage.Query{\n\t\t\tWhere: []storage.Cond{\n\t\t\t\tstorage.Eq(\"is_on", New: "rows, err := schedules.Find(ctx, tx, storage.AnyScope, storage.Query{\n\t\t\tWhere: []storage.Cond{\n\t\t\t\tstorage.Eq(\"is_on",
		Package: "./automation", Run: "TestI22_ARunThatTheOldSchedulerDelivered/memory",
	},
	{
		Name: "I-28 a stage of one tenant is another's", File: "automation/rolloutpart.go",
		Old: "out[r.view().RolloutPart] = r.Stage", New: "part := r.view().RolloutPart\n\t\t\t\tfor scope := range wanted {\n\t\t\t\t\tpart.Scope = scope\n\t\t\t\t\tout[part] = max(out[part], r.Stage)\n\t\t\t\t}",
		Package: "./automation", Run: "TestI28_TheGuardKeepsTenantsApart/memory",
	},
	{
		Name: "rollout: a move takes what has come", File: "automation/rolloutruns.go",
		Old: "storage.Eq(\"owner_type\", string(OldScheduler)), storage.Greater(\"scheduled_on\", m.now))", New: "storage.Eq(\"owner_type\", string(OldScheduler)))",
		Package: "./automation", Run: "TestAMoveForwardLeaves/memory",
	},
	{
		Name: "rollout: a dry run writes", File: "automation/rolloutruns.go",
		Old: "if m.report.DryRun {\n\t\treturn moved, nil\n\t}", New: "",
		Package: "./automation", Run: "TestAPartMovesForthAndBack/memory",
	},
	{
		Name: "rollout: the widest part counts", File: "automation/rolloutpart.go",
		Old: "for _, setting := range slices.Compact([]string{p.Setting, \"\"}) {", New: "for _, setting := range slices.Compact([]string{\"\", p.Setting}) {",
		Package: "./automation", Run: "TestTheNarrowestPartCounts/memory",
	},
	{
		Name: "rollout: stages are skipped", File: "automation/rolloutmove.go",
		Old: "if to > m.report.From+1 {", New: "if false {",
		Package: "./automation", Run: "TestAMoveRefuses",
	},
	{
		Name: "rollout: a move that was cut off counts as finished", File: "automation/rolloutmove.go",
		Old: "rolloutMoving, m.by.Actor", New: "rolloutSettled, m.by.Actor",
		Package: "./automation", Run: "TestAMoveIsFinished",
	},
	{
		Name: "rollout: events leave rows in shadow", File: "automation/deactivate.go",
		Old: "return d, s.endShadows(ctx, d, where)", New: "return d, nil",
		Package: "./automation", Run: "TestEventsEndRowsInShadow/memory",
	},
	{
		Name: "rollout: a series sleeps on after the cut-over", File: "automation/rolloutseries.go",
		Old: "if m.report.DryRun || !m.report.To.runs(\"\") {", New: "if true {",
		Package: "./automation", Run: "TestASeriesInShadow/memory",
	},
	{
		Name: "rollout: a comparison sees rows only", File: "automation/rolloutcompare.go",
		Old: "return c.readSeries(ctx, tx)", New: "return nil",
		Package: "./automation", Run: "TestASeriesInShadow/memory",
	},
	{
		Name: "rollout: what is not wanted any more is expected", File: "automation/rolloutcompare.go",
		Old: "row.Status != StatusDeactivated || row.inShadow()", New: "true",
		Package: "./automation", Run: "TestAComparisonNames/memory",
	},
	{
		Name: "rollout: a double delivery is not told", File: "automation/rolloutold.go",
		Old: "case known && was.ran(AutomationScheduler):", New: "case false:",
		Package: "./automation", Run: "TestAReportTellsWhere/memory",
	},
	{
		Name: "rollout: what only the published SQL recorded belongs to no source", File: "automation/rolloutwindow.go",
		Old: "if o.SourceType == \"\" {", New: "if o.Key == \"\" {",
		Package: "./automation", Run: "TestThePublishedSQLGuardsAnOldSchedulerOnSQLite",
	},
	{
		Name: "I-22 a refused transfer has written", File: "automation/ownershipsupport.go",
		Old: "if now := *o; !now.give(to) {", New: "if now := *o; false && !now.give(to) {",
		Package: "./automation", Run: "TestARefusedTransferWritesNothing/memory",
	},
	{
		Name: "I-22 killed: the due pass does not ask the guard", File: "automation/ownershipacquire.go",
		Old: "if !s.registry.guardsAny() {", New: "if true {",
		Package: "./internal/chaostest", Run: "TestI22_KilledSchedulers/sqlite",
	},
	{
		Name: "rollout: a series stops behind what the old scheduler has", File: "automation/seriesshadow.go",
		Old: "if stages.of(parts[i]).runs(r.Key) {", New: "if stages.of(parts[i]).runs(r.Key) && false {",
		Package: "./automation", Run: "TestASeriesGoesOnBehind/it_asked.*/memory",
	},
	{
		Name: "rollout: a series stops behind a run that came early", File: "automation/rolloutseries.go",
		Old: "(ended[d.ID] || !d.NextOn.After(s.now()))", New: "(ended[0] || !d.NextOn.After(s.now()))",
		Package: "./automation", Run: "TestASeriesGoesOnBehind/it_ran_before_its_moment,_then_the_part.*/memory",
	},
	{
		Name: "rollout: a series stops at a run that support gave back", File: "automation/ownershipsupport.go",
		Old: "return s.advance(ctx, tx, left)", New: "return s.advance(ctx, tx, left[:0])",
		Package: "./automation", Run: "TestASeriesGoesOnBehind/support.*/memory",
	},
	{
		Name: "rollout: a series that sleeps behind its part is not lost", File: "automation/seriesmissing.go",
		Old: "case row.inShadow():\n\t\t\tif slices", New: "case row.inShadow():\n\t\t\tif false && slices",
		Package: "./automation", Run: "TestASeriesThatSleeps/memory",
	},
}
