package notify

import (
	"errors"
	"strings"

	"github.com/belfry-go/belfry/keys"
)

// Recipient is one person or inbox that a job is for. With a Channel it gets an
// [OutgoingMessage], with an Inbox a [UserMessage], with both both of them, and
// with neither it is counted as skipped.
type Recipient struct {
	// Ref is the host's stable id of the recipient. Together with the method and
	// the normalised address it is the identity of the message, so it never
	// holds a display name.
	Ref string `json:"ref,omitempty"`
	// Channel is the key of the channel to use, such as "email:smtp".
	Channel string `json:"channel,omitempty"`
	// Address is where the channel delivers: a mail address, a phone number in
	// international form.
	Address string `json:"address,omitempty"`
	// Name is for display only.
	Name string `json:"name,omitempty"`
	// Locale is a BCP 47 tag; empty leaves the choice to the renderer.
	Locale string `json:"locale,omitempty"`
	// Zone is an IANA time zone, for quiet hours; empty means none is known.
	Zone string `json:"zone,omitempty"`
	// Inbox is the partition of in-app messages: "user:{id}" or
	// "employee:{guid}" (Communication - System architecture, "UserMessage").
	Inbox string `json:"inbox,omitempty"`
	// Data is what the message says to this recipient alone: a voucher's code. A
	// [Template] has it beside the members of EventData, which it overrides.
	Data map[string]string `json:"data,omitempty"`
}

var errInbox = errors.New(`the inbox is neither "user:{id}" nor "employee:{guid}"`)

// check refuses what no run of the generator could make a message of. An
// address is judged there, since one bad address must not stop the others.
func (r Recipient) check() error {
	if r.Inbox != "" && !isInbox(r.Inbox) {
		return errInbox
	}
	if strings.ContainsRune(r.Ref+r.Channel+r.Address+r.Name+r.Locale+r.Zone, 0) {
		return errors.New("holds a NUL")
	}
	for name, value := range r.Data {
		if strings.ContainsRune(name+value, 0) {
			return errors.New("its data hold a NUL")
		}
	}
	if r.Channel == "" {
		return nil
	}
	return checkMethod(Method(r.Channel))
}

func checkMethod(method string) error {
	_, err := keys.OutgoingMessageRow(strings.Repeat("0", 40), method, 0)
	return err
}
