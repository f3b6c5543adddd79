package mutants

// workMutants are faults in the pass that all tables share.
var workMutants = []mutant{
	{
		Name: "I-7 a row lands as often as it is passed on", File: "internal/work/stream.go",
		Old: "\t\tdelete(open, row)\n", New: "",
		Package: "./internal/work", Run: "TestARowLandsOnce",
	},
	{
		Name: "I-13 rows that did not land are lost", File: "internal/work/stream.go",
		Old: "left = append(left, it.Row)", New: "_ = left",
		Package: "./internal/work", Run: "TestRowsThatDidNotLand",
	},
	{
		Name: "I-13 a poll that has to return drops what is done", File: "internal/work/poll.go",
		Old: "\t\t\tr.settle(after, done, &rep)\n\t\t\tended", New: "\t\t\tended",
		Package: "./internal/work", Run: "TestAPollKeeps",
	},
	{
		Name: "work: a row that landed waits for its group", File: "internal/work/group.go",
		Old: "r.stream(ctx, items, early)", New: "r.stream(ctx, items, func(s settled[R, A]) { defer early(s); <-flights[len(flights)-1].ctx.Done() })",
		Package: "./internal/work", Run: "TestARowThatHasLanded", Hangs: true,
	},
	{
		Name: "work: a transaction takes any number of results", File: "internal/work/settle.go",
		Old: "sum > maxSettle {", New: "false {",
		Package: "./internal/work", Run: "TestHeavyResults",
	},
	{
		Name: "work: a call-started write wakes its own poller", File: "storage/waker.go",
		Old: "due.IsZero() || !r.record().LeaseExpiresOn.IsZero()", New: "due.IsZero()",
		Package: "./storage/memory", Run: "TestContract/waking",
	},
	{
		Name: "notify: a result waits for the calls beside it", File: "notify/distributorpass.go",
		Old: "\t\tn.call(it, p)\n\t\tland(it.Row, nothing{})\n", New: "\t\tn.call(it, p)\n",
		Package: "./notify", Run: "TestAResultIsKept/memory", Hangs: true,
	},
	{
		Name: "notify: everybody calls a channel that is bounded", File: "notify/slots.go",
		Old: "ok && o.Channels == nil", New: "false && ok && b != nil",
		Package: "./notify", Run: "TestABoundedChannel",
	},
	{
		Name: "survey: a result waits for the calls beside it", File: "survey/sendpass.go",
		Old: "\t\ts.callOne(it)\n\t\tfinish(it)\n", New: "\t\ts.callOne(it)\n",
		Package: "./survey", Run: "TestAResultIsKept/memory", Hangs: true,
	},
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
		Name: "I-13 what does not fit into a batch is not settled", File: "internal/work/settler.go",
		Old: "w.pending = w.pending[n:]", New: "w.pending = nil",
		Package: "./internal/work", Run: "TestMoreThanABatch", Hangs: true,
	},
	{
		Name: "I-13 any number of transactions settle at once", File: "internal/work/settler.go",
		Old: "len(w.pending) == 0 || w.busy == settling", New: "len(w.pending) == 0",
		Package: "./internal/work", Run: "TestMoreThanABatch",
	},
	{
		Name: "I-14 a claim without room asks for nothing for ever", File: "internal/work/find.go",
		Old: "for n > 0 && len(open) > 0", New: "for len(open) > 0",
		Package: "./internal/work", Run: "TestI14_APollerThatClaimsOneRowAtATimeGoesOn", Hangs: true,
	},
	{
		Name: "I-14 nobody looks behind the cursor", File: "internal/work/find.go",
		Old: "if !r.hot.Load() && !fromStart &&", New: "if false && !fromStart &&",
		Package: "./internal/work", Run: "TestI14_ARowBehind",
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
	{
		Name: "I-7 a stale row overwrites what an event decided", File: "internal/work/settle.go",
		Old: "save = append(save, s)", New: "r.rec(m).Version = rec.Version\n\t\t\tsave = append(save, m)",
		Package: "./internal/work", Run: "TestDispatchRunsInTheSettling",
	},
	{
		Name: "I-7 a claim of another is merged as one's own", File: "internal/work/settle.go",
		Old: "held := rec.ClaimToken == r.rec(m).ClaimToken && ", New: "held := ",
		Package: "./internal/work", Run: "TestALostLease",
	},
	{
		Name: "I-8 a call starts though its record was not committed", File: "internal/work/start.go",
		Old: " && t.Record(s).Version == before[i]+1", New: "",
		Package: "./internal/work", Run: "TestStartTells",
	},
	{
		Name: "I-10 a result is dropped while the database is away", File: "internal/work/settle.go",
		Old: "errors.Is(err, storage.ErrUnavailable) || ", New: "",
		Package: "./internal/work", Run: "TestASettleWaits",
	},
	{
		Name: "I-14 a lane is starved", File: "internal/work/lanes.go",
		Old: "if best < 0 || l.credit > ls[best].credit {", New: "if best < 0 {",
		Package: "./internal/work", Run: "TestShareNeverStarves",
	},
	{
		Name: "I-26 a row that somebody ended is started", File: "internal/work/start.go",
		Old: "started[i] = false", New: "started[i] = true",
		Package: "./internal/work", Run: "TestStartRefuses",
	},
	{
		Name: "I-6 a clock that is far off claims", File: "internal/work/find.go",
		Old: "c.Uncertainty() > r.o.Lease/4 {", New: "c.Uncertainty() > r.o.Lease*4 {",
		Package: "./internal/work", Run: "TestAnUncertainClock",
	},
	{
		Name: "I-6 a lease that nobody could renew never ends", File: "internal/work/flights.go",
		Old: "if now.After(fl.expires) {", New: "if false && now.After(fl.expires) {",
		Package: "./internal/work", Run: "TestALeaseThatCannotBeRenewed",
	},
	{
		Name: "I-7 a claim with a lost reply does not read the token again", File: "internal/work/find.go",
		Old: "s != nil && r.rec(s).ClaimToken == r.rec(row).ClaimToken", New: "s != nil",
		Package: "./internal/work", Run: "TestAClaimWithALostReply",
	},
	{
		Name: "I-7 a start with a lost reply does not read the token again", File: "internal/work/start.go",
		Old: " && t.Record(s).ClaimToken == rec.ClaimToken", New: "",
		Package: "./internal/work", Run: "TestStartReadsTheToken",
	},
	{
		Name: "I-5 a settle that runs again starts from what the first run made", File: "internal/work/settle.go",
		Old: "*rows[i] = before.rows[i] // the transaction may run again", New: "_ = before.rows[i]",
		Package: "./internal/work", Run: "TestASettleThatRunsAgain",
	},
	{
		Name: "I-30 a poll waits for a handler for ever", File: "internal/work/poll.go",
		Old: "case <-after.Done():", New: "case <-make(chan struct{}):",
		Package: "./internal/work", Run: "TestI30_/Poll", Hangs: true,
	},
	{
		Name: "I-30 a poller waits for a handler for ever", File: "internal/work/run.go",
		Old: "case <-last.C:", New: "case <-make(chan struct{}):",
		Package: "./internal/work", Run: "TestI30_/Run", Hangs: true,
	},
	{
		Name: "I-14 a peek takes the turn of the look-back that it calls for", File: "internal/work/find.go",
		Old: "(everywhere || r.look.allowed())", New: "(forced || r.look.allowed())",
		Package: "./internal/work", Run: "TestI14_ARunning",
	},
	{
		Name: "I-29 a span says what went wrong", File: "internal/work/telemetry.go",
		Old: `span.SetStatus(codes.Error, "")`, New: "span.SetStatus(codes.Error, err.Error())",
		Package: "./internal/work", Run: "TestI29_",
	},
	{
		Name: "I-29 a span does not say that something went wrong", File: "internal/work/telemetry.go",
		Old: `span.SetStatus(codes.Error, "")`, New: "_ = codes.Error",
		Package: "./internal/work", Run: "TestI29_APoll",
	},
	{
		Name: "I-29 a settle that failed passes for a good one", File: "internal/work/settle.go",
		Old: "defer func() { end(err) }()", New: "defer end(nil)",
		Package: "./internal/work", Run: "TestI29_ASettle",
	},
	{
		Name: "I-29 settled rows are counted without their status", File: "internal/work/telemetry.go",
		Old: `attribute.String("status", status)`, New: `attribute.String("status", status[:0])`,
		Package: "./internal/work", Run: "TestI29_APoll",
	},
	{
		Name: "I-29 nobody counts leases that were lost", File: "internal/work/telemetry.go",
		Old: "t.lost.Add(ctx, 1,", New: "t.lost.Add(ctx, 0,",
		Package: "./internal/work", Run: "TestI29_APoll",
	},
	{
		Name: "I-29 nobody counts polls that failed", File: "internal/work/telemetry.go",
		Old: "t.failed.Add(ctx, 1,", New: "t.failed.Add(ctx, 0,",
		Package: "./internal/work", Run: "TestI29_Polls",
	},
}
