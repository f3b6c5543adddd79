package mutants

// providerMutants are faults in the channels to providers with a REST API.
var providerMutants = []mutant{
	{
		Name: "I-9 a dead connection makes a second request", File: "notify/channel/internal/rest/call.go",
		Old:     "if len(call.Body) > 0 {",
		New:     "if request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Body)), nil }; len(call.Body) > 0 {",
		Package: "./notify/channel/internal/rest", Run: "TestOneRequestAlsoWhenAKeptConnectionDies",
	},
	{
		Name: "I-10 a request that was written counts as never sent", File: "notify/channel/internal/rest/conn.go",
		Old: "if !c.state.CompareAndSwap(untouched, written) && c.state.Load() == sealed {", New: "if c.state.Load() == sealed {",
		Package: "./notify/channel/internal/rest", Run: "TestOneRequest|TestFailedWrite|TestSealed",
	},
	{
		Name: "I-11 an answer cut short accepts", File: "notify/channel/internal/rest/answer.go",
		Old: "\tif err != nil {\n\t\treturn nil, notify.Unknown(", New: "\tif len(body) > maxAnswer {\n\t\treturn nil, notify.Unknown(",
		Package: "./notify/channel/internal/rest", Run: "TestAnswerThatIsNotWholeIsInDoubt",
	},
	{
		Name: "I-10 a server that failed is taken for one that refused", File: "notify/channel/internal/rest/refusal.go",
		Old: "\treturn a.Unknown(code)\n}\n\n// Permanent", New: "\treturn a.Transient(code)\n}\n\n// Permanent",
		Package: "./notify/channel/internal/rest", Run: "TestStatusHasItsClass",
	},
	{
		Name: "security: an error quotes what the server sent", File: "notify/channel/internal/rest/safe.go",
		Old: "return errStrange", New: "return err",
		Package: "./notify/channel/internal/rest", Run: "TestAnswerThatIsNotWholeIsInDoubt",
	},
	{
		Name: "security: a code may be a number to call", File: "notify/channel/internal/rest/refusal.go",
		Old: "if digits++; digits > 6 {", New: "if digits++; digits > 60 {",
		Package: "./notify/channel/internal/rest", Run: "TestCodeHoldsNothingPersonal",
	},
	{
		Name: "security: credentials go over plain http", File: "notify/channel/internal/rest/faults.go",
		Old: `u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname()))`, New: "false",
		Package: "./notify/channel/internal/rest", Run: "TestBaseURL",
	},
	{
		Name: "security: a redirect is followed elsewhere", File: "notify/channel/internal/rest/call.go",
		Old: "c.transport.RoundTrip(request)", New: "(&http.Client{Transport: c.transport}).Do(request)",
		Package: "./notify/channel/internal/rest", Run: "TestRedirectIsNotFollowed|TestErrorHoldsNeither",
	},
	{
		Name: "security: SendGrid's signature may be old", File: "notify/channel/sendgrid/webhook.go",
		Old: ".Sub(r.Now).Abs() > window", New: ".Sub(r.Now).Abs() < 0",
		Package: "./notify/channel/sendgrid", Run: "TestForgedCallbackIsRefused",
	},
	{
		Name: "security: SendGrid's signature leaves out the time", File: "notify/channel/sendgrid/webhook.go",
		Old: "_, _ = h.Write([]byte(timestamp)) // a hash takes everything", New: "_ = timestamp",
		Package: "./notify/channel/sendgrid", Run: "TestPublishedSignature|TestEventsAreRead",
	},
	{
		Name: "security: a mail's header is built from any URL", File: "notify/channel/sendgrid/check.go",
		Old: `case m.UnsubscribeURL != "" && !isWebAddress(m.UnsubscribeURL):`, New: "case false:",
		Package: "./notify/channel/sendgrid", Run: "TestMessageThatMakesNoMailIsRefusedUnsent",
	},
	{
		Name: "tracker: SendGrid's events of other programs are ours", File: "notify/channel/sendgrid/event.go",
		Old: `if id == "" || known == "" || kind == "" {`, New: `if known == "" || kind == "" {`,
		Package: "./notify/channel/sendgrid", Run: "TestEventsAreRead",
	},
	{
		Name: "tracker: a blocked mail suppresses its address", File: "notify/channel/sendgrid/event.go",
		Old: `e.Type == "bounce"`, New: "true",
		Package: "./notify/channel/sendgrid", Run: "TestEventsAreRead",
	},
	{
		Name: "security: Twilio's signature leaves out the parameters", File: "notify/channel/twilio/signature.go",
		Old: "tail := joined(params)", New: "tail := joined(nil)",
		Package: "./notify/channel/twilio", Run: "TestForgedCallbackIsRefused|TestPublishedSignatures",
	},
	{
		Name: "security: Twilio's JSON need not have its hash", File: "notify/channel/twilio/webhook.go",
		Old: "!w.signed(r, nil) || !hashes(r.Body, hash)", New: "!w.signed(r, nil)",
		Package: "./notify/channel/twilio", Run: "TestPublishedSignatures",
	},
	{
		Name: "I-11 a strange page accepts a text message", File: "notify/channel/twilio/send.go",
		Old: "if err != nil || !messageSID.MatchString(string(body.SID)) {", New: "if false {",
		Package: "./notify/channel/twilio", Run: "TestAnswersHaveTheirClass",
	},
	{
		Name: "security: Infobip's reports need no credentials", File: "notify/channel/infobip/webhook.go",
		Old: "case len(w.proofs) == 0:", New: "case false:",
		Package: "./notify/channel/infobip", Run: "TestWithoutCredentialsEverythingIsRefused",
	},
	{
		Name: "I-10 a rejection of an earlier call proves absence", File: "notify/channel/infobip/lookup.go",
		Old: "case m.Attempt <= 1:", New: "default:",
		Package: "./notify/channel/infobip", Run: "TestLogsTellWhatBecameOfACall",
	},
	{
		Name: "I-11 a duplicate counts as refused", File: "notify/channel/infobip/status.go",
		Old: "if s.Name == duplicate {", New: "if false {",
		Package: "./notify/channel/infobip", Run: "TestRepeatIsKnown",
	},
	{
		Name: "tracker: a rejected repeat fails the message", File: "notify/channel/infobip/report.go",
		Old: ` || name == duplicate {`, New: ` {`,
		Package: "./notify/channel/infobip", Run: "TestReportsAreRead",
	},
}
