package survey

// Definition is what the authors of a survey write: its questions, and the
// triggers that send its links (Triggers & Scheduler, "The trigger config").
type Definition struct {
	// Schema may name the JSON Schema of definitions for an editor (see
	// [DefinitionSchema]); nothing reads it.
	Schema string `json:"$schema,omitempty"`
	// Title, Intro and Thanks are shown above the form, and instead of it after
	// the response.
	Title  Text `json:"title,omitzero"`
	Intro  Text `json:"intro,omitzero"`
	Thanks Text `json:"thanks,omitzero"`
	// Questions are asked in this order; none, if the form is kept elsewhere.
	Questions []Question `json:"questions,omitempty"`
	// Triggers say which events produce links.
	Triggers []Trigger `json:"triggers,omitempty"`
	// Messages replace the texts that links are sent with.
	Messages []MessageText `json:"messages,omitempty"`
}

// MessageText is the text of one send: the initial one or a reminder.
type MessageText struct {
	// Ordinal is 0 for the initial send, and 1 and up for the reminders. A
	// reminder without a text of its own has that of the one before.
	Ordinal int `json:"ordinal"`
	// Subject is one line, for channels that have one.
	Subject Text `json:"subject,omitzero"`
	// Subject and Text are templates of text/template, HTML is one of html/template.
	// Their fields are those of [LinkData]. [Validate] runs them on a sample, so that
	// a field which is not there is a fault, except in a branch that the sample does
	// not take.
	Text Text `json:"text"`
	HTML Text `json:"html,omitzero"`
}
