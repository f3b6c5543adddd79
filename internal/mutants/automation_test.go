package mutants

// automationMutants are faults in the due work. Memory shows them all.
var automationMutants = []mutant{
	{
		Name: "automation: plans of an open transaction are used again", File: "automation/ensure.go",
		Old: "if s.tx == nil { // a transaction", New: "if true { // a transaction",
		Package: "./automation", Run: "TestPlansOfAnOpenTransactionAreNotUsedAgain/sqlite",
	},
	{
		Name: "I-3 another input overwrites the row", File: "automation/decide.go",
		Old: "case stored.InputHash != want.InputHash:", New: "case false:",
		Package: "./automation", Run: "TestI3_/memory",
	},
	{
		Name: "I-4 Ensure revives a completed row", File: "automation/decide.go",
		Old: "case stored.Status == StatusCompleted:", New: "case false:",
		Package: "./automation", Run: "TestI4_/memory",
	},
	{
		Name: "I-7 an older event undoes a newer one", File: "automation/sourcestate.go",
		Old: "older[want] = want.SourceVersion != 0 &&", New: "older[want] = false &&",
		Package: "./automation", Run: "TestAnOlderEventCannotUndoANewerOne/memory",
	},
	{
		Name: "I-13 a conflict of delivery rolls its batch back", File: "automation/dispatch.go",
		Old: "if len(answers) != len(all) {", New: "if err != nil || len(answers) != len(all) {",
		Package: "./automation", Run: "TestAConflictOfDeliveryHoldsItsRowOnly/memory",
	},
	{
		Name: "I-13 a conflict in an event rolls it back", File: "automation/handleevent.go",
		Old:     "result, err = s.applyEvent(ctx, tx, e, listeners, p)\n\t\treturn err",
		New:     "result, err = s.applyEvent(ctx, tx, e, listeners, p)\n\t\treturn errors.Join(err, result.conflicts())",
		Package: "./automation", Run: "TestAConflictInAnEventRollsNothingBack/memory",
	},
	{
		Name: "I-13 a row that cannot be read is tried for ever", File: "automation/steps.go",
		Old: "t.broken = t.err != nil", New: "t.broken = false",
		Package: "./automation", Run: "TestARowThatCannotBeReadIsHeldAtOnce/.*/memory",
	},
	{
		Name: "I-15 an edge of the table is never taken", File: "automation/status.go",
		Old: "\tEdges: []states.Edge{", New: "\tEdges: []states.Edge{{From: StatusCancelled, To: StatusDeactivated},",
		Package: "./automation", Run: "TestI15_I16_",
	},
	{
		Name: "I-16 nothing checks a transition", File: "automation/transition.go",
		Old: "machine.Must(r.Status, status)", New: "",
		Package: "./automation", Run: "TestI16_",
	},
	{
		Name: "I-17 a failure is not counted", File: "automation/failure.go",
		Old: "\tr.RetryCount++\n\twait, more", New: "\twait, more",
		Package: "./automation", Run: "TestI17_BackOff/memory",
	},
	{
		Name: "I-17 a lost lease counts twice", File: "automation/failure.go",
		Old: "r.LeaseLossCount++", New: "r.LeaseLossCount, r.RetryCount = r.LeaseLossCount+1, r.RetryCount+1",
		Package: "./automation", Run: "TestI17_LostLeases/memory",
	},
	{
		Name: "I-17 a row on hold is due", File: "automation/schedule.go",
		Old: "case !r.IsOpen() || r.IsOnSupportHold:", New: "case !r.IsOpen():",
		Package: "./automation", Run: "TestEnsureNeverClearsAHold/.*/memory",
	},
	{
		Name: "I-18 a source that is gone is reminded of", File: "automation/steps.go",
		Old: "if t.stop = v.why(); t.stop != \"\" {", New: "if false {",
		Package: "./automation", Run: "TestI18_/.*/memory",
	},
	{
		Name: "I-18 a source that is gone counts as a failure", File: "automation/batch.go",
		Old: "t.row.skip(b.now, t.stop)", New: "t.row.RetryCount++\n\t\tt.row.skip(b.now, t.stop)",
		Package: "./automation", Run: "TestI18_/.*/memory",
	},
	{
		Name: "I-19 a local date is taken for one in UTC", File: "automation/moment.go",
		Old: "civil.Resolve(local, sendAt, loc, policy)", New: "civil.Resolve(local, sendAt, cmp.Or(time.UTC, loc), policy)",
		Package: "./automation", Run: "TestOffsetsAcrossADaylightSavingChange/memory",
	},
	{
		Name: "I-28 an event ends rows of every tenant", File: "automation/deactivate.go",
		Old: "schedules.Find(ctx, tx, e.Scope, ", New: "schedules.Find(ctx, tx, storage.AnyScope, ",
		Package: "./automation", Run: "TestOnlyRowsOfTheSettingAndSource/memory",
	},
	{
		Name: "I-3 a conflicting immediate notification gets a schedule", File: "automation/handleevent.go",
		Old: "if job.Conflict == nil {", New: "if job.Conflict == nil || true {",
		Package: "./automation", Run: "TestI3_AConflictingImmediate/memory",
	},
	{
		Name: "I-3 a conflict shifts the schedules of the others", File: "automation/handleevent.go",
		Old: "p.immediate.Schedules[i])", New: "p.immediate.Schedules[min(i, len(schedules))])",
		Package: "./automation", Run: "TestI3_AConflictingImmediate/memory",
	},
	{
		Name: "I-18 an event leaves alone what a worker claims meanwhile", File: "automation/deactivate.go",
		Old: "if len(ids) == 0 {", New: "if len(ids) == 0 || true {",
		Package: "./automation", Run: "TestI18_AnEventEnds/memory",
	},
	{
		Name: "I-18 an event says that it ended what it could not write", File: "automation/deactivate.go",
		Old: "if !lost[i] {", New: "if !lost[i] || true {",
		Package: "./automation", Run: "TestI18_AnEventEnds/memory",
	},
	{
		Name: "I-30 rows that keep changing keep an event for ever", File: "automation/deactivate.go",
		Old: "if tries == 5 {", New: "if tries == 50 {",
		Package: "./automation", Run: "TestAnEventGivesUp/memory",
	},
}
