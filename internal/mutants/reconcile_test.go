package mutants

// reconcileMutants are faults in the reconciliation. Memory shows them all.
var reconcileMutants = []mutant{
	{
		Name: "I-21 the watermark moves on a failed page", File: "automation/reconcilepass.go",
		Old: "\tif err != nil {\n\t\treturn err\n\t}\n\trow.turn(", New: "\tif err != nil {\n\t\trow.Watermark = s.now()\n\t\treturn err\n\t}\n\trow.turn(",
		Package: "./automation", Run: "TestI21_AFailedPage/memory",
	},
	{
		Name: "I-21 the watermark moves past a source that failed", File: "automation/reconciliation.go",
		Old: "if run.Failed == 0 {", New: "if run.Failed >= 0 {",
		Package: "./automation", Run: "TestI21_ASourceThatFails/memory",
	},
	{
		Name: "I-21 the watermark is that of the end of a run", File: "automation/reconciliation.go",
		Old: "run.StartedOn.Add(-watermarkOverlap)", New: "now",
		Package: "./automation", Run: "TestI21_APollReads/memory",
	},
	{
		Name: "I-21 the cursor moves though the repair did not commit", File: "automation/scannedpage.go",
		Old: "if err := p.finish(ctx, r.DryRun); err != nil {", New: "if err := p.finish(ctx, r.DryRun); false {",
		Package: "./automation", Run: "TestI21_AFaultInAnyOneTransaction",
	},
	{
		Name: "I-21 a page may be of any size", File: "automation/scancheck.go",
		Old: "if len(p.Sources) > r.Limit {", New: "if false {",
		Package: "./automation", Run: "TestI21_APageThatLeaves",
	},
	{
		Name: "I-21 a cursor may stand still", File: "automation/scancheck.go",
		Old: `case p.Next == "" || p.Next == r.After:`, New: "case false:",
		Package: "./automation", Run: "TestI21_APageThatLeaves",
	},
	{
		Name: "I-21 a claim reads all pages", File: "automation/reconciliation.go",
		Old: "if !p.done {", New: "if false {",
		Package: "./automation", Run: "TestI21_APollReads/memory",
	},
	{
		Name: "I-21 what is new in the window is left out", File: "automation/reconciliation.go",
		Old: "r.NewFrom = covered.AddDays(1)", New: "r.NewFrom = r.To.AddDays(1)",
		Package: "./automation", Run: "TestARunLooks/memory",
	},
	{
		Name: "I-21 a dry run writes", File: "automation/scannedpage.go",
		Old: "if dry {", New: "if dry && false {",
		Package: "./automation", Run: "TestADryRun/memory",
	},
	{
		Name: "I-7 a page does not take the rows of its sources", File: "automation/repair.go",
		Old: "p.stamp(ctx, tx, different)", New: "p.stamp(ctx, tx, nil)",
		Package: "./automation", Run: "TestAnOlderPageIsNotApplied/memory",
	},
	{
		Name: "I-7 a source without versions is repaired from an old page", File: "automation/repair.go",
		Old: "if x.event.Version != 0 {", New: "if x.event.Version >= 0 {",
		Package: "./automation", Run: "TestASourceWithoutVersionsIsAsked/memory",
	},
	{
		Name: "I-13 a poisoned source stops the scan", File: "automation/scannedpage.go",
		Old: "x.err = p.plan(ctx, x)\n\t\tif ctx.Err() != nil {", New: "x.err = p.plan(ctx, x)\n\t\tif x.err != nil {\n\t\t\treturn x.err\n\t\t}\n\t\tif ctx.Err() != nil {",
		Package: "./automation", Run: "TestI21_ASourceThatFails/memory",
	},
	{
		Name: "I-18 what ended long ago is revived for ever", File: "automation/difference.go",
		Old: "case outcome == storage.Reactivated && plan.passed(now):", New: "case outcome == storage.Reactivated && false:",
		Package: "./automation", Run: "TestReconciliationLeavesAlone/memory",
	},
	{
		Name: "I-28 a scan compares the rows of every tenant", File: "automation/scancompare.go",
		Old: "schedules.Find(ctx, tx, p.scope, q)", New: "schedules.Find(ctx, tx, storage.AnyScope, q)",
		Package: "./automation", Run: "TestI28_AScanSees/memory",
	},
	{
		Name: "I-19 a rise that a scan finds is not counted", File: "automation/repair.go",
		Old: "recordReadings(ctx, tx, plans); err", New: "recordReadings(ctx, tx, nil); err",
		Package: "./automation", Run: "TestI19_Rises/memory",
	},
	{
		Name: "I-19 a scan forgets the readings before", File: "automation/scanmeasure.go",
		Old: "\t\t\twants[i][place] = state\n", New: "",
		Package: "./automation", Run: "TestI19_Rises/memory",
	},
}
