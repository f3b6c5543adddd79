package mutants

// convergeMutants are faults that show where the parts of automation meet.
var convergeMutants = []mutant{
	{
		Name: "I-14 one slow handler keeps the others waiting", File: "internal/work/session.go",
		Old: "make(chan struct{}, r.o.Concurrency)", New: "make(chan struct{}, 1)",
		Package: ".", Run: "TestI14_OnePoisonedRow.*/memory", Hangs: true,
	},
	{
		Name: "I-18 an older event undoes a newer one, in some interleaving", File: "automation/sourcestate.go",
		Old: "older[want] = want.SourceVersion != 0 &&", New: "older[want] = false &&",
		Package: "./automation", Run: "TestI13_.*KnownSeeds.*/memory",
	},
	{
		Name: "I-13 support's hold is lost on the way, in some interleaving", File: "automation/schedule.go",
		Old: "case !r.IsOpen() || r.IsOnSupportHold:", New: "case !r.IsOpen():",
		Package: "./automation", Run: "TestI13_.*KnownSeeds.*/memory",
	},
	{
		Name: "I-21 a scan misses what changed while the one before ran, in some interleaving", File: "automation/reconciliation.go",
		Old: "run.StartedOn.Add(-watermarkOverlap)", New: "now",
		Package: "./automation", Run: "TestI13_.*KnownSeeds.*/memory",
	},
	{
		Name: "story: Explain tells all that ever happened", File: "automation/story.go",
		Old: "schedules.Name, r.Key, maxHistory)", New: "schedules.Name, r.Key, 10000)",
		Package: "./automation", Run: "TestExplainIsBounded",
	},
}
