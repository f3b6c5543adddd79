package mutants

// surveyResponseMutants are faults in the taking and passing on of responses.
// Memory shows them all.
var surveyResponseMutants = []mutant{
	{
		Name: "I-23 a response makes no event", File: "survey/submit.go",
		Old: "if err := s.emit(ctx, tx, row, v, stored, a); err != nil {", New: "if err := ctx.Err(); err != nil {",
		Package: "./survey", Run: "TestI23_AResponse/memory",
	},
	{
		Name: "I-23 a completed instance is still due", File: "survey/submit.go",
		Old: "i.DueOn, i.NextSendOn = time.Time{}, time.Time{}", New: "i.NextSendOn = time.Time{}",
		Package: "./survey", Run: "TestI23_AResponse/memory",
	},
	{
		Name: "I-23 a response is kept although its instance has expired", File: "survey/submit.go",
		Old:     "if err := instances.Save(ctx, tx, row); err != nil {",
		New:     "if err := instances.Save(ctx, tx, row); err != nil && !errors.Is(err, storage.ErrStale) {",
		Package: "./survey", Run: "TestI4_ASubmitThatLoses/memory",
	},
	{
		Name: "I-25 a claim between makes a submit fail", File: "survey/submit.go",
		Old: "return race(func() (err error) {", New: "return func(f func() error) error { return f() }(func() (err error) {",
		Package: "./survey", Run: "TestI25_ASubmit/memory",
	},
	{
		Name: "I-25 the unique key decides nothing", File: "survey/submit.go",
		Old: "if !isNew[0] {", New: "if !isNew[0] && false {",
		Package: "./survey", Run: "TestI25_TheUniqueKey/memory",
	},
	{
		Name: "I-25 other answers count as the same", File: "survey/submit.go",
		Old: "err != nil || a.hash != first.AnswersHash {", New: `err != nil || a.hash == "" {`,
		Package: "./survey", Run: "TestTheSameSubmission/memory",
	},
	{
		Name: "I-4 an expired link takes a response", File: "survey/findinstance.go",
		Old: "!i.DeletedOn.IsZero() || i.Status == StatusExpired", New: "!i.DeletedOn.IsZero()",
		Package: "./survey", Run: "TestALinkThatDoesNot/memory",
	},
	{
		Name: "survey: an absolute limit waits for a poller", File: "survey/findinstance.go",
		Old: "return i.ExpiresOn.IsZero() || now.Before(i.ExpiresOn)", New: "return true",
		Package: "./survey", Run: "TestALinkThatDoesNot/memory",
	},
	{
		Name: "I-4 a beacon opens a completed instance", File: "survey/opened.go",
		Old: "if i.Status != StatusPending && i.Status != StatusSent {", New: "if i.Status == StatusOpened {",
		Package: "./survey", Run: "TestI4_ABeacon/memory",
	},
	{
		Name: "survey: who opens the form gets no reminders", File: "survey/opened.go",
		Old: "i.Status = StatusOpened", New: "i.Status, i.DueOn = StatusOpened, time.Time{}",
		Package: "./survey", Run: "TestAnOpenedInstance/memory",
	},
	{
		Name: "survey: asking for a form opens it", File: "survey/form.go",
		Old:     "		if row.Status == StatusCompleted {",
		New:     "		if row.open(storage.Now(s.store)) {\n\t\t\treturn instances.Save(ctx, tx, row)\n\t\t}\n\t\tif row.Status == StatusCompleted {",
		Package: "./survey", Run: "TestAskingForAForm/memory",
	},
	{
		Name: "survey: the answer to a hidden question is kept", File: "survey/answers.go",
		Old: "if !q.When.Match(out.values) {", New: "if false {",
		Package: "./survey", Run: "TestAnswersHaveOneSpelling",
	},
	{
		Name: "I-29 a fault quotes what the submitter wrote", File: "survey/submiterrors.go",
		Old: `if f.QuestionID != "" && f.Code != FaultUnknown {`, New: `if f.QuestionID != "" {`,
		Package: "./survey", Run: "TestI29_",
	},
	{
		Name: "I-28 another tenant's instance is completed", File: "survey/findinstance.go",
		Old: `return findInstance(ctx, tx, scope, storage.Eq("public_id", publicID))`, New: `return findInstance(ctx, tx, storage.AnyScope, storage.Eq("public_id", publicID))`,
		Package: "./survey", Run: "TestAHostCompletes/memory",
	},
	{
		Name: "I-28 an export holds the responses of all tenants", File: "survey/responses.go",
		Old: "return responses.Find(ctx, tx, scope, query)", New: "return responses.Find(ctx, tx, storage.AnyScope, query)",
		Package: "./survey", Run: "TestAnExportSays/memory",
	},
	{
		Name: "security: an export holds formulas", File: "survey/csvcell.go",
		Old: `return "'" + text`, New: "return text",
		Package: "./survey", Run: "TestAnExportIsCSV/memory",
	},
	{
		Name: "survey: the answers route nothing", File: "survey/emit.go",
		Old: "if r.Filter.Match(a.values) {", New: "if true {",
		Package: "./survey", Run: "TestATriggerRoutes/memory",
	},
	{
		Name: "I-24 the subscribers of two domains take each other's events", File: "survey/emit.go",
		Old: `{ return "survey/" + subscriber }`, New: "{ return subscriber }",
		Package: "./survey", Run: "TestSubscribersOfBoth/memory",
	},
	{
		Name: "I-24 a subscriber that hangs delays the others", File: "internal/outbox/fan.go",
		Old: "polls.Go(func() { reports[i], errs[i] = runner.Poll(ctx, batch) })", New: "reports[i], errs[i] = runner.Poll(ctx, batch)",
		Package: "./survey", Run: "TestNoSubscriberDelays/memory", Hangs: true,
	},
	{
		Name: "I-24 a pause that a subscriber asks for is not granted", File: "internal/outbox/pass.go",
		Old: "d.postpone(now(), err)", New: "",
		Package: "./survey", Run: "TestASubscriberMayAsk/memory",
	},
	{
		Name: "survey: a dry run replays", File: "internal/outbox/missed.go",
		Old: "if err != nil || dryRun || len(missing) == 0 {", New: "if err != nil || len(missing) == 0 {",
		Package: "./survey", Run: "TestASubscriberThatComesLater/memory",
	},
	{
		Name: "survey: a receiver that answered 410 is called again", File: "survey/subscriber/webhook/subscriber.go",
		Old: "s.gone.Store(true)", New: "s.gone.Store(false)",
		Package: "./survey/subscriber/webhook", Run: "TestAReceiverIsObeyed",
	},
	{
		Name: "security: a survey's webhook calls any address", File: "survey/subscriber/webhook/subscriber.go",
		Old: "dialer := safedial.Dialer{Trusted: o.Trusted}", New: `dialer := safedial.Dialer{Trusted: []string{"127.0.0.1", "localhost"}}`,
		Package: "./survey/subscriber/webhook", Run: "TestNoURLReaches",
	},
}
