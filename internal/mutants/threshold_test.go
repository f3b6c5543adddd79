package mutants

// thresholdMutants are faults of threshold conditions.
var thresholdMutants = []mutant{
	{
		Name: "I-7 rises grow with every event", File: "automation/thresholdstate.go",
		Old: "if want.Met && !stored.Met {", New: "if want.Met {",
		Package: "./automation", Run: "TestFalseToTrueFiresOnEachRise/memory",
	},
	{
		Name: "I-7 rises grow with an equal version", File: "automation/thresholdstate.go",
		Old: "want.SourceVersion <= stored.SourceVersion", New: "want.SourceVersion < stored.SourceVersion",
		Package: "./automation", Run: "TestI7_AnEqualVersion/memory",
	},
	{
		Name: "I-7 a rise that is not counted fires", File: "automation/measure.go",
		Old: ".Policy == FalseToTrue && !state.Met {", New: ".Policy == FalseToTrue && false {",
		Package: "./automation", Run: "TestI7_AnEqualVersion/memory",
	},
	{
		Name: "I-7 an older reading ends what a newer one wants", File: "automation/sourcestate.go",
		Old: "older[want] = want.SourceVersion != 0 &&", New: "older[want] = false &&",
		Package: "./automation", Run: "TestI7_AnOlderReading/memory",
	},
	{
		Name: "I-7 events in any order, with older readings recorded", File: "automation/thresholdstate.go",
		Old: "if want.SourceVersion != 0 && want.SourceVersion <= stored.SourceVersion {\n\t\treturn storage.Unchanged, false\n\t}\n", New: "",
		Package: "./automation", Run: "TestI7_AnEqualVersion/memory",
	},
	{
		Name: "I-2 a repeated reading is written", File: "automation/thresholdstate.go",
		Old: "want.SourceVersion == 0 && stored.says(want)", New: "false",
		Package: "./automation", Run: "TestI2_ARepeatedReading.*/without/memory",
	},
	{
		Name: "I-2 a repeated reading moves the moment", File: "automation/decide.go",
		Old: "|| r.TriggerType == ThresholdCondition)", New: "|| false)",
		Package: "./automation", Run: "TestI2_ARepeatedReading.*/with_a_version/memory",
	},
	{
		Name: "I-1 the scope is left out of the key", File: "automation/condition.go",
		Old: "Scope: t.Scope, LocalDate: day", New: "Scope: defaultThresholdScope, LocalDate: day",
		Package: "./automation", Run: "TestOncePerThresholdFires/memory",
	},
	{
		Name: "I-1 the policy is left out of the key", File: "keys/threshold.go",
		Old: "b.literal(string(policy))", New: "b.literal(string(OncePerThreshold))",
		Package: "./automation", Run: "TestThresholdSettingsChanges/policy.*/memory",
	},
	{
		Name: "I-3 a line that moves under one key is a conflict", File: "automation/condition.go",
		Old: "if id.Policy != OncePerSource {", New: "if true {",
		Package: "./automation", Run: "TestTwoCandidatesUnderOneKey.*/turned/memory",
	},
	{
		Name: "I-3 another comparison is no other input", File: "automation/condition.go",
		Old: "if id.Policy != OncePerSource {", New: "if false {",
		Package: "./automation", Run: "TestI3_AnotherComparison/memory",
	},
	{
		Name: "I-18 a fall ends nothing", File: "automation/demand.go",
		Old: "case known:\n\t\treturn ThresholdNoLongerMet, true", New: "case known:\n\t\treturn ThresholdNoLongerMet, false",
		Package: "./automation", Run: "TestAFallEndsTheRow/memory",
	},
	{
		Name: "I-18 a fall that the host tells directly ends nothing", File: "automation/demand.go",
		Old: "return ThresholdNoLongerMet, known && !met", New: "return ThresholdNoLongerMet, false && known && !met",
		Package: "./automation", Run: "TestEnsureOfAThreshold/memory",
	},
	{
		Name: "I-18 a reading that no longer meets is delivered", File: "automation/demand.go",
		Old: "if known = true; !p.unmet {", New: "if known = true; true {",
		Package: "./automation", Run: "TestI18_AReading.*/OncePerDay/memory",
	},
	{
		Name: "I-18 midnight ends the row of yesterday", File: "automation/demand.go",
		Old: "case met:\n\t\treturn \"\", false", New: "case met:\n\t\treturn Superseded, true",
		Package: "./automation", Run: "TestARowOfYesterday.*/OncePerDay/memory",
	},
	{
		Name: "I-18 midnight makes a due row another one", File: "automation/condition.go",
		Old: "same, err := k.row(own.LocalDate, own.Rises)", New: `same, err := k.row("2026-07-01", own.Rises)`,
		Package: "./automation", Run: "TestARowOfYesterday.*/OncePerDay/memory",
	},
	{
		Name: "I-19 a day is one in UTC", File: "automation/condition.go",
		Old: "civil.DateOf(now, k.loc)", New: "civil.DateOf(now, time.UTC)",
		Package: "./automation", Run: "TestARowOfYesterday.*/OncePerDay/memory",
	},
	{
		Name: "I-28 tenants share their readings", File: "automation/thresholdstate.go",
		Old: "storage.Record{Scope: p.want.Scope, Key: p.condition.state}", New: "storage.Record{Key: p.condition.state}",
		Package: "./automation", Run: "TestI28_TenantsCount/memory",
	},
	{
		Name: "I-7 either of two readings under one key counts", File: "automation/measure.go",
		Old: "p.condition.met && !known.Met", New: "false && !known.Met",
		Package: "./automation", Run: "TestTwoCandidatesUnderOneKey.*/turned/memory",
	},
	{
		Name: "I-7 a validator's reading has no version", File: "automation/steps.go",
		Old: "decision{plans: readAt(v.version, plans)", New: "decision{plans: plans",
		Package: "./automation", Run: "TestADueRowOfAnotherThreshold/memory",
	},
	{
		Name: "I-18 a comparison rounds", File: "automation/comparison.go",
		Old: "return comparisons[c].holds(rational(reading).Cmp(rational(value)))", New: "a, _ := rational(reading).Float64()\n\tb, _ := rational(value).Float64()\n\treturn comparisons[c].holds(int(a*1e9) - int(b*1e9))",
		Package: "./automation", Run: "TestComparisonsAreExact",
	},
}
