package gate

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
)

// Guard is for environments that must not write to customers, such as staging. Only
// allowed addresses get messages. Other messages go to the redirect address of their
// method, or are skipped with [reasons.NotAllowed]. The zero value allows no address.
type Guard struct {
	// Allow lists addresses, and mail domains with an @ before them:
	// "ann@example.com", "+4915112345678", "@example.com". Case is ignored.
	Allow []string
	// Redirect gives the address for a delivery method: "email", "sms".
	Redirect map[string]string
}

// guardGate enforces a [Guard].
type guardGate struct {
	allow    []string
	redirect map[string]string
}

// newGuardGate panics on an invalid address.
func newGuardGate(g Guard) *guardGate {
	out := &guardGate{redirect: map[string]string{}}
	for _, entry := range g.Allow {
		if entry = strings.TrimSpace(entry); entry == "" {
			panic("gate: New: Guard.Allow holds an empty entry")
		}
		out.allow = append(out.allow, spelling(entry))
	}
	for method, address := range g.Redirect {
		clean, err := channel.NormaliseAddress(method, address)
		if err != nil {
			panic(fmt.Sprintf("gate: New: Guard.Redirect of %q: %v", method, err))
		}
		out.redirect[method] = clean
	}
	return out
}

// spelling normalises an entry like an address: a domain outside ASCII is in Punycode.
func spelling(entry string) string {
	person, isDomain := entry, strings.HasPrefix(entry, "@")
	if isDomain {
		person = "x" + entry
	}
	clean, err := channel.NormaliseAddress("email", person)
	switch {
	case err != nil: // an address of another method
		return entry
	case isDomain:
		return clean[1:]
	}
	return clean
}

func (*guardGate) Name() string { return "recipients" }

func (g *guardGate) Ask(_ context.Context, a []Attempt) ([]Verdict, error) {
	out := make([]Verdict, len(a))
	for i := range a {
		out[i] = g.about(&a[i])
	}
	return out, nil
}

func (g *guardGate) about(a *Attempt) Verdict {
	for _, entry := range g.allow {
		if matches(entry, a.Address) {
			return Proceed()
		}
	}
	if to := g.redirect[a.Method]; to != "" {
		return Verdict{To: to}
	}
	return Skip(reasons.NotAllowed)
}

func matches(entry, address string) bool {
	if strings.HasPrefix(entry, "@") {
		at := strings.LastIndexByte(address, '@')
		return at >= 0 && strings.EqualFold(address[at:], entry)
	}
	return strings.EqualFold(entry, address)
}
