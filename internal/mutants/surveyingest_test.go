package mutants

// surveyIngestMutants are faults in how events become instances, and in what takes
// them back. Memory shows them all.
var surveyIngestMutants = []mutant{
	{
		Name: "I-2 an event that is told twice in a batch makes two", File: "survey/intake.go",
		Old: "if made.Row == w.row {", New: "if report.Outcome = Created; true {",
		Package: "./survey", Run: "TestAnEventIsSkipped/memory",
	},
	{
		Name: "I-2 a skipped event is told a new id", File: "survey/intake.go",
		Old: "report.PublicID, report.Outcome = made.Row.PublicID, Skipped", New: "report.PublicID, report.Outcome = w.row.PublicID, Skipped",
		Package: "./survey", Run: "TestAnEventIsSkipped/memory",
	},
	{
		Name: "I-1 two triggers with one recipe swallow each other", File: "survey/intake.go",
		Old: "if l.trigger.DedupScope == DedupSurvey {", New: "if true {",
		Package: "./survey", Run: "TestTwoTriggersWithOneRecipe/memory",
	},
	{
		Name: "I-1 the triggers of a survey do not share where they should", File: "survey/intake.go",
		Old: "if l.trigger.DedupScope == DedupSurvey {", New: "if false {",
		Package: "./survey", Run: "TestDedupScopeSurvey/memory",
	},
	{
		Name: "I-19 the hash has the values without their paths", File: "keys/recipe.go",
		Old: "message = append(append(append(message, s.Path...), '='), s.Value...)", New: "message = append(message, s.Value...)",
		Package: "./keys", Run: "TestVectors",
	},
	{
		Name: "I-20 a value bridges the slots of a recipe", File: "keys/recipe.go",
		Old: "if p := valueProblem(s.Value); p != \"\" {", New: "if p := valueProblem(s.Value); p != \"\" && i < 0 {",
		Package: "./keys", Run: "TestARecipeRefuses",
	},
	{
		Name: "I-20 a path with an equals sign is another path and value", File: "keys/recipe.go",
		Old: "textProblem(s.Path, MaxPartLen, \"=\")", New: "textProblem(s.Path, MaxPartLen, \"\")",
		Package: "./keys", Run: "TestARecipeRefuses|FuzzRecipeHash",
	},
	{
		Name: "survey: an array in a recipe is empty", File: "survey/event.go",
		Old: "return \"\", errArray", New: "return \"\", nil",
		Package: "./survey", Run: "TestWhatARecipeTakes/an_array/memory",
	},
	{
		Name: "survey: an object in a recipe is empty", File: "survey/event.go",
		Old: "if e.objects[path] {", New: "if false {",
		Package: "./survey", Run: "TestWhatARecipeTakes/an_object/memory",
	},
	{
		Name: "survey: numbers go through floats", File: "survey/flatten.go",
		Old: "f.dec.UseNumber()", New: "",
		Package: "./survey", Run: "TestFlattenGives|TestWhatARecipeTakes/a_number",
	},
	{
		Name: "survey: the last of two names wins", File: "survey/flatten.go",
		Old: "case f.seen[folded]:", New: "case false:",
		Package: "./survey", Run: "TestABadItemFailsAlone/memory",
	},
	{
		Name: "survey: objects go as deep as they like", File: "survey/flatten.go",
		Old: "if depth == maxDepth {", New: "if false {",
		Package: "./survey", Run: "TestABadItemFailsAlone/memory",
	},
	{
		Name: "survey: arrays go as deep as they like", File: "survey/flatten.go",
		Old: "func (f *flattener) array(depth int) ([]any, error) {\n\tif depth > maxDepth {", New: "func (f *flattener) array(depth int) ([]any, error) {\n\tif false {",
		Package: "./survey", Run: "TestABadItemFailsAlone/memory",
	},
	{
		Name: "survey: a payload that grows fails the batch", File: "survey/event.go",
		Old: "if len(payload) > maxMetadata {", New: "if false {",
		Package: "./survey", Run: "TestABadItemFailsAlone/memory",
	},
	{
		Name: "survey: an address may hold a line break", File: "survey/event.go",
		Old: "case strings.ContainsFunc(f.value, unicode.IsControl):", New: "case strings.ContainsFunc(f.value, unicode.IsControl) && false:",
		Package: "./survey", Run: "TestABadItemFailsAlone/memory",
	},
	{
		Name: "survey: the kind of triggers that are off is a kind", File: "survey/batch.go",
		Old: "if _, err := keys.Join(b.EventKind); err != nil || len(b.EventKind) > keys.MaxPartLen {", New: "if len(b.EventKind) > keys.MaxPartLen {",
		Package: "./survey", Run: "TestABatchThatMakesNoSense/memory",
	},
	{
		Name: "survey: the schedule begins when the event is told", File: "survey/intake.go",
		Old: "if on.IsZero() {", New: "if true {",
		Package: "./survey", Run: "TestTheScheduleBegins/memory",
	},
	{
		Name: "survey: an item costs a statement", File: "survey/intake.go",
		Old: "if len(in.pending) >= ingestRows || in.bytes >= ingestBytes {", New: "if true {",
		Package: "./survey", Run: "TestTheStatementsOfABatch/memory",
	},
	{
		Name: "I-28 events reach the triggers of all tenants", File: "survey/intake.go",
		Old: "triggers.Find(ctx, in.tx, in.batch.Scope, q)", New: "triggers.Find(ctx, in.tx, storage.AnyScope, q)",
		Package: "./survey", Run: "TestI28_TenantsDoNotSee/memory",
	},
	{
		Name: "I-28 an instance is read across tenants", File: "survey/instances.go",
		Old:     "rows, err := instances.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.Eq(\"public_id\", publicID)}, Limit: 1})",
		New:     "rows, err := instances.Find(ctx, tx, storage.AnyScope, storage.Query{Where: []storage.Cond{storage.Eq(\"public_id\", publicID)}, Limit: 1})",
		Package: "./survey", Run: "TestI28_TenantsDoNotSee/memory",
	},
	{
		Name: "I-28 a customer is erased at all tenants", File: "survey/erase.go",
		Old: "found, err = instances.Find(ctx, tx, scope, storage.Query{", New: "found, err = instances.Find(ctx, tx, storage.AnyScope, storage.Query{",
		Package: "./survey", Run: "TestI28_TenantsDoNotSee/memory",
	},
	{
		Name: "I-29 the token is stored", File: "survey/intake.go",
		Old: "LinkHash: linkHash(in.link.Token(id))", New: "LinkHash: in.link.Token(id)",
		Package: "./survey", Run: "TestALinkIsMadeOfTheHostsKey/memory",
	},
	{
		Name: "survey: two processes make two keys", File: "survey/linkkey.go",
		Old: "Key: storedLinkKey}, Secret", New: "Key: string(keys.NewLinkKey(secret).ID())}, Secret",
		Package: "./survey", Run: "TestTheStoreHasOneLinkKey|TestALinkOutlives/memory",
	},
	{
		Name: "survey: a key that the host rolled back is remembered", File: "survey/linkkey.go",
		Old: "if err == nil && s.tx == nil && known", New: "if err == nil && known",
		Package: "./survey", Run: "TestIngestIsOfTheHostsTransaction/memory",
	},
	{
		Name: "survey: an old key makes no links", File: "survey/linkkey.go",
		Old: "ring.given[key.ID()] = key", New: "if i == 0 {\n\t\t\tring.given[key.ID()] = key\n\t\t}",
		Package: "./survey", Run: "TestALinkOutlives/memory",
	},
	{
		Name: "survey: a deleted link is sent", File: "survey/delete.go",
		Old: "i.DueOn, i.NextSendOn, i.Type, i.IsOnSupportHold = time.Time{}, time.Time{}, \"\", false", New: "",
		Package: "./survey", Run: "TestADeletedInstanceIsNeverSent/memory",
	},
	{
		Name: "survey: a deleted link is given out", File: "survey/link.go",
		Old: "if err == nil && !row.DeletedOn.IsZero() {", New: "if false {",
		Package: "./survey", Run: "TestADeletedInstanceIsNeverSent/memory",
	},
	{
		Name: "survey: a forgotten key is kept", File: "survey/delete.go",
		Old: "moved.Key = forgotten + publicID", New: "",
		Package: "./survey", Run: "TestADeletedInstanceMayBeForgotten/memory",
	},
	{
		Name: "survey: the payload stays", File: "survey/erase.go",
		Old: "bare.Metadata = json.RawMessage(\"{}\")", New: "_ = json.RawMessage(\"{}\")",
		Package: "./survey", Run: "TestACustomerIsErased/memory",
	},
	{
		Name: "survey: the event stays in the outbox", File: "internal/outbox/erase.go",
		Old: "return events.Delete(ctx, tx, found...)", New: "_ = found\n\treturn nil",
		Package: "./survey", Run: "TestACustomerIsErased/memory",
	},
	{
		Name: "survey: the response stays", File: "survey/erase.go",
		Old: "if err := responses.Delete(ctx, tx, given...); err != nil {", New: "if err := responses.Delete(ctx, tx); err != nil {",
		Package: "./survey", Run: "TestACustomerIsErased/memory",
	},
}
