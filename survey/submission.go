package survey

import (
	"encoding/json"
	"time"
)

// Response is what a customer submits, or a host that keeps the form elsewhere.
type Response struct {
	// Answers are a JSON object by question id.
	Answers json.RawMessage
	// AgentID is who filled the form in on the customer's behalf; empty: the
	// customer.
	AgentID string
	// CompletedOn is when the form was completed; zero: now.
	CompletedOn time.Time
	// IdempotencyKey tells a repeat of the same submission; it may be empty.
	IdempotencyKey string
}

// Receipt is the answer to a submission.
type Receipt struct {
	PublicID    string
	CompletedOn time.Time
	// Repeated says that the same submission had been taken before.
	Repeated bool
}
