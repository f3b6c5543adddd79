package notify

import (
	"context"
	"fmt"
	"strings"
)

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

// recipientGate is a [RecipientGuard] at work.
type recipientGate struct {
	allow    []string
	redirect map[string]string
}

// newRecipientGate panics on an address that is none.
func newRecipientGate(g RecipientGuard) *recipientGate {
	out := &recipientGate{redirect: map[string]string{}}
	for _, entry := range g.Allow {
		if entry = strings.TrimSpace(entry); entry == "" {
			panic("notify: Gates: Recipients.Allow holds an empty entry")
		}
		out.allow = append(out.allow, entry)
	}
	for method, address := range g.Redirect {
		clean, err := NormaliseAddress(method, address)
		if err != nil {
			panic(fmt.Sprintf("notify: Gates: Recipients.Redirect of %q: %v", method, err))
		}
		out.redirect[method] = clean
	}
	return out
}

func (*recipientGate) Name() string { return "recipients" }

func (g *recipientGate) Ask(_ context.Context, a []Attempt) ([]Verdict, error) {
	out := make([]Verdict, len(a))
	for i := range a {
		out[i] = g.about(&a[i])
	}
	return out, nil
}

func (g *recipientGate) about(a *Attempt) Verdict {
	for _, entry := range g.allow {
		if matches(entry, a.Address) {
			return Proceed()
		}
	}
	if to := g.redirect[a.Method]; to != "" {
		return Verdict{To: to}
	}
	return Skip(ReasonNotAllowed)
}

func matches(entry, address string) bool {
	if strings.HasPrefix(entry, "@") {
		at := strings.LastIndexByte(address, '@')
		return at >= 0 && strings.EqualFold(address[at:], entry)
	}
	return strings.EqualFold(entry, address)
}
