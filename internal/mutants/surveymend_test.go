package mutants

// surveyMendMutants are faults in what keeps a configuration or a wrong text from
// stopping every link, and in what is said when it does.
var surveyMendMutants = []mutant{
	{
		Name: "lookup: a gate without a key takes the database for its own", File: "notify/hashkey.go",
		Old: "if len(n.options.HashKey) > 0 {", New: "if true {",
		Package: "./survey", Run: "TestLinksWithoutAHashKeyLeaveTheChoice/memory",
	},
	{
		Name: "lookup: a gate without a key reads a list that has one", File: "notify/hashkey.go",
		Old: "\t\treturn n.fits(r)\n", New: "\t\t_ = r\n\t\treturn nil\n",
		Package: "./survey", Run: "TestWithoutTheKeyOfTheSuppressionList/memory",
	},
	{
		Name: "lookup: a list without a key to it", File: "notify/suppress.go",
		Old: "n.beginHashKey(ctx, tx)", New: "0, error(nil)",
		Package: "./survey", Run: "TestWithoutTheKeyOfTheSuppressionList/memory",
	},
	{
		Name: "template: one that cannot run is published", File: "survey/checkmessage.go",
		Old: "_, err := sample(name, t[locale]); err != nil", New: "_, err := sample(name, \"\"); err != nil",
		Package: "./survey", Run: "TestEverythingThatIsWrong",
	},
	{
		Name: "template: nobody misses the link", File: "survey/samplemessage.go",
		Old: "!strings.Contains(text, sampleURL)", New: "text == \"\"",
		Package: "./survey", Run: "TestWarnings",
	},
	{
		Name: "I-29 a template's error is logged with a value", File: "survey/composefault.go",
		Old: "return place + \">\"", New: "return place + e.Error()",
		Package: "./survey", Run: "TestTheLogSaysWhyThereIsNoMessage",
	},
	{
		Name: "support: a link that fails says nothing", File: "survey/compose.go",
		Old: "s.logUncomposed(ctx, r, \"a link could not be made\", slog.Any(\"error\", err))", New: "",
		Package: "./survey", Run: "TestTheLogSaysWhyThereIsNoMessage",
	},
	{
		Name: "text: a mail has a language of its own", File: "survey/messages.go",
		Old: "m.Text.For(d.Locale)", New: "m.Text.For(strings.Split(d.Locale, \"-\")[0])",
		Package: "./survey", Run: "TestAMailHasTheLanguageOfItsForm",
	},
	{
		Name: "surveyhttp: a cache keeps what the API refuses", File: "survey/surveyhttp/api.go",
		Old: "return unstored(protection.Handler(mux))", New: "return protection.Handler(mux)",
		Package: "./survey/surveyhttp", Run: "TestWhatTheAPIDoesNotDo",
	},
	{
		Name: "I-13 a version of a later release fails a whole group", File: "survey/pinned.go",
		Old: "errors.Is(err, storage.ErrNotFound) || errors.Is(err, errUnreadable)", New: "errors.Is(err, storage.ErrNotFound)",
		Package: "./survey", Run: "TestAVersionOfALaterReleaseHarmsNoOtherSend/memory",
	},
	{
		Name: "survey: a form may be of a year that no database has", File: "survey/submit.go",
		Old: "on.After(now) || on.Year() < 1", New: "on.After(now)",
		Package: "./survey", Run: "TestAFormBeforeAllYears/memory",
	},
}
