package mutants

// reportMutants are faults in subscriptions to reports and their runs. Memory
// shows all but what a list costs.
var reportMutants = []mutant{
	{
		Name: "reports: a list of runs sorts them all", File: "automation/reportruns.go",
		Old: ", storage.NotNull(\"scheduled_on\")}", New: "}",
		Package: "./storage/postgres", Run: "TestGuardAListOfRuns", Postgres: true,
	},
	{
		Name: "I-13 the run behind one that ended is not made", File: "automation/series.go",
		Old: "r.TriggerType == Recurring || r.AutomationType == TypeReportSubscription && r.TriggerType == ScheduledRun", New: "r.TriggerType == Recurring",
		Package: "./automation/report", Run: "TestI13_OnlyTheNextRun/memory",
	},
	{
		Name: "I-19 a run's key is its moment on the clocks of its zone", File: "automation/series.go",
		Old: "keys.ReportRun{Subscription: d.Source, On: on}.Key()", New: "keys.ReportRun{Subscription: d.Source, On: on.Add(time.Hour)}.Key()",
		Package: "./automation/report", Run: "TestI13_OnlyTheNextRun/memory",
	},
	{
		Name: "report: a run that is asked for again moves", File: "automation/decide.go",
		Old: "if want.TriggerType == ManualRun {", New: "if false {",
		Package: "./automation/report", Run: "TestI1_ARunThatIsAskedForTwice/memory",
	},
	{
		Name: "I-1 a run that is asked for again has another id", File: "automation/report/runnow.go",
		Old: "if run == \"\" {", New: "if true {",
		Package: "./automation/report", Run: "TestI1_ARunThatIsAskedForTwice/memory",
	},
	{
		Name: "report: a pause leaves the run that waits", File: "automation/report/lifecycle.go",
		Old: "return s.endRuns(ctx, scope, guid, SubscriptionInactive)", New: "return nil",
		Package: "./automation/report", Run: "TestPendingRunsEnd/memory",
	},
	{
		Name: "report: a resumed subscription has no run", File: "automation/report/lifecycle.go",
		Old: "if to == StatusActive {", New: "if false {",
		Package: "./automation/report", Run: "TestPendingRunsEnd/memory",
	},
	{
		Name: "report: a subscription that is deactivated can be changed", File: "automation/report/save.go",
		Old: "case stored.Status == StatusDeactivated:", New: "case false:",
		Package: "./automation/report", Run: "TestPendingRunsEnd/memory",
	},
	{
		Name: "report: somebody else's change is overwritten", File: "automation/report/save.go",
		Old: "case stored.Version != sub.Version:", New: "case false:",
		Package: "./automation/report", Run: "TestASubscriptionIsWrittenOnce/memory",
	},
	{
		Name: "report: a subscription is there and its run is not", File: "automation/report/save.go",
		Old: "if err == nil && row.Status == StatusActive {", New: "if err == nil && row.Status == StatusActive && sub.Version == 0 {",
		Package: "./automation/report", Run: "TestAChangeReaches/memory",
	},
	{
		Name: "I-28 a subscription is found in every scope", File: "automation/report/save.go",
		Old: "subscriptions.Get(ctx, tx, scope, guid)", New: "subscriptions.Get(ctx, tx, storage.AnyScope, guid)",
		Package: "./automation/report", Run: "TestI28_/memory",
	},
	{
		Name: "report: a report of any size is taken", File: "notify/attach.go",
		Old: "if l.left -= int64(n); l.left < 0 {", New: "if l.left -= 0; l.left < 0 {",
		Package: "./automation/report", Run: "TestAReportThatIsTooLarge/memory",
	},
	{
		Name: "report: each part has the whole limit", File: "automation/report/files.go",
		Old: "left -= ref.Blob.Size", New: "_ = ref.Blob.Size",
		Package: "./automation/report", Run: "TestAReportThatIsTooLarge/memory",
	},
	{
		Name: "report: half of a report is delivered", File: "automation/report/files.go",
		Old: "_ = w.CloseWithError(work.Guard(func() error { return p.Write(ctx, w) }))", New: "_ = work.Guard(func() error { return p.Write(ctx, w) })\n\t\t_ = w.Close()",
		Package: "./automation/report", Run: "TestABuilderThatFailsHalfWay/short/memory",
	},
	{
		Name: "report: a panic of a builder brings the process down", File: "automation/report/files.go",
		Old: "_ = w.CloseWithError(work.Guard(func() error { return p.Write(ctx, w) }))", New: "_ = work.Guard\n\t\t_ = w.CloseWithError(p.Write(ctx, w))",
		Package: "./automation/report", Run: "TestABuilderThatFailsHalfWay/panic/memory",
	},
	{
		Name: "report: the files of a run are not kept", File: "automation/dispatch.go",
		Old: "\td.keepBlobs()\n", New: "",
		Package: "./automation/report", Run: "TestAFileOfARun/memory",
	},
	{
		Name: "report: files are kept for ever", File: "automation/dispatch.go",
		Old: "case a.BlobsUntil.IsZero():", New: "case true:",
		Package: "./automation/report", Run: "TestAFileOfARun/memory",
	},
	{
		Name: "I-17 every report is tried again for a week", File: "automation/report/type.go",
		Old: "if t.LongRunning {", New: "if true {",
		Package: "./automation/report", Run: "TestI17_/memory",
	},
	{
		Name: "I-17 no report is tried again for a week", File: "automation/report/type.go",
		Old: "if t.LongRunning {", New: "if false {",
		Package: "./automation/report", Run: "TestI17_/memory",
	},
	{
		Name: "report: reports wait for each other in groups", File: "automation/reportpass.go",
		Old: "p.s.dueSpec(p.Name(), 1, func()", New: "p.s.dueSpec(p.Name(), 50, func()",
		Package: "./automation/report", Run: "TestAnHourOfBuilding",
	},
	{
		Name: "report: reminders wait for reports", File: "automation/pass.go",
		Old: "s.dueSpec(\"automation\", 0, s.registry.ordinaryTypes)", New: "s.dueSpec(\"automation\", 0, s.registry.types)",
		Package: "./automation/report", Run: "TestAnHourOfBuilding",
	},
	{
		Name: "I-7 a builder goes on after its lease was lost", File: "automation/report/files.go",
		Old: "ctx, cancel := context.WithCancel(ctx)", New: "ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))",
		Package: "./automation/report", Run: "TestI7_/memory", Hangs: true,
	},
	{
		Name: "report: an empty report is sent to those who want none", File: "automation/report/handle.go",
		Old: "made.Empty && !run.Subscription.Delivery.SendEmpty", New: "false",
		Package: "./automation/report", Run: "TestAnEmptyReport/memory",
	},
	{
		Name: "report: a report for nobody is built", File: "automation/report/handle.go",
		Old: "if len(to) == 0 {", New: "if false {",
		Package: "./automation/report", Run: "TestAReportForNobody/memory",
	},
	{
		Name: "I-18 a run of a subscription that is paused fails", File: "automation/report/handle.go",
		Old: "sub.Status != StatusActive && (sub.Status != StatusPaused || d.Run == \"\")", New: "sub.Status != StatusActive",
		Package: "./automation/report", Run: "TestAPausedSubscription/memory",
	},
	{
		Name: "report: what failed is sent after its subscription is gone", File: "automation/report/revalidate.go",
		Old: "case sub.Status == StatusDeactivated:", New: "case sub.Status == \"\":",
		Package: "./automation/report", Run: "TestAMessageThatFailed/memory",
	},
	{
		Name: "report: a part that broke off is whole", File: "automation/report/files.go",
		Old: "if errors.Is(err, io.EOF) {", New: "if false {",
		Package: "./automation/report", Run: "TestABuilderThatFailsHalfWaySendsNothingOfIt/EOF",
	},
}
