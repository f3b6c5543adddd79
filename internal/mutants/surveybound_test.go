package mutants

// surveyBoundMutants are faults in what bounds the work that surveys make.
var surveyBoundMutants = []mutant{
	{
		Name: "survey: a sweep that freed nothing begins again", File: "survey/unserved.go",
		Old: "return len(free) == sweepPage && freed > 0, err", New: "return len(free) == sweepPage && freed >= 0, err",
		Package: "./survey", Run: "TestASweepThatFreedNothing",
	},
	{
		Name: "survey: a poll waits for the sweep of another", File: "survey/servedpass.go",
		Old: "if !r.sweeping.TryLock() {", New: "if r.sweeping.Lock(); false {",
		Package: "./survey", Run: "TestAPollDoesNotWait", Hangs: true,
	},
	{
		Name: "survey: all surveys that nobody has parsed are read at once", File: "survey/intake.go",
		Old: "slices.Chunk(rows, versionsAtOnce)", New: "slices.Chunk(rows, max(1, len(rows)))",
		Package: "./survey", Run: "TestSurveysThatNobodyHasParsed/memory",
	},
	{
		Name: "template: one that loops is published", File: "survey/endless.go",
		Old: "case *parse.RangeNode:\n\t\treturn 0, ", New: "case *parse.RangeNode:\n\t\tif in == nil {\n\t\t\treturn 0, nil\n\t\t}\n\t\tbreak\n\t\treturn 0, ",
		Package: "./survey", Run: "TestEverythingThatIsWrong/a_range", Hangs: true,
	},
	{
		Name: "template: one that runs itself is published", File: "survey/endless.go",
		Old: "case n == underWay:", New: "case n == underWay && in == nil:",
		Package: "./survey", Run: "TestEverythingThatIsWrong/recursion",
	},
	{
		Name: "template: what templates run is not counted", File: "survey/endless.go",
		Old: "sum > maxRuns {", New: "sum > 1<<30 {",
		Package: "./survey", Run: "TestEverythingThatIsWrong/too_many_runs",
	},
	{
		Name: "survey: PostgreSQL has responses in no order of their moments", File: "storage/postgres/migrations/0013_survey.sql",
		Old: "(scope, survey_id, submitted_on, id)", New: "(scope, survey_id, id)",
		Package: "./storage/postgres", Run: "TestGuardAPageOfResponses", Postgres: true,
	},
	{
		Name: "survey: a page begins where the first one did", File: "survey/responses.go",
		Old: "return where, &storage.Position{Value: on, ID: id}, nil", New: "return append(where, storage.AtLeast(\"submitted_on\", q.Since)), &storage.Position{Value: on, ID: id}, nil",
		Package: "./survey", Run: "TestAPageBeginsAtOneOf",
	},
	{
		Name: "survey: a page is without the moment of its last response", File: "survey/responses.go",
		Old: "append(slices.Clone(columns), \"submitted_on\")", New: "slices.Clone(columns)",
		Package: "./survey", Run: "TestResponsesCome/memory",
	},
	{
		Name: "survey: a recipe that fails every event is published", File: "survey/checktrigger.go",
		Old: "if strings.Contains(p, \"=\") {", New: "if strings.Contains(p, \"==\") {",
		Package: "./survey", Run: "TestEverythingThatIsWrong/a_path_of_no_event",
	},
	{
		Name: "survey: nobody is warned of a path in two cases", File: "survey/warnings.go",
		Old: "known && before != path {", New: "known && before == path {",
		Package: "./survey", Run: "TestWarnings",
	},
}
