package channel

import "time"

// Capabilities are what a channel can do beside sending a text, or what a type of
// notification needs. The zero value is nothing.
type Capabilities struct {
	// Attachments: it sends files and inline pictures.
	Attachments bool
	// Mail: it sends all of [Message].Mail: copies, Reply-To, threads, headers.
	Mail bool
	// Push: it passes [Message].CollapseKey and ValidUntil on to devices.
	Push bool
	// Template: it sends texts that the provider holds.
	Template bool
	// Callbacks: its provider reports what became of a message.
	Callbacks bool
	// Lookup: it can be asked, see [StatusLookup].
	Lookup bool
	// Idempotent is for how long it filters repeats, see [IdempotentSend].
	Idempotent time.Duration
	// Batch is how many messages one call may have, see [BatchSend]; zero: one.
	Batch int
}

// Capable is a channel that declares what it can do. Of Lookup, Idempotent and Batch its
// other methods speak.
type Capable interface {
	// Capabilities never change.
	Capabilities() Capabilities
}

// CapabilitiesOf is what c declares. Lookup, Idempotent and Batch are those of its
// methods. A decorator of a channel hides the capabilities that it does not pass on.
func CapabilitiesOf(c Channel) Capabilities {
	var out Capabilities
	if d, ok := c.(Capable); ok {
		out = d.Capabilities()
	}
	if s, ok := c.(IdempotentSend); ok {
		out.Idempotent = s.IdempotencyWindow()
	}
	out.Batch = 0 // who decorates a channel may pass on what it declares alone
	if b, ok := c.(BatchSend); ok && b.MaxBatch() > 1 {
		out.Batch = b.MaxBatch()
	}
	if _, ok := c.(StatusLookup); ok {
		out.Lookup = true
	}
	return out
}

// EndsDoubts says that a message in doubt ends by the provider's own word.
func (c Capabilities) EndsDoubts() bool { return c.Lookup || c.Idempotent > 0 }

// Lacks names what is in needs and not in c, in the order of the fields.
func (c Capabilities) Lacks(needs Capabilities) (names []string) {
	for _, n := range []struct {
		name  string
		lacks bool
	}{
		{"Attachments", needs.Attachments && !c.Attachments},
		{"Mail", needs.Mail && !c.Mail},
		{"Push", needs.Push && !c.Push},
		{"Template", needs.Template && !c.Template},
		{"Callbacks", needs.Callbacks && !c.Callbacks},
		{"Lookup", needs.Lookup && !c.Lookup},
		{"Idempotent", needs.Idempotent > c.Idempotent},
		{"Batch", needs.Batch > c.Batch},
	} {
		if n.lacks {
			names = append(names, n.name)
		}
	}
	return names
}
