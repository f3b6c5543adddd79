package notify

import "testing"

func TestOnlyWhoIsAllowedGetsAnythingAndTheRestIsRedirectedOrSkipped(t *testing.T) {
	guard := &RecipientGuard{Allow: []string{"@Example.COM", "ann@else.where", "+4915112345678"}, Redirect: map[string]string{"email": "qa@Inside.example"}}
	gated(t, with(GateOptions{Recipients: guard}), func(t *testing.T, h *host) {
		to := func(address string) func(*OutgoingMessage) { return func(m *OutgoingMessage) { m.Address = address } }
		h.ensure(letter("domain", "sam"), letter("address", "ann", to("Ann@else.where")), letter("elsewhere", "eve", to("eve@else.where")),
			letter("subdomain", "kim", to("kim@a.example.com")), letter("lookalike", "kim", to("kim@notexample.com")))
		h.drain()
		got := map[string]string{}
		for _, m := range h.sent() {
			got[m.Text] = m.To
		}
		const qa = "qa@inside.example"
		h.same("went to", map[string]string{"domain": "sam@example.com", "address": "Ann@else.where", "elsewhere": qa, "subdomain": qa, "lookalike": qa}, got)
		h.same("stored", "eve@else.where", h.row("elsewhere").Address)

		sms := attemptOf("id", "eve", h.clk.Now())
		sms.Method, sms.Address = "sms", "+4915187654321"
		allowed := sms
		allowed.Address = "+4915112345678"
		h.same("by another method", []string{"Skip " + ReasonNotAllowed, ""}, h.answersOf(newRecipientGate(*guard), sms, allowed))
		h.same("nobody is allowed", []string{"Skip " + ReasonNotAllowed}, h.answersOf(newRecipientGate(RecipientGuard{}), sms))
	})
}
