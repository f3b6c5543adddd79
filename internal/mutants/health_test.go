package mutants

// healthMutants are faults in health, retention and traces.
var healthMutants = []mutant{
	{
		Name: "I-30 health counts without a limit", File: "automation/health.go",
		Old: `OrderBy: "due_on", Limit: healthLimit,`, New: `OrderBy: "due_on", Limit: 1 << 20,`,
		Package: "./automation", Run: "TestHealthCountsNoFurther/memory",
	},
	{
		Name: "I-28 a tenant's health is that of all", File: "automation/health.go",
		Old: "if h.covers(g.Row.Scope) {\n\t\t\th.add(", New: "if h.covers(g.Row.Scope) || true {\n\t\t\th.add(",
		Package: "./automation", Run: "TestI28_Health/memory",
	},
	{
		Name: "I-28 a tenant's holds are those of all", File: "automation/health.go",
		Old: "if h.covers(g.Row.Scope) {\n\t\t\t\theld.Rows", New: "if h.covers(g.Row.Scope) || true {\n\t\t\t\theld.Rows",
		Package: "./automation", Run: "TestI28_Health/memory",
	},
	{
		Name: "I-13 health overlooks what a dead worker left", File: "automation/health.go",
		Old: "case row.LeaseExpiresOn.After(h.On):", New: "case !row.LeaseExpiresOn.IsZero():",
		Package: "./automation", Run: "TestHealthTells/memory",
	},
	{
		Name: "I-14 health overlooks a lane that nobody lists", File: "automation/health.go",
		Old: "firstLane(ctx, tx, lane+1) {", New: "func() (int16, bool, error) { return 0, false, nil }() {",
		Package: "./automation", Run: "TestHealthCountsWhatIsDue/memory",
	},
	{
		Name: "I-4 a key is forgotten that may be asked for again", File: "automation/forget.go",
		Old: "return known && last.Before(now)", New: "return known && last.Before(now) || true",
		Package: "./automation", Run: "TestNoKeyIsForgotten/sixty_days/memory",
	},
	{
		Name: "I-4 a key is forgotten before its day is over everywhere", File: "automation/forget.go",
		Old: "Add(anywhere + m.catchUp)", New: "Add(m.catchUp)",
		Package: "./automation", Run: "TestNoKeyIsForgotten/an_hour/memory|TestEachKindOfKey/.*/memory",
	},
	{
		Name: "I-4 a threshold is forgotten although it may fire again", File: "automation/forget.go",
		Old: "return r.EndedOn.Add(m.ForgetAfter), m.ForgetAfter > 0", New: "return r.EndedOn.Add(m.ForgetAfter), true",
		Package: "./automation", Run: "TestEachKindOfKey/.*/memory",
	},
	{
		Name: "I-4 a rise is forgotten while it is the last one", File: "automation/forgetrisen.go",
		Old: "state.Rises > r.n", New: "state.Rises >= r.n",
		Package: "./automation", Run: "TestARiseIsRemembered/memory",
	},
	{
		Name: "I-13 retention deletes a row on hold", File: "automation/retain.go",
		Old: `storage.Eq("is_on_support_hold", false), `, New: "",
		Package: "./automation", Run: "TestRetentionHasTwoGuards",
	},
	{
		Name: "I-13 retention takes a row on hold for one that ended", File: "automation/forget.go",
		Old: "|| r.IsOnSupportHold ||", New: "||",
		Package: "./automation", Run: "TestRetentionHasTwoGuards",
	},
	{
		Name: "I-13 rows go although they could not be archived", File: "automation/retain.go",
		Old: "step.report.Unarchived += len(rows)\n\t\t\tcontinue", New: "step.report.Unarchived += len(rows)",
		Package: "./automation", Run: "TestRowsAreArchived/memory",
	},
	{
		Name: "I-13 rows go without being archived", File: "automation/retain.go",
		Old: "archive(ctx, types[name].Archive, rows)", New: "archive(ctx, nil, rows)",
		Package: "./automation", Run: "TestRowsAreArchived/memory",
	},
	{
		Name: "I-5 retention deletes what was written meanwhile", File: "automation/retain.go",
		Old: "err := schedules.Delete(ctx, tx, rows...)", New: "for _, r := range rows {\n\t\tr.Version++\n\t}\n\terr := schedules.Delete(ctx, tx, rows...)",
		Package: "./automation", Run: "TestARowThatSomebodyWritesMeanwhileStays/memory",
	},
	{
		Name: "I-13 a walk stops at its first page", File: "automation/retain.go",
		Old: "next = rows[len(rows)-1].ID", New: "next = 0",
		Package: "./automation", Run: "TestAWalkSeesEveryRow/memory",
	},
	{
		Name: "I-13 a trace that cannot be written fails the work", File: "automation/traces.go",
		Old: "b.s.traceFailed(ctx, err, 1)", New: "panic(err)",
		Package: "./automation", Run: "TestATraceThatCannotBeWritten/put_fails/memory",
	},
	{
		Name: "I-13 a row names a trace that was not kept", File: "automation/traces.go",
		Old: "b.s.traceFailed(ctx, err, len(refs))\n\t\treturn", New: "b.s.traceFailed(ctx, err, len(refs))",
		Package: "./automation", Run: "TestATraceThatCannotBeWritten/keep_fails/memory",
	},
	{
		Name: "I-29 a trace holds addresses", File: "automation/traces.go",
		Old: `keys.RecipientHash(hashKey, cmp.Or(r.Ref, r.Inbox), r.Channel, "")`, New: `r.Address+string(hashKey)+keys.Fingerprint(nil)+cmp.Or(r.Ref, r.Inbox)`,
		Package: "./automation", Run: "TestI29_/memory",
	},
	{
		Name: "I-13 traces stay for ever", File: "storage/blobkeep.go",
		Old: "h.DueOn = Time(until)", New: "h.DueOn = time.Time{}",
		Package: "./automation", Run: "TestATraceGoes/memory",
	},
	{
		Name: "I-18 a validator's own reason is lost", File: "automation/validator.go",
		Old: "cmp.Or(v.reason, SourceNoLongerValid)", New: "cmp.Or(SourceNoLongerValid, v.reason)",
		Package: "./automation", Run: "TestI18_EveryAnswer/.*/memory",
	},
	{
		Name: "I-28 a tally goes across tenants", File: "storage/memory/tally.go",
		Old: "tab.find(s, scope, q.Where)", New: "tab.find(s, storage.AnyScope, q.Where)",
		Package: "./storage/memory", Run: "TestContract|Test.*/tally",
	},
}
