package mutants

// mendMutants are faults in what keeps people from getting what they must not, and
// in what support does about messages.
var mendMutants = []mutant{
	{
		Name: "rotation: who bounced under the former key gets mail", File: "notify/suppression.go",
		Old: "for _, key := range n.options.FormerHashKeys {", New: "for _, key := range n.options.FormerHashKeys[:0] {",
		Package: "./notify", Run: "TestARotationOfTheHashKey/memory",
	},
	{
		Name: "rotation: a stranger who has opted out gets mail", File: "notify/preferencegate.go",
		Old: "	if a.RecipientRef != \"\" {", New: "	if true {",
		Package: "./notify", Run: "TestARotationOfTheHashKey/memory",
	},
	{
		Name: "rotation: without the former key nobody refuses", File: "notify/hashkey.go",
		Old: "case len(missing) > 0 && (o == nil || !o.Forget):", New: "case false:",
		Package: "./notify", Run: "TestARotationOfTheHashKey/memory",
	},
	{
		Name: "rotation: a process without the former key goes on", File: "notify/hashkey.go",
		Old: "if missing := n.unknown(r.Former); len(missing) > 0 {", New: "if missing := n.unknown(r.Former); len(missing) > 100 {",
		Package: "./notify", Run: "TestARotationOfTheHashKey/memory",
	},
	{
		Name: "gates: without options nobody asks who is suppressed", File: "notify/owngates.go",
		Old: "	if !suppression {", New: "	if suppression && false {",
		Package: "./notify", Run: "TestSuppressionsAndOptOuts/none/memory",
	},
	{
		Name: "gates: without options nobody asks who has opted out", File: "notify/owngates.go",
		Old: "	if !preferences {", New: "	if preferences && false {",
		Package: "./notify", Run: "TestSuppressionsAndOptOuts/none/memory",
	},
	{
		Name: "gates: mandatory is what the sender believes", File: "notify/askgates.go",
		Old: "Mandatory: m.Mandatory || t.Mandatory", New: "Mandatory: t.Mandatory",
		Package: "./notify", Run: "TestAMandatoryMessage/memory",
	},
	{
		Name: "retry: a second click sends a third message", File: "notify/retrypage.go",
		Old: "again.AttemptNo++", New: "again.AttemptNo += 1 + int(m.Version)",
		Package: "./notify", Run: "TestAMessageThatHasFailed/memory",
	},
	{
		Name: "retry: what was sent is sent again", File: "notify/retrypage.go",
		Old: "case m.Status != StatusFailedFinal:", New: "case false:",
		Package: "./notify", Run: "TestAMessageThatHasFailed/memory",
	},
	{
		Name: "retry: nobody asks whether it is still wanted", File: "notify/retrypage.go",
		Old: "		again.NextRetryOn = now // it waited, so it is revalidated\n", New: "",
		Package: "./notify", Run: "TestARetryOfWhatIsNotWanted/memory",
	},
	{
		Name: "retry: a dry run writes", File: "notify/retrypage.go",
		Old: "err != nil || r.dryRun {", New: "err != nil {",
		Package: "./notify", Run: "TestManyThatHaveFailed/memory",
	},
	{
		Name: "I-3 a conflict is scheduled all the same", File: "notify/notify.go",
		Old: "	if err == nil {\n		_, err = n.", New: "	if err == nil || out.Conflict != nil {\n		_, err = n.",
		Package: "./notify", Run: "TestI3_AConflictAsks/memory",
	},
	{
		Name: "I-26 a call that has begun is cancelled", File: "notify/cancel.go",
		Old: "case m.Status == StatusSending && !m.CallStartedOn.IsZero():", New: "case false:",
		Package: "./notify", Run: "TestAMessageWhoseCallHasBegun/memory",
	},
}
