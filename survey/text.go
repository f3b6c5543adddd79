package survey

// Text is a text by locale, such as {"en": "How was it?", "ar": "…"}; in JSON a
// plain string is the text for all locales, whose locale is empty.
type Text map[string]string
