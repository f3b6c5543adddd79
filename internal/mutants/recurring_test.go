package mutants

// recurringMutants are faults in series and their occurrences.
var recurringMutants = []mutant{
	{
		Name: "I-13 a failed occurrence ends its series", File: "automation/seriesadvance.go",
		Old: "if !r.recurs() || runs(r) {", New: "if !r.recurs() || runs(r) || r.Status == StatusFailed {",
		Package: "./automation", Run: "TestNothingThatBecomesOfAnOccurrenceEndsTheSeries/.*/memory",
	},
	{
		Name: "I-13 a held occurrence ends its series", File: "automation/acton.go",
		Old: "err = s.followActed(ctx, tx, notes, stale)", New: "err = s.followActed(ctx, tx, nil, stale)",
		Package: "./automation", Run: "TestNothingThatBecomesOfAnOccurrenceEndsTheSeries/.*/memory",
	},
	{
		Name: "I-13 an occurrence in conflict ends its series", File: "automation/ensure.go",
		Old: "return out, s.advance(ctx, tx, left)", New: "return out, s.advance(ctx, tx, left[:0])",
		Package: "./automation", Run: "TestNothingThatBecomesOfAnOccurrenceEndsTheSeries/.*/memory",
	},
	{
		Name: "I-1 an old occurrence moves a series that has moved on", File: "automation/seriesadvance.go",
		Old: "if d.Active && d.NextOn.Equal(g.on) {", New: "if d.Active {",
		Package: "./automation", Run: "TestAnOldOccurrenceThatEndsLaterChangesNothing/memory",
	},
	{
		Name: "I-1 a second row beside one that is due", File: "automation/seriesensure.go",
		Old: "goesOn := stored.Active && row != nil && runs(row)", New: "goesOn := stored.Active && row != nil && runs(row) && row.DueOn.After(t.now)",
		Package: "./automation", Run: "TestAnEventLeavesTheCurrentOccurrence/memory",
	},
	{
		Name: "I-13 an event ends the occurrence that it asks for", File: "automation/eventplan.go",
		Old: "wanted[row.Key] || series[row.seriesKey()]", New: "wanted[row.Key] || series[\"\"]",
		Package: "./automation", Run: "TestAnEventLeavesTheCurrentOccurrence/memory",
	},
	{
		Name: "I-18 a series goes on whose setting is off", File: "automation/seriesadvance.go",
		Old: "r.ReasonCode == ReminderSettingInactive", New: "false",
		Package: "./automation", Run: "TestASettingThatIsSwitchedOffAndOn/.*/memory",
	},
	{
		Name: "I-3 the input that a validator asks for is a conflict", File: "automation/seriesadvance.go",
		Old: "if g.reason != InputChanged {", New: "if true {",
		Package: "./automation", Run: "TestAValidatorAsksForAnotherInput/memory",
	},
	{
		Name: "I-19 a date in UTC is taken for the local one", File: "automation/series.go",
		Old: "civil.DateOf(o.Local, time.UTC)", New: "civil.DateOf(o.On, time.UTC)",
		Package: "./automation", Run: "TestOccurrencesOnDaysOnWhichClocksChange/.*/memory",
	},
	{
		Name: "I-28 an occurrence of one tenant moves the series of another", File: "automation/seriesrows.go",
		Old: "return seriesTable.Find(ctx, tx, scope, ", New: "return seriesTable.Find(ctx, tx, storage.AnyScope, ",
		Package: "./automation", Run: "TestI28_SeriesOfTwoTenants/memory",
	},
	{
		Name: "I-19 the policies of a series are ignored", File: "internal/recur/timeline.go",
		Old: "timeOfDay(local), l.Zone, l.Policy)", New: "timeOfDay(local), l.Zone, civil.Policy{})",
		Package: "./internal/recur", Run: "TestDaysOnWhichClocksChange",
	},
	{
		Name: "I-19 a series goes back in an hour that is shown twice", File: "internal/recur/timeline.go",
		Old: "if err == nil && on.After(t) {", New: "if err == nil {",
		Package: "./internal/recur", Run: "TestDaysOnWhichClocksChange",
	},
	{
		Name: "I-19 an hour that is shown twice is passed over", File: "internal/recur/timeline.go",
		Old: "if !late(high) {", New: "if !late(high) || true {",
		Package: "./internal/recur", Run: "TestDaysOnWhichClocksChange",
	},
	{
		Name: "I-19 an interval is counted from now", File: "internal/recur/rruleafter.go",
		Old: "return o.Dtstart.Add(steps * step)", New: "return after.Add(-2 * step)",
		Package: "./internal/recur", Run: "TestTheBeginningMovesAndTheAnswerStays",
	},
	{
		Name: "I-30 an hour that never comes is looked for", File: "internal/recur/rrulecheck.go",
		Old: "case !reached(o, minutes):", New: "case false:",
		Package: "./internal/recur", Run: "TestRRulesThatAreRefused", Hangs: true,
	},
	{
		Name: "I-13 a series without a row is not found", File: "automation/seriesmissing.go",
		Old: "case row == nil:\n\t\t\tout = append(out, d)", New: "case row == nil:",
		Package: "./automation", Run: "TestAMissingRowIsFoundAndMended/memory",
	},
	{
		Name: "I-13 an occurrence that is left out runs", File: "automation/seriesadvance.go",
		Old: "case lateness.SkipOverlapped:", New: "case false:",
		Package: "./automation", Run: "TestAfterAWeekWithoutProcesses/.*/memory",
	},
	{
		Name: "I-13 the latest offset overtakes itself", File: "automation/overtaken.go",
		Old: "return o.latest[r.occasion()].After(r.ScheduledOn)", New: "return !o.latest[r.occasion()].Before(r.ScheduledOn)",
		Package: "./automation", Run: "TestOnlyTheLatestOffsetRuns/memory",
	},
	{
		Name: "I-18 a series that nobody asks for goes on", File: "automation/seriesevent.go",
		Old: "s.Active = false\n", New: "s.Active = true\n",
		Package: "./automation", Run: "TestAnEventLeavesTheCurrentOccurrence/memory",
	},
}
