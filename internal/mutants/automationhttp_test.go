package mutants

// automationhttpMutants are faults in what support reaches over HTTP. Memory shows
// them all.
var automationhttpMutants = []mutant{
	{
		Name: "automationhttp: whoever is refused gets in", File: "automation/automationhttp/reportruns.go",
		Old: "case err != nil:", New: "case err != nil && false:",
		Package: "./automation/automationhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "automationhttp: whoever is let in may read", File: "automation/automationhttp/reportruns.go",
		Old: "return c.Read }", New: "return c.Read || c.Run }",
		Package: "./automation/automationhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "automationhttp: whoever may read may run", File: "automation/automationhttp/reportruns.go",
		Old: "return c.Run && c.Actor", New: "return (c.Run || c.Read) && c.Actor",
		Package: "./automation/automationhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "automationhttp: a run that nobody asked for", File: "automation/automationhttp/reportruns.go",
		Old: "c.Run && c.Actor != \"\"", New: "c.Run",
		Package: "./automation/automationhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "I-28 a caller without a tenant", File: "automation/automationhttp/reportruns.go",
		Old: " || caller.Scope == storage.AnyScope", New: " || false && caller.Scope == storage.AnyScope",
		Package: "./automation/automationhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "automationhttp: a page of another site runs a report", File: "automation/automationhttp/reportruns.go",
		Old: "guarded(guard.Handler(a.router()))", New: "guarded(a.router())",
		Package: "./automation/automationhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "automationhttp: answers are kept by caches", File: "automation/automationhttp/reportruns.go",
		Old: "\"Cache-Control\", \"no-store\"", New: "\"X-Cache-Control\", \"no-store\"",
		Package: "./automation/automationhttp", Run: "TestAnAddressThatIsNone",
	},
	{
		Name: "automationhttp: the address of one subscription leads to another", File: "automation/automationhttp/run.go",
		Old: "case keys.ManualReportRun:\n\t\treturn key, k.Subscription == guid", New: "case keys.ManualReportRun:\n\t\treturn key, k.Subscription != \"\"",
		Package: "./automation/automationhttp", Run: "TestAnAddressOfOneSubscription",
	},
	{
		Name: "automationhttp: the address of one subscription leads to another's scheduled runs", File: "automation/automationhttp/run.go",
		Old: "case keys.ReportRun:\n\t\treturn key, k.Subscription == guid", New: "case keys.ReportRun:\n\t\treturn key, k.Subscription != \"\"",
		Package: "./automation/automationhttp", Run: "TestAnAddressOfOneSubscription",
	},
	{
		Name: "automationhttp: a page of the caller's own making is our failure", File: "automation/automationhttp/problem.go",
		Old: "errors.Is(err, automation.ErrPage)", New: "errors.Is(err, automation.ErrPage) && false",
		Package: "./automation/automationhttp", Run: "TestAPageThatIsNone/memory",
	},
	{
		Name: "automationhttp: a page from before all time", File: "automation/reportruns.go",
		Old: "|| micros < 0", New: "",
		Package: "./automation/automationhttp", Run: "TestAPageThatIsNone/memory",
	},
	{
		Name: "I-28 failed runs are those of the host's first tenant", File: "automation/automationhttp/runs.go",
		Old: "a.s.FailedRuns(r.Context(), c.Scope, p)", New: "a.s.FailedRuns(r.Context(), \"tenant\", p)",
		Package: "./automation/automationhttp", Run: "TestI28_RunsAreListed/memory",
	},
	{
		Name: "automationhttp: the failed queue lists all", File: "automation/automationhttp/runs.go",
		Old: "a.s.FailedRuns(", New: "a.s.RecentRuns(",
		Package: "./automation/automationhttp", Run: "TestI28_RunsAreListed/memory",
	},
	{
		Name: "automationhttp: a list ends after its first page", File: "automation/automationhttp/runs.go",
		Old: "Next: next}", New: "Next: next[:0]}",
		Package: "./automation/automationhttp", Run: "TestI28_RunsAreListed/memory",
	},
	{
		Name: "automationhttp: a page as long as the caller likes", File: "automation/automationhttp/page.go",
		Old: "|| p.Limit > maxLimit", New: "",
		Package: "./automation/automationhttp", Run: "TestAPageThatIsNone/memory",
	},
	{
		Name: "automationhttp: a query says what it likes", File: "automation/automationhttp/page.go",
		Old: "case name != \"after\" && name != \"limit\":", New: "case false:",
		Package: "./automation/automationhttp", Run: "TestAPageThatIsNone/memory",
	},
	{
		Name: "automationhttp: a body of any size", File: "automation/automationhttp/body.go",
		Old: "http.MaxBytesReader(w, r.Body, maxBody)", New: "r.Body",
		Package: "./automation/automationhttp", Run: "TestABodyHasToBeOne/memory",
	},
	{
		Name: "I-1 an Idempotency-Key counts for nothing", File: "automation/automationhttp/runnow.go",
		Old: "o.Manual = idempotent(actor, header[0])", New: "_ = idempotent(actor, header[0])",
		Package: "./automation/automationhttp", Run: "TestI1_ARunThatIsAskedForTwice/memory",
	},
	{
		Name: "I-1 the id that a caller names counts for nothing", File: "automation/automationhttp/runnow.go",
		Old: "c.Scope, guid, want.Manual,", New: "c.Scope, guid, want.Manual[:0],",
		Package: "./automation/automationhttp", Run: "TestI1_ARunThatIsAskedForTwice/memory",
	},
	{
		Name: "automationhttp: one actor's key is another's", File: "automation/automationhttp/idempotency.go",
		Old: "\"Idempotency-Key\\x00\" + actor + \"\\x00\" + key", New: "\"Idempotency-Key\\x00\" + actor[:0] + \"\\x00\" + key",
		Package: "./automation/automationhttp", Run: "TestI1_ARunThatIsAskedForTwice/memory",
	},
	{
		Name: "automationhttp: an answer that failed has no id", File: "automation/automationhttp/runnow.go",
		Old: "problem{Manual: got.Run}", New: "problem{}",
		Package: "./automation/automationhttp", Run: "TestOurFailureIsLogged",
	},
	{
		Name: "automationhttp: a failure is not logged", File: "automation/automationhttp/problem.go",
		Old: "if r.Context().Err() == nil {", New: "if r.Context().Err() != nil {",
		Package: "./automation/automationhttp", Run: "TestOurFailureIsLogged",
	},
	{
		Name: "automationhttp: a caller's mistake is our failure", File: "automation/automationhttp/problem.go",
		Old: "errors.As(err, &part)", New: "errors.As(err, &part) && false",
		Package: "./automation/automationhttp", Run: "TestARunThatCannotBeAsked/memory",
	},
	{
		Name: "automationhttp: a route is in no file", File: "automation/automationhttp/router.go",
		Old: "one + \"/{run}/ownership\"", New: "one + \"/{run}/owner\"",
		Package: "./automation/automationhttp", Run: "TestTheOpenAPIFileHasEveryRoute",
	},
	{
		Name: "automationhttp: a field is in no file", File: "automation/automationhttp/deliveryview.go",
		Old: "`json:\"messageId\"`", New: "`json:\"id\"`",
		Package: "./automation/automationhttp", Run: "TestTheOpenAPIFileHasEveryField",
	},
}
