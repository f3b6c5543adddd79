package faults

// supportFaults are faults in what a support desk is told, and in who is told.
var supportFaults = []fault{
	{Name: "support: a reminder of a person and of an entity is told twice", In: "support.Desk.reminderOf",
		Old: "row.Person == person", New: "false", Test: "./support TestPagesOfAStory/memory"},
	{Name: "support: a list that a page takes in part goes on behind its own page", In: "support.merge",
		Old: "storage.Page{After: begin, Limit: taken[i]}", New: "storage.Page{After: begin, Limit: p.Limit}", Test: "./support TestPagesOfAStory/memory"},
	{Name: "support: a dry run is done", In: "support.Desk.Act",
		Old: "return errDry", New: "return nil", Test: "./support TestActionsAreDoneOnce/memory"},
	{Name: "support: what others got passes for the person's own", In: "support.toOthers",
		Old: `m.Person == person || m.Person == ""`, New: `m.Person == person || m.Person == "" || true`, Test: "./support TestAVerdictIsRight/memory"},
	{Name: "I-29 support: what is personal is shown to whoever reads", In: "supporthttp.call.hide",
		Old: "c.caller.Personal", New: "true", Test: "./support/supporthttp TestNothingPersonal"},
	{Name: "I-29 support: a key is not sealed", In: "supporthttp.call.handle",
		Old: "c.caller.Personal &&", New: "true &&", Test: "./support/supporthttp TestNothingPersonal"},
	{Name: "I-28 support: anybody names another tenant", In: "supporthttp.call.tenant",
		Old: "!c.caller.Everywhere", New: "false", Test: "./support/supporthttp TestAnotherTenantsRows"},
	{Name: "support: who may one action may all", In: "supporthttp.call.order",
		Old: "!c.caller.may(want.Action)", New: "false", Test: "./support/supporthttp TestEveryRoute"},
	{Name: "support: a rehearsal is the action", In: "supporthttp.site.act",
		Old: "want.DryRun, want.Reason = true, rehearsed", New: "want.Reason = rehearsed", Test: "./support/supporthttp TestAnActionIsRehearsed"},
}
