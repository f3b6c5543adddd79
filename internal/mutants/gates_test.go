package mutants

// gateMutants are faults in what is asked before a provider is called.
var gateMutants = []mutant{
	{
		Name: "I-10 a gate is asked after the call is recorded", File: "notify/distributorpass.go",
		Old: "	open, p.to = n.askGates(ctx, open)\n", New: "	if open, err = n.startCalls(ctx, open); err != nil {\n		return err\n	}\n	open, p.to = n.askGates(ctx, open)\n",
		Package: "./notify", Run: "TestAGateThatFailsLetsNothingThrough/an_error/memory",
	},
	{
		Name: "gates: a gate that fails lets through", File: "notify/askgates.go",
		Old: "			it.Row.unasked(storage.Now(n.store), ReasonGateFailed)\n", New: "			open = append(open, it)\n",
		Package: "./notify", Run: "TestAGateThatFailsLetsNothingThrough/a_panic/memory",
	},
	{
		Name: "gates: an unknown action passes for Proceed", File: "notify/askgates.go",
		Old: "if !v.Action.known() {", New: "if false {",
		Package: "./notify", Run: "TestAGateThatFailsLetsNothingThrough/an_unknown_action/memory",
	},
	{
		Name: "gates: too few verdicts are enough", File: "notify/askgates.go",
		Old: "if len(verdicts) != len(a) {", New: "if len(verdicts) > len(a) {",
		Package: "./notify", Run: "TestAGateThatFailsLetsNothingThrough/too_few_verdicts/memory",
	},
	{
		Name: "gates: what was deferred goes out unasked", File: "notify/revalidate.go",
		Old: "return !m.NextRetryOn.IsZero() || ", New: "return ",
		Package: "./notify", Run: "TestADeferredMessageGoesOutOnlyIf",
	},
	{
		Name: "gates: what was paused for long goes out unasked", File: "notify/revalidate.go",
		Old: "now.Sub(m.DueOn) > lateAfter", New: "now.Sub(m.DueOn) > 1000*lateAfter",
		Package: "./notify", Run: "TestAMessageThatWasPausedForLong/memory",
	},
	{
		Name: "gates: a copy sends", File: "notify/environment.go",
		Old: "return work.Except{All: all}, err", New: "return work.Except{All: all && false}, err",
		Package: "./notify", Run: "TestADatabaseThatIsReplaced",
	},
	{
		Name: "gates: a database replaced after the claim is called for", File: "notify/environment.go",
		Old: "age < identityAge {", New: "age < 1000*identityAge {",
		Package: "./notify", Run: "TestADatabaseThatIsReplaced",
	},
	{
		Name: "gates: who cannot read the identity sends", File: "notify/environment.go",
		Old: "	if err != nil {\n		return nil, err\n	}\n	if !copied {", New: "	if err != nil || !copied {",
		Package: "./notify", Run: "TestAnIdentityThatCannotBeRead",
	},
	{
		Name: "gates: a copy that is released forgets its name", File: "storage/identity.go",
		Old: "	if id.Given != \"\" {\n		row.Environment = id.Given\n	}\n", New: "",
		Package: "./notify", Run: "TestACopyOfADatabase/sqlite",
	},
	{
		Name: "gates: a quarantine is released without a trace", File: "notify/quarantine.go",
		Old: "		return audit.Write(ctx, tx, &audit.Entry{", New: "		_ = audit.Write\n		return nil\n		return audit.Write(ctx, tx, &audit.Entry{",
		Package: "./notify", Run: "TestACopyOfADatabase/sqlite",
	},
	{
		Name: "gates: a copy asks providers about its doubts", File: "notify/resolvepass.go",
		Old: "Except: n.environment.except, ", New: "",
		Package: "./notify", Run: "TestACopyAsksNoProvider/memory", Hangs: true,
	},
	{
		Name: "gates: a pause of a type in one scope is one of all", File: "notify/pause.go",
		Old: "case e.Type != \"\" && e.Everywhere:", New: "case e.Type != \"\":",
		Package: "./notify", Run: "TestAPauseKeepsBackWhat/a_type_in_a_scope/memory",
	},
	{
		Name: "gates: a paused type is claimed", File: "storage/memory/claim.go",
		Old: "		!t.isOf(img, c.ExceptKinds)\n", New: "		(true || !t.isOf(img, c.ExceptKinds))\n",
		Package: "./notify", Run: "TestAPauseKeepsBackWhat/a_type_everywhere/memory",
	},
	{
		Name: "gates: what is claimed is called though it is paused", File: "notify/pausegate.go",
		Old: "out[i] = Defer(a[i].Now, ReasonPaused)", New: "_ = ReasonPaused",
		Package: "./notify", Run: "TestAPauseStopsWhatIsClaimed/memory",
	},
	{
		Name: "I-28 pauses of other tenants are listed by notify", File: "notify/pause.go",
		Old: "pause.InForce(ctx, tx, pauses, scope, storage.Eq(\"everywhere\", false))", New: "pause.InForce(ctx, tx, pauses, storage.AnyScope, storage.Eq(\"everywhere\", false))",
		Package: "./notify", Run: "TestPausesAreListedAudited/memory",
	},
	{
		Name: "gates: a domain that ends alike is allowed", File: "notify/recipientgate.go",
		Old: "strings.EqualFold(address[at:], entry)", New: "strings.HasSuffix(strings.ToLower(address), strings.ToLower(entry[1:]))",
		Package: "./notify", Run: "TestOnlyWhoIsAllowed/memory",
	},
	{
		Name: "gates: who is not allowed gets it all the same", File: "notify/distributorpass.go",
		Old: "m.To = cmp.Or(p.to[row], m.To)", New: "_ = cmp.Or[string]",
		Package: "./notify", Run: "TestOnlyWhoIsAllowed/memory",
	},
	{
		Name: "gates: a hard bounce stops no mandatory message", File: "notify/suppressiongate.go",
		Old: "r.stops(a[i].Mandatory)", New: "r.stops(a[i].Mandatory) && !a[i].Mandatory",
		Package: "./notify", Run: "TestASuppressedAddress/memory",
	},
	{
		Name: "gates: the broadest preference decides", File: "notify/preferencegate.go",
		Old: "for _, at := range asked {", New: "for i := range asked {\n\t\tat := asked[len(asked)-1-i]",
		Package: "./notify", Run: "TestTheMostParticular/memory",
	},
	{
		Name: "gates: a mandatory message can be opted out of", File: "notify/preferencegate.go",
		Old: "		if a[i].Mandatory {\n			continue\n		}\n		asked[i]", New: "		asked[i]",
		Package: "./notify", Run: "TestALinkUnsubscribes/memory",
	},
	{
		Name: "gates: any token unsubscribes", File: "notify/unsubscribe.go",
		Old: "if m == nil || !hmac.Equal(", New: "if m == nil || false && !hmac.Equal(",
		Package: "./notify", Run: "TestAForgedToken/memory",
	},
	{
		Name: "gates: a link that is opened unsubscribes", File: "notify/notifyhttp/unsubscribe.go",
		Old: "s.n.CheckUnsubscribe(r.Context(), tokenIn(r))", New: "s.n.Unsubscribe(r.Context(), tokenIn(r), true)",
		Package: "./notify/notifyhttp", Run: "TestAnUnsubscribeLinkThatIsOpened/memory",
	},
	{
		Name: "gates: a message counts each time that it is asked about", File: "notify/frequencycap.go",
		Old: "return c.ID == id", New: "return false",
		Package: "./notify", Run: "TestAMessageCountsOnceInACap/memory",
	},
	{
		Name: "gates: two processes do not notice each other's counts", File: "notify/counting.go",
		Old: "errors.Is(err, storage.ErrStale) {\n		return errOvertaken", New: "errors.Is(err, storage.ErrStale) {\n		return nil",
		Package: "./notify", Run: "TestTwoProcessesShareACap/postgres", Postgres: true,
	},
	{
		Name: "gates: an attempt counts again after a crash", File: "notify/rategate.go",
		Old: "if r.reserved[at] != nil {", New: "if false {",
		Package: "./notify", Run: "TestAnAttemptCountsOnceInARate/memory",
	},
	{
		Name: "gates: a rate lets through one too many", File: "notify/ratelimit.go",
		Old: "if taken.Sub(now) > l.cost(room) {", New: "if taken.Sub(now) > l.cost(room+1) {",
		Package: "./notify", Run: "TestARateLetsItsBurst/memory",
	},
	{
		Name: "gates: urgent messages queue behind a campaign", File: "notify/ratelimit.go",
		Old: "room -= l.Burst / 10", New: "_ = room",
		Package: "./notify", Run: "TestUrgentMessagesHaveAPart/memory",
	},
	{
		Name: "gates: scopes share what is their own", File: "notify/rategate.go",
		Old: "if r.limits[a.Channel].PerScope {", New: "if false {",
		Package: "./notify", Run: "TestScopesShareARate/of_their_own/memory",
	},
	{
		Name: "gates: a window is by the clock of UTC", File: "notify/sendwindow.go",
		Old: "civil.Resolve(d, g.from, loc, civil.Policy{})", New: "civil.Resolve(d, g.from, time.UTC, civil.Policy{})",
		Package: "./notify", Run: "TestTheSendWindowOpens",
	},
	{
		Name: "gates: a window ends at midnight", File: "notify/sendwindow.go",
		Old: "for days := -1; days <= 3; days++ {", New: "for days := 0; days <= 3; days++ {",
		Package: "./notify", Run: "TestTheSendWindowOpens",
	},
	{
		Name: "gates: quiet hours hold up what is urgent", File: "notify/sendwindow.go",
		Old: "if a[i].Urgent || ", New: "if ",
		Package: "./notify", Run: "TestUrgentMessagesAndOther",
	},
	{
		Name: "gates: what waited comes all at once", File: "notify/sendwindow.go",
		Old: "opens.Add(wait)", New: "opens.Add(wait - wait)",
		Package: "./notify", Run: "TestWhatWaitedForTheWindow/memory",
	},
	{
		Name: "gates: a dry run counts", File: "notify/rategate.go",
		Old: "if a[0].DryRun {", New: "if false {",
		Package: "./notify", Run: "TestADryRunSaysWho/memory",
	},
	{
		Name: "gates: a source that fails has the own channel send", File: "notify/channelsource.go",
		Old: "	if err == nil && c == nil {\n		c = own\n	}\n	if err != nil || c == nil {", New: "	if c == nil {\n		c = own\n	}\n	if c == nil {",
		Package: "./notify", Run: "TestEachScopeSends/memory",
	},
	{
		Name: "I-3 another hash key makes second messages", File: "notify/hashkey.go",
		Old: "if r.Fingerprint != n.hashKey {\n\t\treturn ErrHashKey", New: "if false {\n\t\treturn ErrHashKey",
		Package: "./notify", Run: "TestAnotherHashKey/memory",
	},
	{
		Name: "I-9 a channel makes more calls at once than it may", File: "notify/slots.go",
		Old: "for taken = 1; taken < n; taken++ {", New: "for taken = 1; taken < n; taken++ {\n\t\tif true {\n\t\t\tcontinue\n\t\t}",
		Package: "./notify", Run: "TestAChannelHasSoManyCalls/memory", Hangs: true,
	},
}
