package mutants

// campaignMutants are faults in the making of campaigns. Memory shows them all.
var campaignMutants = []mutant{
	{
		Name: "I-1 a recipient who is in two chunks gets two messages", File: "notify/chunk.go",
		Old:     "a.outgoing, err = m.n.outgoing(&rows, frozen{HashKey: m.n.hashKey}, d)",
		New:     "d.Hash = keys.RecipientHash(m.n.options.HashKey, d.Hash, \"\", m.view.Key+string(rune('a'+m.asked)))\n\t\ta.outgoing, err = m.n.outgoing(&rows, frozen{HashKey: m.n.hashKey}, d)",
		Package: "./notify", Run: "TestI1_WhoIsInTheAudienceTwice/memory",
	},
	{
		Name: "I-1 a campaign goes on under another hash key", File: "notify/chunk.go",
		Old: "j.HashKey != n.hashKey && j.HashKey != anyHashKey", New: "false",
		Package: "./notify", Run: "TestAnotherHashKeyInTheMiddle/memory",
	},
	{
		Name: "I-3 a blob of anything is an audience", File: "notify/payload.go",
		Old: "|| p.header.Format != payloadFormat", New: "",
		Package: "./notify", Run: "TestAnIncompatibleBlob/a_later_version/memory",
	},
	{
		Name: "I-3 a conflict of a message does not stop its campaign", File: "notify/chunkdispatch.go",
		Old: "if !b.conflicts(chunks[i]) {", New: "if true {",
		Package: "./notify", Run: "TestAConflictOfOneMessage/memory",
	},
	{
		Name: "I-5 the cursor of a campaign is not fenced", File: "notify/campaignpass.go",
		Old:     "Release:  func(now time.Time, j *MessagingJob) { j.released(now) },",
		New:     "Release:  func(now time.Time, j *MessagingJob) { j.released(now) },\n\t\tMerge: func(stored, mine *MessagingJob, _ bool) bool {\n\t\t\tstored.Generation = mine.Generation\n\t\t\treturn true\n\t\t},",
		Package: "./notify", Run: "TestTheCursorIsFenced/memory",
	},
	{
		Name: "I-5 the cursor moves without its messages", File: "notify/campaignpass.go",
		Old:     "\t\tif err == nil {\n\t\t\terr = it.Ctx.Err()",
		New:     "\t\tit.Row.Offset, it.Row.Done = out[i].next, it.Row.Done+len(out[i].people)\n\t\tif err == nil {\n\t\t\terr = it.Ctx.Err()",
		Package: "./notify", Run: "TestACursorDoesNotMove/memory",
	},
	{
		Name: "I-5 a crash makes a chunk again after its messages", File: "notify/generation.go",
		Old: "g.Offset = to", New: "_ = to",
		Package: "./notify", Run: "TestACampaignReaches/memory", Hangs: true,
	},
	{
		Name: "I-7 a chunk under way undoes a pause", File: "notify/campaignpass.go",
		Old:     "Release:  func(now time.Time, j *MessagingJob) { j.released(now) },",
		New:     "Release:  func(now time.Time, j *MessagingJob) { j.released(now) },\n\t\tMerge: func(stored, mine *MessagingJob, _ bool) bool {\n\t\t\tstored.Status, stored.DueOn = StatusReady, storage.Now(n.store)\n\t\t\treturn true\n\t\t},",
		Package: "./notify", Run: "TestAPauseInTheMiddle/memory",
	},
	{
		Name: "I-4 a cancelled campaign goes on", File: "notify/campaignpass.go",
		Old: "Claimable: []string{StatusReady}, Busy", New: "Claimable: []string{StatusReady, StatusCancelled}, Busy",
		Package: "./notify", Run: "TestACancelledCampaignMakes/memory",
	},
	{
		Name: "I-4 a dead worker's lease revives a cancelled campaign", File: "notify/messagingstates.go",
		Old: "if !j.CancelledOn.IsZero() {", New: "if false {",
		Package: "./notify", Run: "TestACancellationWhoseWorkerDied/memory",
	},
	{
		Name: "I-26 what comes back from a provider is sent although its campaign was cancelled", File: "notify/cancelpass.go",
		Old: "if j.InFlight > 0 && j.Rounds < cancelRounds {", New: "if false {",
		Package: "./notify", Run: "TestWhatACancelledCampaign/memory",
	},
	{
		Name: "I-17 a template that fails for all burns the audience", File: "notify/chunk.go",
		Old: "if m.failed > 0 && m.failed == m.asked {", New: "if false {",
		Package: "./notify", Run: "TestAChunkOfWhichNobody/memory",
	},
	{
		Name: "I-28 every tenant sees a campaign", File: "notify/campaignprogress.go",
		Old: "messagingJobs.Get(ctx, tx, scope, guid)", New: "messagingJobs.Get(ctx, tx, storage.AnyScope, guid)",
		Package: "./notify", Run: "TestTheProgressOfACampaign/memory",
	},
	{
		Name: "I-28 content is read before the host has agreed", File: "notify/campaigncontent.go",
		Old: "if err := allow(ctx, c.Campaign); err != nil {", New: "if err := allow(ctx, c.Campaign); err != nil && false {",
		Package: "./notify", Run: "TestContentIsShownOnly/memory",
	},
	{
		Name: "I-21 a chunk holds the whole audience", File: "notify/chunk.go",
		Old: "for len(c.people) < size && ", New: "for ",
		Package: "./notify", Run: "TestACampaignReaches|TestAPausedCampaign/memory",
	},
}
