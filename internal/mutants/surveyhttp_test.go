package mutants

// surveyhttpMutants are faults in what customers and programs reach over HTTP.
// Memory shows them all.
var surveyhttpMutants = []mutant{
	{
		Name: "surveyhttp: an expired link says that it was one", File: "survey/surveyhttp/forms.go",
		Old: "if errors.Is(err, survey.ErrNoSurvey) {", New: "if errors.Is(err, survey.ErrNoSurvey) {\n\t\tw.Header().Set(\"X-Was\", r.PathValue(\"token\")[:1])",
		Package: "./survey/surveyhttp", Run: "TestALinkThatIsNone/memory",
	},
	{
		Name: "surveyhttp: whoever is refused gets in", File: "survey/surveyhttp/api.go",
		Old: "case err != nil:\n\t\t\tfail(", New: "case err != nil && caller.Scope != \"\":\n\t\t\tfail(",
		Package: "./survey/surveyhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "surveyhttp: whoever is let in may do everything", File: "survey/surveyhttp/api.go",
		Old: "case !may(caller):", New: "case false:",
		Package: "./survey/surveyhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "surveyhttp: a page of another site may turn the clock", File: "survey/surveyhttp/api.go",
		Old: "unstored(protection.Handler(mux))", New: "unstored(mux)",
		Package: "./survey/surveyhttp", Run: "TestNobodyGetsIn",
	},
	{
		Name: "I-28 events go to no tenant in particular", File: "survey/surveyhttp/ingest.go",
		Old: "survey.Batch{Scope: c.Scope, EventKind: kind}", New: "survey.Batch{EventKind: kind}",
		Package: "./survey/surveyhttp", Run: "TestI28_ACallerTellsOfItsOwnTenant",
	},
	{
		Name: "surveyhttp: a scanner that follows a link opens it", File: "survey/surveyhttp/forms.go",
		Old: "form, err := f.s.Form(r.Context(), r.PathValue(\"token\"))", New: "_ = f.s.Opened(r.Context(), r.PathValue(\"token\"))\n\tform, err := f.s.Form(r.Context(), r.PathValue(\"token\"))",
		Package: "./survey/surveyhttp", Run: "TestAScannerChangesNothing/memory",
	},
	{
		Name: "surveyhttp: a body has no end", File: "survey/surveyhttp/body.go",
		Old: "http.MaxBytesReader(w, r.Body, limit)", New: "http.MaxBytesReader(w, r.Body, limit*10)",
		Package: "./survey/surveyhttp", Run: "TestABodyOfUnknownLength",
	},
	{
		Name: "surveyhttp: a compressed body is taken", File: "survey/surveyhttp/body.go",
		Old: "coding != \"\" && !strings.EqualFold", New: "coding == \"gzip\" && !strings.EqualFold",
		Package: "./survey/surveyhttp", Run: "TestAnIngestHasItsLimits|TestABodyHasToBeOne",
	},
	{
		Name: "surveyhttp: a body is nested without bound", File: "survey/surveyhttp/strict.go",
		Old: "depth(text) > maxDepth", New: "false",
		Package: "./survey/surveyhttp", Run: "TestAnIngestHasItsLimits|TestABodyHasToBeOne",
	},
	{
		Name: "surveyhttp: a batch has any number of items", File: "survey/surveyhttp/ingest.go",
		Old: "len(items) > maxIngestItems", New: "len(items) > maxIngestItems+1",
		Package: "./survey/surveyhttp", Run: "TestAnIngestHasItsLimits",
	},
	{
		Name: "surveyhttp: one bad item takes the others with it", File: "survey/surveyhttp/ingest.go",
		Old: "if faults[i] = err; err == nil {", New: "if faults[i] = err; err != nil {\n\t\t\tfail(w, http.StatusBadRequest, err.Error())\n\t\t\treturn\n\t\t} else {",
		Package: "./survey/surveyhttp", Run: "TestABadItemFailsAlone/memory",
	},
	{
		Name: "surveyhttp: a page may run what is not its own", File: "survey/surveyhttp/assets.go",
		Old: "script-src \" + hashOf(string(shippedScript))", New: "script-src 'unsafe-inline'\"",
		Package: "./survey/surveyhttp", Run: "TestEveryAnswerIsGuarded",
	},
	{
		Name: "surveyhttp: a form may be framed", File: "survey/surveyhttp/assets.go",
		Old: "; frame-ancestors 'none'", New: "",
		Package: "./survey/surveyhttp", Run: "TestEveryAnswerIsGuarded",
	},
	{
		Name: "surveyhttp: the limiter is asked last", File: "survey/surveyhttp/forms.go",
		Old:     "if f.o.Limit != nil && f.o.Limit(r) != nil {",
		New:     "if _, err := f.s.Form(r.Context(), \"\"); err != nil && !errors.Is(err, survey.ErrNoSurvey) {\n\t\t\tf.answer(w, r, http.StatusServiceUnavailable, StateBusy)\n\t\t\treturn\n\t\t}\n\t\tif f.o.Limit != nil && f.o.Limit(r) != nil {",
		Package: "./survey/surveyhttp", Run: "TestTheLimiterIsAskedFirst",
	},
	{
		Name: "I-29 a link comes into the log", File: "survey/surveyhttp/forms.go",
		Old: "f.o.Logger.ErrorContext(r.Context(), \"belfry: \"+what, slog.Any(\"error\", err))", New: "f.o.Logger.ErrorContext(r.Context(), \"belfry: \"+what+r.URL.Path, slog.Any(\"error\", err))",
		Package: "./survey/surveyhttp", Run: "TestAFailureIsLoggedWithoutTheLink",
	},
	{
		Name: "surveyhttp: without JavaScript nobody asks what follows from an answer", File: "survey/surveyhttp/submit.go",
		Old: "if p.More && ", New: "if false && ",
		Package: "./survey/surveyhttp", Run: "TestWhatFollows/memory",
	},
	{
		Name: "surveyhttp: a faulty form comes back empty", File: "survey/surveyhttp/pageform.go",
		Old: "posted[fieldName(q.ID)])", New: "nil)",
		Package: "./survey/surveyhttp", Run: "TestAFaultyFormComesBack/memory",
	},
	{
		Name: "surveyhttp: Arabic runs from left to right", File: "survey/surveyhttp/locale.go",
		Old: "if slices.Contains(rightToLeft, language(locale)) {", New: "if false {",
		Package: "./survey/surveyhttp", Run: "TestAPageIsInTheCustomersLanguage",
	},
}
