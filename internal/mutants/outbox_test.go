package mutants

// outboxMutants are faults in the way of events to subscribers.
var outboxMutants = []mutant{
	{
		Name: "I-24 a delivery is done whatever the subscriber says", File: "internal/outbox/pass.go",
		Old: "case err == nil:", New: "case true:",
		Package: "./internal/outbox", Run: "TestI24_AFailure/memory",
	},
	{
		Name: "I-24 there is no last try", File: "internal/outbox/states.go",
		Old: "if forGood || !more {", New: "if forGood || !more && d.Attempts < 0 {", Hangs: true,
		Package: "./internal/outbox", Run: "TestI24_AFailure/memory",
	},
	{
		Name: "I-24 a success is replayed by anybody", File: "internal/outbox/states.go",
		Old: "d.DispatchedOn, d.DueOn, d.Diagnostics = now, time.Time{}, \"\"", New: "d.DispatchedOn, d.DueOn, d.Diagnostics, d.Status = now, now, \"\", StatusPending",
		Package: "./internal/outbox", Run: "TestI24_NoSuccess/memory", Hangs: true,
	},
	{
		Name: "I-28 dead letters of every tenant", File: "internal/outbox/replay.go",
		Old: "return deliveries.Find(ctx, tx, scope, q)", New: "return deliveries.Find(ctx, tx, storage.AnyScope, q)",
		Package: "./internal/outbox", Run: "TestI28_/memory",
	},
	{
		Name: "I-24 what became of a message is not told", File: "notify/distributorpass.go",
		Old: "\t\tSettled: n.tell,\n", New: "",
		Package: "./notify", Run: "TestTheHostHears/memory",
	},
}
