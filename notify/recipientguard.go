package notify

// RecipientGuard is for environments in which no customer may get anything:
// staging, a rehearsal. Only who is allowed gets messages; those of others go to
// the redirection of their method, or are skipped with ReasonNotAllowed. The zero
// value allows nobody.
type RecipientGuard struct {
	// Allow lists addresses, and mail domains with an @ before them:
	// "ann@example.com", "+4915112345678", "@example.com". Case is ignored.
	Allow []string
	// Redirect gives the address for a delivery method: "email", "sms".
	Redirect map[string]string
}
