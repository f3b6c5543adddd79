package faults

// mailFaults are faults in what a real post office asks of messages.
var mailFaults = []fault{
	{Name: "ensure: a caller's content is not compared", In: "notify.Content.hashOr",
		Old: "return c.Hash()", New: `return ""`, Test: "./notify TestContentHashIsChecked/memory"},
	{Name: "ensure: an inbox's message has no time", In: "notify.fillUserMessage",
		Old: "m.SourceOn.IsZero()", New: "false", Test: "./notify TestBadInputIsRefused"},
	{Name: "ensure: a caller chooses what a provider sees", In: "notify.fillOutgoing",
		Old: `m.MessageID != ""`, New: "false", Test: "./notify TestBadInputIsRefused"},
	{Name: "suppression: a refused address is called again", In: "notify.sender.distributorSpec",
		Old: "Dispatch: n.suppressRefused,", New: "", Test: "./notify TestARefusalAboutTheAddress/HardBounce/memory"},
	{Name: "suppression: a redirected refusal hits the wrong address", In: "notify.turn.refused",
		Old: "&& !redirected", New: "", Test: "./notify TestARefusalOfARedirected/memory"},
	{Name: "suppression: STOP is only a refusal", In: "twilio.refusal",
		Old: "r, ok := suppresses[code]; ok", New: "r, ok := suppresses[code]; ok && false", Test: "./notify/channel/twilio TestAnswersSuppress"},
	{Name: "suppression: a missing mailbox is only a refusal", In: "smtp.Error.permanent",
		Old: "slices.Contains(gone, e.Enhanced)", New: "false", Test: "./notify/channel/smtp TestAnswersSuppress"},
	{Name: "suppression: a sender's mailbox is the recipient's", In: "smtp.Error.permanent",
		Old: `&& e.Step != "MAIL"`, New: "", Test: "./notify/channel/smtp TestAnswersSuppress"},
	{Name: "suppression: a drop of SendGrid's says nothing", In: "sendgrid.event.events",
		Old: `e.Event != "dropped" || fact == ""`, New: "true", Test: "./notify/channel/sendgrid TestDropsTell"},
	{Name: "support: what is held for any reason is not listed", In: "notify.held",
		Old: `reason == ""`, New: "false", Test: "./notify TestWhateverIsHeld/memory"},
	{Name: "support: a trace forgets the subscribers", In: "notify.jobRow.told",
		Old: "j.Frozen.isZero()", New: "true", Test: "./notify TestATraceHasTheInboxes/memory"},
}
