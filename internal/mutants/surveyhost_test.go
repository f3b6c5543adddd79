package mutants

// surveyHostMutants are faults in what the tests of hosts stand on, and in the
// survey of the example, whose play has to see them.
var surveyHostMutants = []mutant{
	{
		Name: "surveytest: time jumps over what becomes due", File: "survey/surveytest/advance.go",
		Old: "if next.IsZero() {", New: "if next = end; true {",
		Package: "./survey/surveytest", Run: "TestWhatBecomesDue",
	},
	{
		Name: "surveytest: a subscriber's next call is not seen", File: "survey/surveytest/due.go",
		Old: "return h.dueEvents(ctx, surveyID, w)", New: "return nil",
		Package: "./survey/surveytest", Run: "TestASubscriberIsCalledAgain",
	},
	{
		Name: "surveytest: any status will do", File: "survey/surveytest/assert.go",
		Old: "got != status", New: "got == \"\"",
		Package: "./survey/surveytest", Run: "TestAssertionsSay",
	},
	{
		Name: "surveytest: a dead letter counts as dispatched", File: "survey/surveytest/assert.go",
		Old: "if !slices.Equal(got, want) {", New: "if len(got) != len(want) {",
		Package: "./survey/surveytest", Run: "TestDispatchedCompares",
	},
	{
		Name: "surveytest: a failed event ends no test", File: "survey/surveytest/tell.go",
		Old: "if got.Outcome == survey.Failed {", New: "if false {",
		Package: "./survey/surveytest", Run: "TestWhatIsRefused",
	},
	{
		Name: "surveyservice: a dry run replays", File: "internal/outbox/replay.go",
		Old: "if err != nil || dryRun || len(dead) == 0 {", New: "if err != nil || len(dead) == 0 {",
		Package: "./examples/survey-service", Run: "TestThePlay/sqlite",
	},
	{
		Name: "surveyservice: a link never expires", File: "survey/due.go",
		Old: "if i.NextSendOn.IsZero() || !i.sendOn().Before(ends) {", New: "if i.NextSendOn.IsZero() {\n\t\treturn time.Time{}, \"\"\n\t}\n\tif !i.sendOn().Before(ends) {",
		Package: "./examples/survey-service", Run: "TestThePlay/sqlite",
	},
	{
		Name: "surveyservice: a mail scanner opens links", File: "survey/surveyhttp/forms.go",
		Old:     "\tform, err := f.s.Form(r.Context(), r.PathValue(\"token\"))\n\tswitch {",
		New:     "\tform, err := f.s.Form(r.Context(), r.PathValue(\"token\"))\n\t_ = f.s.Opened(r.Context(), r.PathValue(\"token\"))\n\tswitch {",
		Package: "./examples/survey-service", Run: "TestThePlay/sqlite",
	},
	{
		Name: "survey: a poller passes no responses on", File: "survey/service.go",
		Old: "return []work.Pass{s.sendPass(), s.box.Pass()}", New: "return []work.Pass{s.sendPass()}",
		Package: ".", Run: "TestOnePollerDrivesAllDomains/memory",
	},
	{
		Name: "survey: each tick takes all that is due", File: "survey/surveyhttp/tick.go",
		Old: "a.s.PollOnce(r.Context(), a.batch)", New: "a.s.PollOnce(r.Context(), 1000)",
		Package: "./survey/surveyhttp", Run: "TestATickTakesItsBatch/memory",
	},
}
