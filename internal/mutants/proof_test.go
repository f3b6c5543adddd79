package mutants

// proofMutants are faults that the long stories must notice.
var proofMutants = []mutant{
	{
		Name: "I-12 chaos: a call whose worker was killed goes back as if it had not begun", File: "notify/outgoingstates.go",
		Old: "case m.CallStartedOn.IsZero():\n\t\tm.released(now)", New: "case true:\n\t\tm.released(now)",
		Package: "./internal/chaostest", Run: "TestI12_WhatKilled/sqlite",
	},
	{
		Name: "I-12 chaos: a call whose worker was killed is taken as sent", File: "notify/outgoingstates.go",
		Old: "\tdefault:\n\t\tm.doubted(now, ReasonLeaseLost)", New: "\tdefault:\n\t\tm.become(StatusOutcomeUnknown)\n\t\tm.accepted(now, Receipt{})",
		Package: "./internal/chaostest", Run: "TestI12_WhatKilled/sqlite",
	},
	{
		Name: "I-9 crash: a call whose process died goes back as if it had not begun", File: "notify/outgoingstates.go",
		Old: "case m.CallStartedOn.IsZero():\n\t\tm.released(now)", New: "case true:\n\t\tm.released(now)",
		Package: "./notify", Run: "TestEveryPassMay/after_false_dies_true/memory",
	},
	{
		Name: "I-12 crash: a callback leaves the hold of a doubt", File: "notify/lattice.go",
		Old: "\tm.unhold()\n", New: "",
		Package: "./notify", Run: "TestEveryPassMay/after_false_dies_true/memory",
	},
}
