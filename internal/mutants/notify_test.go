package mutants

// notifyMutants are faults in artifacts and in sending. Memory shows them all.
var notifyMutants = []mutant{
	{
		Name: "I-1 one person has two addresses", File: "notify/address.go",
		Old: "strings.ToLower(address[at:])", New: "address[at:]",
		Package: "./notify", Run: "TestAddressesHaveOneSpelling",
	},
	{
		Name: "I-1 a repeat makes a second message", File: "notify/ensureoutgoing.go",
		Old: "if m.RowKey, err = keys.OutgoingMessageRow(m.RecipientHash,", New: "random, _ := n.newMessageID()\n\t\tif m.RowKey, err = keys.OutgoingMessageRow(m.RecipientHash[:8]+random,",
		Package: "./notify", Run: "TestI1_/memory",
	},
	{
		Name: "I-3 an artifact with another hash is compatible", File: "notify/ensure.go",
		Old: "if f.stored != f.wanted {", New: "if false {",
		Package: "./notify", Run: "TestI3_/memory",
	},
	{
		Name: "I-3 the first rendering is not kept", File: "notify/generatorpass.go",
		Old: "if !j.Frozen.isZero() {", New: "if false {",
		Package: "./notify", Run: "TestTheFirstRenderingWins/in_the_row/memory",
	},
	{
		Name: "I-4 a schedule revives a job that is done", File: "notify/schedulestates.go",
		Old: "if r.Status != StatusCreated {", New: "if false {",
		Package: "./notify", Run: "TestI16_TheMethodsTake",
	},
	{
		Name: "I-7 the result of a call is dropped with its claim", File: "notify/merge.go",
		Old: "return stored.lateAcceptance(now, mine)", New: "return false",
		Package: "./notify", Run: "TestALateAcceptanceIsApplied/memory",
	},
	{
		Name: "I-8 the provider is called before its call is recorded", File: "notify/distributorpass.go",
		Old:     "\t\tstarted, err := n.startCalls(ctx, open[first:first+taken])\n",
		New:     "\t\tfor _, it := range open[first : first+taken] {\n\t\t\tcall(it)\n\t\t}\n\t\tstarted, err := n.startCalls(ctx, open[first:first+taken])\n",
		Package: "./notify", Run: "TestI8_/memory",
	},
	{
		Name: "I-9 a call that failed is made again at once", File: "notify/distributorpass.go",
		Old: "\t\treceipt, err = c.Send(ctx, m)\n", New: "\t\tif receipt, err = c.Send(ctx, m); err != nil {\n\t\t\treceipt, err = c.Send(ctx, m)\n\t\t}\n",
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
		Old: "\tnext, ok := m.Tries.failed(", New: "\tm.RetryCount = 0\n\tnext, ok := m.Tries.failed(",
		Package: "./notify", Run: "TestResendIsLimited/memory",
	},
	{
		Name: "I-10 a call that was cut off passes for refused", File: "notify/classify.go",
		Old: `return Unknown("interrupted", err)`, New: `return Transient("interrupted", 0, err)`,
		Package: "./notify", Run: "TestErrorsOfChannelsAreClassified",
	},
	{
		Name: "I-10 a person's decision leaves no trace", File: "internal/audit/change.go",
		Old: "return Write(ctx, tx, &Entry{", New: "return nil\n\treturn Write(ctx, tx, &Entry{",
		Package: "./notify", Run: "TestAPersonDecidesThatAMessageArrived/memory",
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
		Name: "I-15 a message has no way to its end", File: "notify/machines.go",
		Old: "{From: StatusCreated, To: StatusSending, ", New: "{From: StatusCreated, To: StatusCreated, ",
		Package: "./notify", Run: "TestI15_EveryStateReachesAnEnd",
	},
	{
		Name: "I-17 a message on hold is due", File: "notify/outgoingstates.go",
		Old: "func (m *OutgoingMessage) putOnHold(reason string) {\n\tm.DueOn = time.Time{}", New: "func (m *OutgoingMessage) putOnHold(reason string) {\n\tm.DueOn = m.CreatedOn.AddDate(1, 0, 0)",
		Package: "./notify", Run: "TestI12_/memory",
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
	{
		Name: "I-16 a message may go from any state to any other", File: "notify/outgoingstates.go",
		Old: "outgoingStates.Must(m.Status, status)", New: "_ = outgoingStates",
		Package: "./notify", Run: "TestI16_AnIllegal",
	},
	{
		Name: "I-17 a schedule revives a job that is on hold", File: "notify/schedulestates.go",
		Old: "if r.Status != StatusCreated {", New: "if r.Status != StatusCreated && r.Status != StatusFailed {",
		Package: "./notify", Run: "TestAScheduleOfAJobPastCreated/on_hold/memory",
	},
	{
		Name: "I-4 a schedule writes a job that it does not wake", File: "notify/schedulerpass.go",
		Old: "if wake(&r, now) {", New: "if wake(&r, now); true {",
		Package: "./notify", Run: "TestAScheduleOfAJobPastCreated/generated/memory",
	},
	{
		Name: "I-28 a mark reaches every tenant", File: "notify/inbox.go",
		Old: "userMessages.Find(ctx, tx, scope,", New: "userMessages.Find(ctx, tx, storage.AnyScope,",
		Package: "./notify", Run: "TestI28_Marks/memory",
	},
	{
		Name: "I-28 everybody sees one inbox", File: "notify/notifyhttp/inbox.go",
		Old: "read(r.Context(), o.Scope, o.Inbox, page)", New: `read(r.Context(), o.Scope, "user:sam", page)`,
		Package: "./notify/notifyhttp", Run: "TestI28_/memory",
	},
	{
		Name: "I-28 marking up to a message marks what came later", File: "notify/inbox.go",
		Old: `storage.AtLeast("key", newest)`, New: `storage.AtLeast("key", newest[:0])`,
		Package: "./notify", Run: "TestMarkingUpTo/memory",
	},
}
