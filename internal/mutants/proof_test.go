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
	{
		Name: "I-29 canary: an error holds the address that was called", File: "notify/channel/internal/rest/call.go",
		Old: "c.fail(\"no answer: %w\", safe(err))", New: "c.fail(\"no answer from \"+call.URL+\": %w\", safe(err))",
		Package: "./internal/canarytest", Run: "TestI29_",
	},
	{
		Name: "I-29 canary: the value of a panic is logged", File: "notify/generatorpass.go",
		Old: "slog.String(\"stack\", string(p.Stack))", New: "slog.Any(\"value\", p.Value)",
		Package: "./internal/canarytest", Run: "TestI29_",
	},
	{
		Name: "I-29 canary: what a gate says is logged", File: "notify/askgates.go",
		Old: "slog.String(\"gate\", gateName(g)),", New: "slog.String(\"gate\", gateName(g)), slog.Any(\"error\", err),",
		Package: "./internal/canarytest", Run: "TestI29_",
	},
	{
		Name: "I-29 canary: what a callback says is logged", File: "notify/notifyhttp/webhooks.go",
		Old: "slog.String(\"outcome\", answer.word))", New: "slog.String(\"outcome\", answer.word), slog.String(\"body\", r.URL.String()))",
		Package: "./internal/canarytest", Run: "TestI29_",
	},
	{
		Name: "channels: what somebody typed is HTML", File: "notify/template.go",
		Old: "htmltemplate \"html/template\"", New: "htmltemplate \"text/template\"",
		Package: "./notify", Run: "TestTemplateInjectionIsText",
	},
}
