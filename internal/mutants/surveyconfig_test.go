package mutants

// surveyConfigMutants are faults in filters, definitions and their publication.
var surveyConfigMutants = []mutant{
	{
		Name: "filter: numbers are compared as floats", File: "internal/filter/compare.go",
		Old: "return rational(x).Cmp(rational(y)), true", New: "p, _ := rational(x).Float64()\n\tq, _ := rational(y).Float64()\n\treturn big.NewFloat(p).Cmp(big.NewFloat(q)), true",
		Package: "./internal/filter", Run: "TestConditions",
	},
	{
		Name: "filter: texts that look like numbers are compared as numbers", File: "internal/filter/compare.go",
		Old: "if xNumber || yNumber {", New: "if _, ok := CompareNumbers(x, y); ok || xNumber || yNumber {",
		Package: "./internal/filter", Run: "TestConditions",
	},
	{
		Name: "filter: true is the text of it", File: "internal/filter/compare.go",
		Old: "\tcase json.Number:", New: "\tcase bool:\n\t\tif v {\n\t\t\treturn \"true\", false, true\n\t\t}\n\tcase json.Number:",
		Package: "./internal/filter", Run: "TestConditions",
	},
	{
		Name: "filter: a missing path is not unequal", File: "internal/filter/match.go",
		Old: "return !equal(value, f.Value)", New: "return value != nil && !equal(value, f.Value)",
		Package: "./internal/filter", Run: "TestConditions",
	},
	{
		Name: "filter: a missing path is in no order but at most", File: "internal/filter/compare.go",
		Old: "return ok && n <= 0", New: "return n <= 0",
		Package: "./internal/filter", Run: "TestConditions",
	},
	{
		Name: "filter: exists false asks whether something is there", File: "internal/filter/match.go",
		Old: "return (value != nil) == (f.Value != false)", New: "return value != nil",
		Package: "./internal/filter", Run: "TestConditions",
	},
	{
		Name: "filter: steps are not bounded", File: "internal/filter/match.go",
		Old: "return m.steps <= maxSteps\n", New: "return true\n",
		Package: "./internal/filter", Run: "TestTooManySteps", Hangs: true,
	},
	{
		Name: "filter: what is too long is true by its opposite", File: "internal/filter/match.go",
		Old: "return m.match(f) && m.steps <= maxSteps", New: "return m.match(f)",
		Package: "./internal/filter", Run: "TestTooManySteps",
	},
	{
		Name: "filter: depth is not bounded", File: "internal/filter/validate.go",
		Old: "case depth > MaxDepth:", New: "case depth > 10*MaxDepth:",
		Package: "./internal/filter", Run: "TestSizeIsBounded",
	},
	{
		Name: "filter: each list is bounded alone", File: "internal/filter/validate.go",
		Old: "if c.listed += len(elements); c.listed > MaxListed {", New: "if len(elements) > MaxListed {",
		Package: "./internal/filter", Run: "TestSizeIsBounded",
	},
	{
		Name: "strictjson: the last of two members counts", File: "internal/strictjson/tree.go",
		Old: "if seen[name] {", New: "if false {",
		Package: "./internal/strictjson", Run: "TestEveryFault",
	},
	{
		Name: "strictjson: names of members in any case", File: "internal/strictjson/fields.go",
		Old: "if f.Name == name {", New: "if strings.EqualFold(f.Name, name) {",
		Package: "./internal/strictjson", Run: "TestEveryFault",
	},
	{
		Name: "survey: a duration overflows", File: "survey/durationtext.go",
		Old: "if err != nil || n > int64((math.MaxInt64-sum)/length) {", New: "if err != nil || n > int64(math.MaxInt64/length) {",
		Package: "./survey", Run: "TestDurationsAreRefused",
	},
	{
		Name: "survey: the units of a duration in any order", File: "survey/durationtext.go",
		Old: "case i <= last:", New: "case false:",
		Package: "./survey", Run: "TestDurationsAreRefused",
	},
	{
		Name: "survey: no parent of a locale is looked for", File: "survey/text.go",
		Old: "tag = tag.Parent() {", New: "tag = language.Und {",
		Package: "./survey", Run: "TestATextIsFound",
	},
	{
		Name: "survey: a schedule may be longer than its expiry", File: "survey/checktrigger.go",
		Old: "if ok && *t.ExpiresAfter < whole {", New: "if ok && *t.ExpiresAfter < t.Schedule.InitialDelay {",
		Package: "./survey", Run: "TestEverythingThatIsWrong",
	},
	{
		Name: "survey: a question depends on a later one", File: "survey/checkquestion.go",
		Old: "if _, asked := ids.first[id]; !asked {", New: "if _, asked := ids.first[id]; !asked && len(questions) == i {",
		Package: "./survey", Run: "TestEverythingThatIsWrong",
	},
	{
		Name: "survey: a recipe with control characters", File: "survey/checktrigger.go",
		Old: "\t\tc.characters(at, p, maxName, \"\")\n", New: "",
		Package: "./survey", Run: "TestEverythingThatIsWrong",
	},
	{
		Name: "survey: nobody is warned of a value that is no answer", File: "survey/nevertrue.go",
		Old: "if !slices.ContainsFunc(answers, ", New: "if false && slices.ContainsFunc(answers, ",
		Package: "./survey", Run: "TestWarnings",
	},
	{
		Name: "survey: the schema lags behind a struct", File: "survey/trigger.go",
		Old: "`json:\"expiryGrace,omitempty\"`", New: "`json:\"grace,omitempty\"`",
		Package: "./survey", Run: "TestEveryFieldIsInTheSchema",
	},
	{
		Name: "I-2 the same content is published twice", File: "survey/publication.go",
		Old: "row.ContentHash == p.hash:", New: "row.ContentHash == p.hash && false:",
		Package: "./survey", Run: "TestPublishersOfTheSame/memory",
	},
	{
		Name: "I-2 a publisher does not look again after it lost", File: "survey/changesurvey.go",
		Old: "for range 10 {", New: "for range 1 {",
		Package: "./survey", Run: "TestPublishersOfTheSame/postgres", Postgres: true,
	},
	{
		Name: "I-3 an expected number is not compared", File: "survey/publication.go",
		Old: "stored.ContentHash != p.hash {", New: "stored == nil {",
		Package: "./survey", Run: "TestANumberThatIsExpected/memory",
	},
	{
		Name: "I-5 a late repetition brings an old version back", File: "survey/publication.go",
		Old: "return number == row.LatestVersion && row.PublishedVersion != number", New: "return row.PublishedVersion != number",
		Package: "./survey", Run: "TestANumberThatIsExpected/memory",
	},
	{
		Name: "survey: triggers of an older version stay in use", File: "survey/settriggers.go",
		Old: "row.EventKind = \"\"", New: "_ = row.EventKind",
		Package: "./survey", Run: "TestIngestUsesTheTriggers/memory",
	},
	{
		Name: "survey: a trigger that is switched off is used", File: "survey/publish.go",
		Old: "if t.Enabled {", New: "if true {",
		Package: "./survey", Run: "TestIngestUsesTheTriggers/memory",
	},
	{
		Name: "survey: an unpublished survey gets instances", File: "survey/unpublish.go",
		Old: "return setTriggers(ctx, tx, scope, surveyID, nil)", New: "return nil",
		Package: "./survey", Run: "TestAnUnpublishedSurvey/memory",
	},
	{
		Name: "survey: the triggers of a neighbour are in the range", File: "survey/settriggers.go",
		Old: "storage.Greater(\"key\", survey+\"\\x1f\"), storage.Less(\"key\", survey+\"\\x20\"),", New: "storage.AtLeast(\"key\", survey), storage.Less(\"key\", survey+\"\\x7f\"),",
		Package: "./survey", Run: "TestTheRowsOfTriggers/memory",
	},
	{
		Name: "survey: the cache does not know contents apart", File: "survey/versioncache.go",
		Old: "e := c.entries[ref]\n\tif e == nil {", New: "var e *list.Element\n\tfor r, one := range c.entries {\n\t\tif r.Scope == ref.Scope && r.SurveyID == ref.SurveyID && r.Number == ref.Number {\n\t\t\te = one\n\t\t}\n\t}\n\tif e == nil {",
		Package: "./survey", Run: "TestARolledBackVersion/memory",
	},
	{
		Name: "survey: the cache grows without end", File: "survey/versioncache.go",
		Old: "for c.size > c.limit && c.used.Len() > 1 {", New: "for c.size > 1<<30 {",
		Package: "./survey", Run: "TestTheCacheIsBounded",
	},
	{
		Name: "I-28 the cache gives a tenant another's version", File: "survey/versioncache.go",
		Old: "e := c.entries[ref]\n\tif e == nil {", New: "var e *list.Element\n\tfor r, one := range c.entries {\n\t\tif r.ContentHash == ref.ContentHash {\n\t\t\te = one\n\t\t}\n\t}\n\tif e == nil {",
		Package: "./survey", Run: "TestI28_TheCache/memory",
	},
	{
		Name: "I-28 every tenant sees a definition", File: "survey/surveylist.go",
		Old: "return versions.Get(ctx, tx, scope,", New: "return versions.Get(ctx, tx, storage.AnyScope,",
		Package: "./survey", Run: "TestI28_SurveysAndVersions/memory",
	},
	{
		Name: "I-28 a list reads across tenants", File: "survey/page.go",
		Old: "return errNoRow", New: "return nil",
		Package: "./survey", Run: "TestI28_SurveysAndVersions/memory",
	},
}
