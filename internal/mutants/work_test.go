package mutants

// all are the deliberate faults, by the invariant that they break.
var all = append(append(append(keysMutants, workMutants...), storageMutants...), domainMutants...)

var keysMutants = []mutant{}

var workMutants = []mutant{
	{
		Name: "I-9 the handler runs on an abandoned row", File: "internal/work/group.go",
		Old: "if rec.Abandoned {", New: "if false {",
		Package: "./internal/work", Run: "TestAbandonedRow",
	},
	{
		Name: "I-7 what a stale row decided is dispatched", File: "internal/work/settle.go",
		Old: "if s.dispatch && !lost[i] {", New: "if s.dispatch && (!lost[i] || true) {",
		Package: "./internal/work", Run: "TestDispatchRunsInTheSettling",
	},
	{
		Name: "I-6 leases are renewed too late", File: "internal/work/heartbeat.go",
		Old: "r.o.Lease * 3 / 10", New: "r.o.Lease * 30 / 10",
		Package: "./internal/work", Run: "TestHeartbeat",
	},
	{
		Name: "I-6 a lost lease does not end its handler", File: "internal/work/flights.go",
		Old: "	if lost {", New: "	if false && lost {",
		Package: "./internal/work", Run: "TestALostLease",
	},
	{
		Name: "I-14 types of others are claimed", File: "internal/work/find.go",
		Old: `append([]string{""}, r.spec.Types()...)`, New: `[]string(nil)`,
		Package: "./internal/work", Run: "TestOnlyTypes",
	},
	{
		Name: "I-14 nobody looks behind the cursor", File: "internal/work/find.go",
		Old: "if !r.hot && !fromStart &&", New: "if false && !fromStart &&",
		Package: "./internal/work", Run: "TestARowBehindTheCursor",
	},
	{
		Name: "I-13 one bad row spoils its batch", File: "internal/work/settle.go",
		Old: "half > 0 {", New: "half > 1000 {",
		Package: "./internal/work", Run: "TestAFailedDispatch",
	},
	{
		Name: "I-13 a panic escapes", File: "internal/work/guard.go",
		Old: "if v := recover(); v != nil {", New: "if v := any(nil); v != nil {",
		Package: "./internal/work", Run: "TestPanic",
	},
}

var storageMutants = []mutant{}

var domainMutants = []mutant{}
