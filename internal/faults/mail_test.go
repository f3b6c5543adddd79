package faults

// mailFaults are faults in what a real post office asks of messages.
var mailFaults = []fault{
	{Name: "ensure: a caller's content is not compared", In: "notify.Content.hashOr",
		Old: "return c.Hash()", New: `return ""`, Test: "./notify TestContentHashIsChecked/memory"},
	{Name: "ensure: an inbox's message has no time", In: "notify.fillUserMessage",
		Old: "m.SourceOn.IsZero()", New: "false", Test: "./notify TestBadInputIsRefused"},
	{Name: "ensure: a caller chooses what a provider sees", In: "notify.fillOutgoing",
		Old: `m.MessageID != ""`, New: "false", Test: "./notify TestBadInputIsRefused"},
	{Name: "support: what is held for any reason is not listed", In: "notify.held",
		Old: `reason == ""`, New: "false", Test: "./notify TestWhateverIsHeld/memory"},
	{Name: "support: a trace forgets the subscribers", In: "notify.jobRow.told",
		Old: "j.Frozen.isZero()", New: "true", Test: "./notify TestATraceHasTheInboxes/memory"},
}
