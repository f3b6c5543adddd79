package mutants

// surveySendMutants are faults in how links are sent, reminded of and expired.
// Memory shows them all.
var surveySendMutants = []mutant{
	{
		Name: "I-26 a call begins for a link that was answered", File: "survey/call.go",
		Old: "if err != nil || !ours[i] ||", New: "if err != nil || i < 0 && ours[i] ||",
		Package: "./survey", Run: "TestI26_WhoAnswersAfterTheClaim/memory",
	},
	{
		Name: "I-26 a call begins after the lease of a link was lost", File: "survey/call.go",
		Old: "|| !ours[i] ||", New: "|| i < 0 && ours[i] ||",
		Package: "./survey", Run: "TestI26_WhoLostItsLease/memory",
	},
	{
		Name: "I-8 a link is sent before that is recorded", File: "survey/call.go",
		Old:     "	ours, err := work.Start(ctx, s.store, instances, now.Add(items[0].Lease), rows)\n",
		New:     "	_, err := work.Start(ctx, s.store, instances, now.Add(items[0].Lease), nil)\n	ours := make([]bool, len(rows))\n	for i := range ours {\n		ours[i] = true\n	}\n",
		Package: "./survey", Run: "TestI9_/assumed_and_accepted/memory",
	},
	{
		Name: "I-9 a link whose sender died in the call is sent again", File: "survey/sendstates.go",
		Old: "		i.doubted(now, ReasonLeaseLost)", New: "		i.failed(now, ReasonLeaseLost, 0)",
		Package: "./survey", Run: "TestI9_/assumed_and_accepted/memory",
	},
	{
		Name: "I-10 repeats of a link in doubt are not counted", File: "survey/doubt.go",
		Old: "		r.failed(now, ReasonInDoubt, 0)", New: "		r.Tries = 0\n		r.failed(now, ReasonInDoubt, 0)",
		Package: "./survey", Run: "TestRepeatsOfASendInDoubt/memory",
	},
	{
		Name: "I-11 a link in doubt is sent although the provider has it", File: "survey/doubt.go",
		Old: "	case s.askProvider(it):\n", New: "",
		Package: "./survey", Run: "TestAProviderThatCanTell/accepted",
	},
	{
		Name: "I-13 a channel that always fails is never given up", File: "survey/sendstates.go",
		Old: "		i.stop(now, reason)\n		return\n	}\n	i.NextTryOn", New: "		wait = waits[4]\n	}\n	i.NextTryOn",
		Package: "./survey", Run: "TestAChannelThatAlwaysFails/memory",
	},
	{
		Name: "I-13 only who has the channel expires a link", File: "survey/due.go",
		Old: "		return ends, \"\"\n", New: "		return ends, i.Channel\n",
		Package: "./survey", Run: "TestTheAbsoluteLimitComesFirst/memory",
	},
	{
		Name: "I-13 a link whose channel nobody has stays for ever", File: "survey/sendpass.go",
		Old: "case r.ReasonCode == ReasonNoChannel && r.Type == \"\":", New: "case false:",
		Package: "./survey", Run: "TestALinkWhoseChannelNobodyHas/memory",
	},
	{
		Name: "I-7 what came of a call is dropped if the row was written meanwhile", File: "survey/mergesent.go",
		Old: "if !mine.called() {", New: "if true {",
		Package: "./survey", Run: "TestACallUnderWayDoesNotUndoAnAnswer/memory",
	},
	{
		Name: "I-7 a call under way undoes a stop by support", File: "survey/mergesent.go",
		Old: "if i.NextSendOn.IsZero() { // support has stopped it", New: "if false {",
		Package: "./survey", Run: "TestSupportActsWhileTheChannelIsCalled/stop/memory",
	},
	{
		Name: "I-7 a call under way undoes a beacon", File: "survey/mergesent.go",
		Old: "if i.Status == StatusPending {", New: "if true {",
		Package: "./survey", Run: "TestACallUnderWayDoesNotUndoABeacon",
	},
	{
		Name: "I-28 support acts on links of every tenant", File: "survey/support.go",
		Old: "instances.Find(ctx, tx, scope, storage.Query{", New: "instances.Find(ctx, tx, storage.AnyScope, storage.Query{",
		Package: "./survey", Run: "TestSupportNeedsAScope/memory",
	},
	{
		Name: "I-29 the log tells what a renderer panicked with", File: "survey/call.go",
		Old: "slog.String(\"stack\", string(p.Stack))", New: "slog.Any(\"value\", p.Value)",
		Package: "./survey", Run: "TestI29_TheLogHoldsNothing/a_renderer_that_panics",
	},
	{
		Name: "surveysend: each reminder waits as long as the first", File: "survey/advance.go",
		Old: "time.Duration(reminders[index])", New: "time.Duration(reminders[0])",
		Package: "./survey", Run: "TestTheArithmeticOfTheLongSchedule",
	},
	{
		Name: "surveysend: a schedule without reminders never ends", File: "survey/advance.go",
		Old: "	if index < 0 || index >= len(reminders) {\n", New: "	if len(reminders) == 0 {\n		return sentOn.Add(time.Hour), 0\n	}\n	if index < 0 || index >= len(reminders) {\n",
		Package: "./survey", Run: "TestTheArithmeticOfAnySchedule",
	},
	{
		Name: "surveysend: a failed first try makes the next one a reminder", File: "survey/sendstates.go",
		Old: "	i.Tries++\n", New: "	i.Tries++\n	i.SendOrdinal++\n",
		Package: "./survey", Run: "TestAFailedFirstTry/memory",
	},
	{
		Name: "surveysend: a reminder passes for a repeat", File: "survey/compose.go",
		Old: "if r.SendOrdinal == 0 {", New: "if true {",
		Package: "./survey", Run: "TestSupportSendsALinkAgain/memory",
	},
	{
		Name: "surveysend: an extra send takes the place of a reminder", File: "survey/support.go",
		Old: "		i.RemindersRemaining++ // the one that was scheduled comes after this one\n", New: "",
		Package: "./survey", Run: "TestSupportSendsALinkAgain/memory",
	},
	{
		Name: "surveysend: what nobody got to is sent years later", File: "survey/due.go",
		Old: "ends = i.NextSendOn.Add(grace)", New: "ends = i.NextSendOn.Add(100 * grace)",
		Package: "./survey", Run: "TestALinkThatNobodyGotTo/memory",
	},
	{
		Name: "surveysend: what stopped late expires in the past", File: "survey/due.go",
		Old: "ends = later(i.TriggeredOn.Add(grace), i.StoppedOn)", New: "ends = i.TriggeredOn.Add(grace)",
		Package: "./survey", Run: "TestWhenARowIsDue",
	},
	{
		Name: "surveysend: the absolute limit is none", File: "survey/due.go",
		Old: "if !i.ExpiresOn.IsZero() && i.ExpiresOn.Before(ends) {", New: "if false {",
		Package: "./survey", Run: "TestTheAbsoluteLimitComesFirst/memory",
	},
	{
		Name: "surveysend: every trigger has the same grace", File: "survey/pinned.go",
		Old: "if t != nil && t.ExpiryGrace != nil {", New: "if false {",
		Package: "./survey", Run: "TestATriggerHasItsOwnGrace/a_longer_grace",
	},
	{
		Name: "surveysend: an outage stops the sends of a channel", File: "survey/channelrow.go",
		Old: " || now.Sub(stored.MissedOn) > patience {", New: " {",
		Package: "./survey", Run: "TestAnOutageStopsNoSend/memory",
	},
	{
		Name: "surveysend: a backlog stops the sends of a channel", File: "survey/channelrow.go",
		Old: "now.Sub(later(g.Row.MissedSince, g.Row.ServedOn))", New: "now.Sub(g.Row.MissedSince)",
		Package: "./survey", Run: "TestABacklogOfAServedChannel/memory",
	},
	{
		Name: "surveysend: a gate that lets a link wait counts a try", File: "survey/askgates.go",
		Old: "		r.NextTryOn = storage.Time(later(v.Until, now.Add(minDefer)))\n", New: "		r.failed(now, v.Reason, v.Until.Sub(now))\n",
		Package: "./survey", Run: "TestAGateLetsASendWait/memory",
	},
	{
		Name: "surveysend: a gate that fails lets a link through", File: "survey/askgates.go",
		Old: "			s.untried(it, ReasonGateFailed, nil)\n", New: "			open = append(open, it)\n",
		Package: "./survey", Run: "TestAGateThatFailsLetsNothingThrough/a_panic",
	},
	{
		Name: "surveysend: a skipped link is asked about again", File: "survey/askgates.go",
		Old: "		r.stop(now, reason)\n", New: "		r.NextTryOn = now.Add(time.Hour)\n",
		Package: "./survey", Run: "TestAGateSkipsASend/memory",
	},
	{
		Name: "surveysend: a suppressed address in another spelling gets a link", File: "survey/compose.go",
		Old: "	it.message.To = to\n", New: "	_ = to\n",
		Package: "./survey", Run: "TestASuppressedAddressGetsNoLink/memory",
	},
	{
		Name: "surveysend: a tick takes more than its batch", File: "survey/pollonce.go",
		Old: "r.Poll(ctx, max(batchSize, 1))", New: "r.Poll(ctx, 1000)",
		Package: "./survey", Run: "TestATickTakesAtMostItsBatch/memory",
	},
	{
		Name: "surveysend: a copy of the database asks a provider about a link", File: "survey/doubt.go",
		Old: "verdicts[i].Action == notify.ActionProceed {", New: "i < len(verdicts) {",
		Package: "./survey", Run: "TestACopyOfADatabaseSendsNoLinks",
	},
	{
		Name: "surveysend: a call that is known not to be made leaves a doubt", File: "survey/mergesent.go",
		Old: "return held && stored.uncall()", New: "return false",
		Package: "./survey", Run: "TestACallThatWasNotMadeLeavesNoDoubt",
	},
}
