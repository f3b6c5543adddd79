package mutants

// notifyMutants are faults in artifacts and in sending. Memory shows them all.
var notifyMutants = []mutant{
	{
		Name: "I-1 one person has two addresses", File: "notify/address.go",
		Old: "strings.ToLower(address[at:])", New: "address[at:]",
		Package: "./notify", Run: "TestAddressesHaveOneSpelling",
	},
	{
		Name: "I-1 the dispatch guard holds a moment", File: "notify/schedule.go",
		Old: "cmp.Or(s.EventType, s.Type))", New: "cmp.Or(s.EventType, s.Type), s.ScheduledOn.String())",
		Package: "./notify", Run: "TestDirectReminderRetryMakesOneNotificationJob/memory",
	},
	{
		Name: "I-3 an artifact with another hash is compatible", File: "notify/ensure.go",
		Old: "if f.stored != f.wanted {", New: "if false {",
		Package: "./notify", Run: "TestI3_/memory",
	},
	{
		Name: "I-3 a conflict rolls its transaction back", File: "notify/ensure.go",
		Old:     "out, _, err = k.ensureIn(ctx, tx, copies(rows)) // the transaction may run again\n\t\treturn err",
		New:     "out, _, err = k.ensureIn(ctx, tx, copies(rows))\n\t\treturn errors.Join(err, joinConflicts(out))",
		Package: "./notify", Run: "TestAConflictLeavesTheTransactionUsable/memory",
	},
	{
		Name: "I-3 the first rendering is not kept", File: "notify/generatorpass.go",
		Old: "if !j.Frozen.isZero() {", New: "if false {",
		Package: "./notify", Run: "TestTheFirstRenderingWins/memory",
	},
	{
		Name: "I-4 a schedule revives a job that is done", File: "notify/schedulestates.go",
		Old: "if r.Status != StatusCreated {", New: "if false {",
		Package: "./notify", Run: "TestAScheduleOfAJobPastCreatedLeavesItAlone/memory",
	},
	{
		Name: "I-7 the result of a call is dropped with its claim", File: "notify/merge.go",
		Old: "return stored.lateAcceptance(now, mine)", New: "return false",
		Package: "./notify", Run: "TestALateAcceptanceIsApplied/memory",
	},
	{
		Name: "I-8 the provider is called before its call is recorded", File: "notify/distributorpass.go",
		Old:     "started, err := n.startCalls(ctx, open)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\teach(started, func(it work.Item[OutgoingMessage]) { n.call(it, channel) })",
		New:     "each(open, func(it work.Item[OutgoingMessage]) { n.call(it, channel) })\n\tif _, err := n.startCalls(ctx, open); err != nil {\n\t\treturn nil, err\n\t}",
		Package: "./notify", Run: "TestI8_/memory",
	},
	{
		Name: "I-9 a call that failed is made again at once", File: "notify/distributorpass.go",
		Old: "\t\treceipt, err = c.Send(ctx, it.Row.message())\n", New: "\t\tif receipt, err = c.Send(ctx, it.Row.message()); err != nil {\n\t\t\treceipt, err = c.Send(ctx, it.Row.message())\n\t\t}\n",
		Package: "./notify", Run: "TestI9_/memory",
	},
	{
		Name: "I-10 a started call is taken for one that was not made", File: "notify/outgoingstates.go",
		Old: "case m.CallStartedOn.IsZero():\n\t\tm.released(now)", New: "case true:\n\t\tm.released(now)",
		Package: "./notify", Run: "TestI12_/memory",
	},
	{
		Name: "I-10 what is in doubt is sent again without a policy", File: "notify/resolvepass.go",
		Old: "default:\n\t\tm.holdInDoubt(now)", New: "default:\n\t\tm.sendAgain(now, ResolvedByResend)",
		Package: "./notify", Run: "TestI12_/memory",
	},
	{
		Name: "I-10 a provider that never answers is called for ever", File: "notify/doubt.go",
		Old: "func (m *OutgoingMessage) sendAgain(now time.Time, how Resolution) {\n\tif m.Doubts <= 1 {", New: "func (m *OutgoingMessage) sendAgain(now time.Time, how Resolution) {\n\tif true {",
		Package: "./notify", Run: "TestResendIsLimited/memory",
	},
	{
		Name: "I-10 a call that was cut off passes for refused", File: "notify/classify.go",
		Old: `return Unknown("interrupted", err)`, New: `return Transient("interrupted", 0, err)`,
		Package: "./notify", Run: "TestErrorsOfChannelsAreClassified",
	},
	{
		Name: "I-10 a message is sent again after the window of its provider", File: "notify/doubt.go",
		Old: "if !now.Before(until) {", New: "if false {",
		Package: "./notify", Run: "TestAnIdempotentProviderIsNotCalledOutside/memory",
	},
	{
		Name: "I-11 an assumption passes for the provider's word", File: "notify/resolvepass.go",
		Old: "m.resolved(now, ResolvedByAssumption)", New: "",
		Package: "./notify", Run: "TestI11_/memory",
	},
	{
		Name: "I-12 what is in doubt is not on hold", File: "notify/doubt.go",
		Old: "m.putOnHold(HoldInDoubt)", New: "m.DueOn = time.Time{}",
		Package: "./notify", Run: "TestI12_/memory",
	},
	{
		Name: "I-13 a job that changed is not made ready", File: "notify/schedulerpass.go",
		Old: "if !errors.As(err, &stale) || round == 2 {", New: "if !errors.As(err, &stale) || round == 0 {",
		Package: "./notify", Run: "TestAJobThatChangesUnderTheScheduler/memory",
	},
	{
		Name: "I-15 a message in doubt has no way out", File: "notify/machines.go",
		Old: "{From: StatusOutcomeUnknown, To: StatusRetryReady, ", New: "{From: StatusOutcomeUnknown, To: StatusOutcomeUnknown, ",
		Package: "./notify", Run: "TestI16_MessagesTakeTheEdges",
	},
	{
		Name: "I-16 an acceptance does not look at the table", File: "notify/outgoingstates.go",
		Old: "m.become(StatusSentToProvider)", New: "m.Status = StatusSentToProvider",
		Package: "./notify", Run: "TestI16_MessagesTakeTheEdges",
	},
	{
		Name: "I-17 a refusal is not counted", File: "notify/retries.go",
		Old: "\tt.RetryCount++\n", New: "",
		Package: "./notify", Run: "TestI10_/memory",
	},
	{
		Name: "I-17 a message on hold is due", File: "notify/outgoingstates.go",
		Old: "func (m *OutgoingMessage) putOnHold(reason string) {\n\tm.DueOn = time.Time{}", New: "func (m *OutgoingMessage) putOnHold(reason string) {",
		Package: "./notify", Run: "TestI12_/memory",
	},
	{
		Name: "I-18 a retried message that nobody wants goes out", File: "notify/revalidate.go",
		Old: "if n.apply(it.Row, verdicts[i]) {", New: "if true {",
		Package: "./notify", Run: "TestARetriedMessageGoesOutOnlyIfItIsStillWanted/memory",
	},
	{
		Name: "I-19 an in-app message's key holds the moment of writing", File: "notify/render.go",
		Old: "m := d.userMessage(j)\n", New: "m := d.userMessage(j)\n\t\t\tm.SourceOn = storage.Now(n.store)\n",
		Package: "./notify", Run: "TestUserMessageRetryWithStableSourceTicks/memory",
	},
	{
		Name: "I-26 a call starts after its message has ended", File: "notify/distributorpass.go",
		Old: "if err != nil || !ours[i] || it.Ctx.Err() != nil {", New: "if err != nil || !ours[i] && false || it.Ctx.Err() != nil {",
		Package: "./notify", Run: "TestI26_/memory",
	},
	{
		Name: "I-28 a listing shows every tenant", File: "notify/list.go",
		Old: "t.Find(ctx, tx, scope, storage.Query{", New: "t.Find(ctx, tx, storage.AnyScope, storage.Query{",
		Package: "./notify", Run: "TestI28_/memory",
	},
}
