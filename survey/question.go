package survey

// Question is one question of a form: enough to draw it and to validate its answer.
type Question struct {
	// ID is what answers, filters and exports call it by.
	ID       string       `json:"id"`
	Type     QuestionType `json:"type"`
	Label    Text         `json:"label,omitzero"`
	Help     Text         `json:"help,omitzero"`
	Required bool         `json:"required,omitempty"`
	// Options are those of a choice.
	Options []Choice `json:"options,omitempty"`
	// Min and Max bound a number, a rating (1 to 5 unless stated), and the count of
	// options that a multiple choice takes.
	Min *Number `json:"min,omitempty"`
	Max *Number `json:"max,omitempty"`
	// MaxLength bounds a text in characters; default 4000, which is also the most.
	MaxLength int `json:"maxLength,omitempty"`
	// When hides the question unless the answers so far match. An answer to a
	// hidden question is dropped.
	When *Filter `json:"when,omitempty"`
}

// QuestionType says what an answer looks like.
type QuestionType string

// The types of question.
const (
	TextQuestion     QuestionType = "text"     // a line; a string
	LongTextQuestion QuestionType = "longText" // several lines; a string
	NumberQuestion   QuestionType = "number"   // a decimal number
	RatingQuestion   QuestionType = "rating"   // a whole number from Min to Max
	YesNoQuestion    QuestionType = "yesNo"    // "yes" or "no"
	ChoiceQuestion   QuestionType = "choice"   // the value of one option
	MultipleQuestion QuestionType = "multiple" // values of options, each once
	DateQuestion     QuestionType = "date"     // 2006-01-02
)

// Choice is one option of a choice.
type Choice struct {
	Value string `json:"value"`
	Label Text   `json:"label,omitzero"` // empty: the value
}
