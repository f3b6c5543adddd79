package survey

// Definition is what the authors of a survey write: its questions, and the
// triggers that send its links (Triggers & Scheduler, "The trigger config").
type Definition struct {
	// Title, Intro and Thanks are shown above the form, and instead of it after
	// the response.
	Title  Text `json:"title,omitzero"`
	Intro  Text `json:"intro,omitzero"`
	Thanks Text `json:"thanks,omitzero"`
	// Questions are asked in this order.
	Questions []Question `json:"questions"`
	// Triggers say which events produce links.
	Triggers []Trigger `json:"triggers"`
	// Messages replace the texts that links are sent with.
	Messages []MessageText `json:"messages,omitempty"`
}

// MessageText is the text of one send: the initial one or a reminder.
type MessageText struct {
	// Ordinal is 0 for the initial send, and 1 and up for the reminders. A
	// reminder without a text of its own has that of the one before.
	Ordinal int  `json:"ordinal"`
	Subject Text `json:"subject"`
	// Text and HTML are templates of text/template and html/template. Their fields
	// are those of [LinkData].
	Text Text `json:"text"`
	HTML Text `json:"html,omitzero"`
}
