package mutants

// supportMutants are faults in what support does and is told. Memory shows them
// all.
var supportMutants = []mutant{
	{
		Name: "I-14 a claim ignores what is paused", File: "internal/work/except.go",
		Old: "c.Except, c.ExceptTypes, c.ExceptKinds = e.Scopes, e.Scoped, e.Kinds", New: "",
		Package: "./automation", Run: "TestAPauseStops/.*/memory",
	},
	{
		Name: "I-14 a type that is paused everywhere is claimed", File: "internal/work/except.go",
		Old: "case len(e.Types) > 0:", New: "case false:",
		Package: "./automation", Run: "TestAPauseStops/.*/memory",
	},
	{
		Name: "I-14 a pause of one scope is one of all", File: "automation/pause.go",
		Old: "e.Scoped = append(e.Scoped, storage.ScopedType{Scope: p.Scope, Type: p.PausedType})", New: "e.Types = append(e.Types, p.PausedType)",
		Package: "./automation", Run: "TestAPauseStops/.*/memory",
	},
	{
		Name: "I-14 a poller never hears that a pause is over", File: "internal/work/except.go",
		Old: "if r.except.empty() {", New: "if !r.except.empty() {",
		Package: "./automation", Run: "TestAPauseIsEffective/memory",
	},
	{
		Name: "I-14 a poller asks once only what is paused", File: "internal/work/find.go",
		Old: "\tr.asked = false\n", New: "",
		Package: "./automation", Run: "TestAPauseIsEffective/memory",
	},
	{
		Name: "I-30 a look for due rows sees what is paused", File: "internal/work/find.go",
		Old: "r.except.from(r.claim(now, r.lanes.all(cursors)))", New: "r.claim(now, r.lanes.all(cursors))",
		Package: "./automation", Run: "TestAPausedBacklog/memory",
	},
	{
		Name: "I-14 a pause does not end by itself", File: "internal/pause/pause.go",
		Old: "storage.Greater(\"paused_until\", storage.Now(tx.Store()))", New: "storage.NotNull(\"paused_until\")",
		Package: "./automation", Run: "TestAPauseIsEffective/memory",
	},
	{
		Name: "I-28 pauses of other tenants are listed", File: "automation/pause.go",
		Old: "pause.InForce(ctx, tx, pauses, scope, storage.Eq(\"everywhere\", false))", New: "pause.InForce(ctx, tx, pauses, storage.AnyScope, storage.Eq(\"everywhere\", false))",
		Package: "./automation", Run: "TestPausesAreListed/memory",
	},
	{
		Name: "I-16 a dry run writes", File: "automation/acton.go",
		Old: "if a.dryRun {", New: "if false {",
		Package: "./automation", Run: "TestOneRowThatIsRefused/memory",
	},
	{
		Name: "I-4 a row that is refused is changed", File: "automation/acton.go",
		Old: "if refused == \"\" {", New: "if true {",
		Package: "./automation", Run: "TestOneRowThatIsRefused/memory",
	},
	{
		Name: "I-18 support leaves alone what a worker claims meanwhile", File: "automation/acton.go",
		Old: "if len(ids) == 0 {", New: "if len(ids) == 0 || true {",
		Package: "./automation", Run: "TestABulkDecidesAgain/memory",
	},
	{
		Name: "I-6 a support action ends a worker's lease", File: "automation/transition.go",
		Old: "if !r.LeaseExpiresOn.After(now) {", New: "if true {",
		Package: "./automation", Run: "TestABulkUnderAWorker|TestSupportActsUnderAWorker/memory",
	},
	{
		Name: "I-16 Ensure revives what support cancelled", File: "automation/support.go",
		Old: "r.hold(CancelledBySupport, by.Reason)", New: "r.DueOn = r.dueOn()",
		Package: "./automation", Run: "TestABulkGoesOn|TestNoEnsureRevives/memory",
	},
	{
		Name: "I-16 an action leaves no audit", File: "automation/acton.go",
		Old: "return ids, tell(ctx, tx, a.by.Actor, done)", New: "return ids, tell(ctx, tx, a.by.Actor, done[:0])",
		Package: "./automation", Run: "TestOneRowThatIsRefused|TestARowOnHold/memory",
	},
	{
		Name: "I-16 a failed try leaves no history", File: "automation/settled.go",
		Old: "s.tellSettled,", New: "",
		Package: "./automation", Run: "TestTheHistoryTellsEach/memory",
	},
	{
		Name: "I-16 an event that moves a row leaves no history", File: "automation/ensure.go",
		Old: "ensuredNotes(got, was)", New: "ensuredNotes(got, nil)",
		Package: "./automation", Run: "TestTheHistoryTellsEach/memory",
	},
	{
		Name: "I-16 who made a row is forgotten", File: "automation/tell.go",
		Old: "entries = append(entries, n.made())", New: "",
		Package: "./automation", Run: "TestTheHistoryTellsEach/memory",
	},
	{
		Name: "I-16 a row that was given back has a failed try", File: "automation/tell.go",
		Old: "r.NextRetryOn.After(now)", New: "!r.NextRetryOn.IsZero()",
		Package: "./automation", Run: "TestAReleaseAtShutdown/memory",
	},
	{
		Name: "I-4 the next event supersedes a rerun", File: "automation/eventplan.go",
		Old: "(reason != Superseded || row.baseKey() == row.Key)", New: "true",
		Package: "./automation", Run: "TestNoEventSupersedesARerun/.*/memory",
	},
	{
		Name: "I-4 a rerun is not what the source asks for", File: "automation/seriesplan.go",
		Old: "return p.want.Key == row.baseKey()", New: "return p.want.Key == row.Key",
		Package: "./automation", Run: "TestARerunIsRevalidated/.*/memory",
	},
	{
		Name: "I-4 a rerun stands for no condition", File: "automation/condition.go",
		Old: "keys.Parse(row.baseKey())", New: "keys.Parse(row.Key)",
		Package: "./automation", Run: "TestARerunOfAThreshold/.*/memory",
	},
	{
		Name: "I-4 each click is a rerun", File: "automation/rerun.go",
		Old: "if got[0].Outcome != storage.Created {", New: "if false {",
		Package: "./automation", Run: "TestARerunIsAudited|TestARerunIsSent/memory",
	},
	{
		Name: "I-20 a host's trigger key looks like a rerun", File: "automation/plan.go",
		Old: "if strings.Contains(c.TriggerKey, rerunMark) {", New: "if strings.HasPrefix(c.TriggerKey, rerunMark) {",
		Package: "./automation", Run: "TestNoCandidateLooks/memory",
	},
	{
		Name: "I-28 the runs of another kind of entity are listed", File: "notify/automationjobs.go",
		Old: "append(within, storage.Eq(\"source_type\", sourceType))", New: "within",
		Package: "./automation", Run: "TestTheRunsOfASource/memory",
	},
}
