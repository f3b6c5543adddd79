package mutants

// trackerMutants are faults in what callbacks of providers lead to.
var trackerMutants = []mutant{
	{
		Name: "I-27 a callback moves a message down", File: "notify/lattice.go",
		Old: "heights[to] > heights[status]", New: "heights[to] > 0",
		Package: "./notify", Run: "TestI27_CallbacksInAnyOrder",
	},
	{
		Name: "I-27 a message that was written meanwhile misses its callback", File: "notify/applyevents.go",
		Old: "again, news[i] = append(again, saved[i]), nil", New: "news[i] = nil",
		Package: "./notify", Run: "TestAMessageThatChangesUnderACallback/memory",
	},
	{
		Name: "I-10 a retry follows a callback", File: "notify/lattice.go",
		Old: "m.DueOn, m.NextRetryOn, m.ReasonCode = time.Time{}, time.Time{}, \"\"", New: "m.ReasonCode = \"\"",
		Package: "./notify", Run: "TestI27_CallbacksInAnyOrder|TestACallbackPreventsTheRetry/Accepted/memory",
	},
	{
		Name: "I-12 a hold outlives its doubt", File: "notify/lattice.go",
		Old: "m.unhold()", New: "",
		Package: "./notify", Run: "TestACallbackSettlesADoubt/memory",
	},
	{
		Name: "I-11 an assumption that was confirmed stays one", File: "notify/lattice.go",
		Old: " || m.Resolution == ResolvedByAssumption", New: "",
		Package: "./notify", Run: "TestACallbackConfirms/memory",
	},
	{
		Name: "I-27 a repeated event is applied again", File: "notify/track.go",
		Old: "case !isNew[i]:", New: "case !isNew[i] && false:",
		Package: "./notify", Run: "TestARepeatedCallback/memory",
	},
	{
		Name: "I-27 an event that was forgotten has its consequences again", File: "notify/deliveryfact.go",
		Old: "if err == nil && isNew[i] {", New: "if err == nil && (isNew[i] || true) {",
		Package: "./notify", Run: "TestOldEventsAreForgotten/memory",
	},
	{
		Name: "I-13 an early event is dropped", File: "notify/trackerpass.go",
		Old: "e.unmatched(now)", New: "e.matched()",
		Package: "./notify", Run: "TestAnEventWithoutAMessage/memory",
	},
	{
		Name: "I-27 one provider speaks for another", File: "notify/messagereceipt.go",
		Old: "key, err := receiptKey(e.Type, e.ProviderMessageID)", New: "key, err := receiptKey(\"test\", e.ProviderMessageID)",
		Package: "./notify", Run: "TestAnUnknownMessageIsFoundLater/memory",
	},
	{
		Name: "I-28 a complaint in one tenant stops the others", File: "notify/suppression.go",
		Old: "Record:      storage.Record{Scope: scope, Key:", New: "Record:      storage.Record{Key:",
		Package: "./notify", Run: "TestAMessageOfAnotherTenant/memory",
	},
	{
		Name: "I-28 facts of every tenant", File: "notify/deliveryfact.go",
		Old: "Record:   storage.Record{Scope: m.Scope, Key:", New: "Record:   storage.Record{Scope: \"south\", Key:",
		Package: "./notify", Run: "TestAMessageOfAnotherTenant/memory",
	},
	{
		Name: "I-29 an address is in the suppression list", File: "notify/suppression.go",
		Old: "hash := n.addressHash(to.Method, to.Address)", New: "hash := to.Address",
		Package: "./notify", Run: "TestBouncesComplaints/memory",
	},
	{
		Name: "I-10 a lifted suppression leaves no trace", File: "notify/suppress.go",
		Old: "return audit.Write(ctx, tx, entries...)", New: "return nil",
		Package: "./notify", Run: "TestAPersonSuppresses/memory",
	},
	{
		Name: "I-27 a lifted suppression still stops", File: "notify/suppression.go",
		Old: "s != nil && s.Status == StatusActive {", New: "s != nil {",
		Package: "./notify", Run: "TestAPersonSuppresses/memory",
	},
	{
		Name: "I-27 a bounce that passes suppresses for ever", File: "notify/suppression.go",
		Old: "case e.Kind == KindBounced && e.Lasting:", New: "case e.Kind == KindBounced:",
		Package: "./notify", Run: "TestBouncesComplaints/memory",
	},
	{
		Name: "I-27 a refused callback is tracked all the same", File: "notify/receive.go",
		Old: "return TrackReport{}, ErrWebhookRefused", New: "_, _ = n.Track(ctx, events...)\n\t\treturn TrackReport{}, ErrWebhookRefused",
		Package: "./notify", Run: "TestReceiveSays",
	},
	{
		Name: "I-30 a callback of any length is read", File: "notify/notifyhttp/webhooks.go",
		Old: "io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBody))", New: "io.ReadAll(r.Body)",
		Package: "./notify/notifyhttp", Run: "TestABodyOfFiftyMegabytes/memory",
	},
	{
		Name: "I-30 a compressed body is taken", File: "notify/notifyhttp/webhooks.go",
		Old: "return notify.TrackReport{}, compressed", New: "r.Header.Del(\"Content-Encoding\")",
		Package: "./notify/notifyhttp", Run: "TestACompressedBody/memory",
	},
	{
		Name: "I-27 a forged callback is taken for our failure", File: "notify/notifyhttp/webhooks.go",
		Old: "\t\treturn refused\n", New: "\t\treturn failed\n",
		Package: "./notify/notifyhttp", Run: "TestAForgedCallback/memory",
	},
}
