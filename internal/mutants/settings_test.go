package mutants

// settingsMutants are faults in automation/settings and in the registry of event
// handlers. Memory shows them all.
var settingsMutants = []mutant{
	{
		Name: "I-5 a lost update of a setting is accepted", File: "automation/settings/table.go",
		Old: "if found.Version != version {", New: "if false {",
		Package: "./automation/settings", Run: "TestALostUpdateIsStale/memory",
	},
	{
		Name: "I-3 the type of a setting changes under its rows", File: "automation/settings/reminders.go",
		Old: "stored.Type != want.Type {", New: "false {",
		Package: "./automation/settings", Run: "TestATypeNeverChanges/memory",
	},
	{
		Name: "I-13 validation stops at the first fault", File: "automation/settings/faults.go",
		Old: "Faults: f.Faults}", New: "Faults: f.Faults[:1]}",
		Package: "./automation/settings", Run: "TestEveryFaultIsListed/memory",
	},
	{
		Name: "I-13 a setting with faults is written", File: "automation/settings/reminders.go",
		Old: "if err := f.err(\"reminder setting\", want.ID); err != nil {", New: "if err := f.err(\"reminder setting\", want.ID); false {",
		Package: "./automation/settings", Run: "TestEveryFaultIsListed/memory",
	},
	{
		Name: "I-18 a setting that is off is served as active", File: "automation/settings/source.go",
		Old: "out[i].Active, out[i].Data = r.Active,", New: "out[i].Active, out[i].Data = true,",
		Package: "./automation/settings", Run: "TestMatrixASetting/memory",
	},
	{
		Name: "I-18 a setting that is off asks for reminders", File: "automation/settings/candidates.go",
		Old: "if !r.Active || ", New: "if ",
		Package: "./automation/settings", Run: "TestTriggersTakeTheSettings/memory",
	},
	{
		Name: "I-18 nobody speaks for a setting that asks for nothing", File: "automation/settings/triggers.go",
		Old: "ids[i] = r.ID", New: "ids[i] = t.reminder + r.ID",
		Package: "./automation/settings", Run: "TestMatrixASettingThatIsSwitchedOff/memory",
	},
	{
		Name: "I-19 the time of sending of a setting is not looked at", File: "automation/settings/candidates.go",
		Old: "c.TargetDate, c.SendAt = on, r.SendAt", New: "c.TargetDate = on",
		Package: "./automation/settings", Run: "TestMatrixATimeOfSending/memory",
	},
	{
		Name: "I-28 a unit of another tenant gives its zone", File: "automation/settings/table.go",
		Old: "t.Get(ctx, tx, scope, key)", New: "t.Get(ctx, tx, storage.AnyScope, key)",
		Package: "./automation/settings", Run: "TestI28_SettingsAndUnits/memory",
	},
	{
		Name: "I-28 a setting of another tenant is served", File: "automation/settings/table.go",
		Old: "t.Find(ctx, tx, scope, ", New: "t.Find(ctx, tx, storage.AnyScope, ",
		Package: "./automation/settings", Run: "TestI28_SettingsAndUnits/memory",
	},
	{
		Name: "I-28 settings are read across tenants", File: "internal/storable/text.go",
		Old: `!strings.Contains(text, "\x00")`, New: `!strings.Contains(text, "\x01")`,
		Package: "./automation/settings", Run: "TestI28_NothingReadsAcross/memory",
	},
	{
		Name: "I-30 settings wait for the transaction that asks for them", File: "automation/settings/settings.go",
		Old: "ok && tx.Store() == s.store", New: "ok && tx.Store() != s.store",
		Package: "./automation/settings", Run: "TestAnEventWithoutVersions/memory", Hangs: true,
	},
	{
		Name: "I-30 providers do not know the transaction of their event", File: "automation/handleevent.go",
		Old: "s.planEvent(within(ctx, tx), e, r)", New: "s.planEvent(ctx, e, r)",
		Package: "./automation", Run: "TestProvidersKnow/memory",
	},
	{
		Name: "I-30 providers do not know the host's transaction", File: "automation/ensure.go",
		Old: "s.plans(within(ctx, s.tx), c)", New: "s.plans(ctx, c)",
		Package: "./automation", Run: "TestProvidersKnow/memory",
	},
	{
		Name: "I-14 a processor that fails stops the rest", File: "automation/process.go",
		Old: "spoilt = p.tx != nil && ", New: "spoilt = ",
		Package: "./automation", Run: "TestAProcessorThatFails",
	},
	{
		Name: "I-14 a processor's panic reaches the host", File: "automation/process.go",
		Old: "err = work.Guard(func() (err error) {\n\t\tresult, err = h.HandleEvent(ctx, e)\n\t\treturn err\n\t})", New: "_ = work.Guard\n\tresult, err = h.HandleEvent(ctx, e)",
		Package: "./automation", Run: "TestAProcessorThatFails",
	},
	{
		Name: "I-13 processors go on in a transaction that is spoilt", File: "automation/process.go",
		Old: "case spoilt:", New: "case spoilt && false:",
		Package: "./automation", Run: "TestABoundProcessorThatFails/memory",
	},
	{
		Name: "I-13 a conflict keeps the other processors from an event", File: "automation/process.go",
		Old: " && !isConflict(out[i].Err)", New: "",
		Package: "./automation", Run: "TestBoundProcessorsGoOn/memory",
	},
	{
		Name: "I-29 a processor's error is logged", File: "automation/process.go",
		Old: `"event", e.Type, "outcome", outcome)`, New: `"event", e.Type, "outcome", outcome, "err", one.Err)`,
		Package: "./automation", Run: "TestAProcessorThatFails",
	},
}
