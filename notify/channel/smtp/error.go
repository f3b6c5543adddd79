package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// Error is the cause of every failed Send that the server or the network had a
// part in. Of what the server said only the codes are kept, since servers like
// to quote addresses.
type Error struct {
	// Step is what failed: "dial", "TLS", "greeting", "EHLO", "STARTTLS",
	// "AUTH", "RSET", "MAIL", "RCPT", "DATA", "content" or "final dot".
	Step string
	// Code is the server's answer, such as 550; 0 if there was none.
	Code int
	// Enhanced is the answer's enhanced status code, such as "5.1.1" (RFC 3463),
	// where it has one.
	Enhanced string
	// Err is the network's error or the context's, if it was one.
	Err error

	barsUs bool // the text says that this client or sender may not send here
}

func (e *Error) Error() string {
	text := "smtp: " + e.Step
	switch {
	case e.Code != 0:
		return text + ": answer " + e.status()
	case e.Err != nil:
		return text + ": " + e.Err.Error()
	}
	return text + ": answer not understood"
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// status is what is stored of the answer: "550 5.1.1".
func (e *Error) status() string {
	if e.Enhanced == "" {
		return strconv.Itoa(e.Code)
	}
	return strconv.Itoa(e.Code) + " " + e.Enhanced
}

var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// newError keeps what is safe of err.
func newError(step string, err error) *Error {
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return &Error{Step: step, Code: reply.Code, Enhanced: enhanced.FindString(reply.Msg), barsUs: bars(reply.Msg)}
	}
	return &Error{Step: step, Err: safe(err)}
}

// quoted are the parts of an answer that it has from the client: addresses.
var quoted = regexp.MustCompile(`<[^>]*>|\S*@\S*`)

// barring are words by which servers say that they take nothing from this client: Postfix
// ("Relay access denied", "Client host rejected", "Client host [192.0.2.1] blocked using"),
// Exim ("relay not permitted"), Sendmail ("Relaying denied"), Exchange ("Unable to relay").
var barring = regexp.MustCompile(`(?i)relay access denied|relaying (is )?denied|relay not permitted|relaying not allowed|unable to relay|client host( \[[0-9a-f.:]+\])? (rejected|blocked)`)

// bars reports whether the text of an answer says so.
func bars(text string) bool { return barring.MatchString(quoted.ReplaceAllString(text, " ")) }

// safe returns the part of an error's chain that comes from the network or from
// this package, and nil if there is none.
func safe(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, errNoStartTLS, errNoMechanism, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.As(err, &cert):
		return cert
	case errors.As(err, &record):
		return record
	case errors.As(err, &network):
		return network
	}
	return nil
}

// hangsUp tells whether no further command makes sense after err: there was no
// answer or a strange one, or the server said that it closes the connection.
func hangsUp(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Code == 421 || e.Code/100 != 4 && e.Code/100 != 5)
}

// loginCodes are 5yz answers about the session and not about the message.
var loginCodes = []int{530, 534, 535, 538}

// failure is the error of a step before the final dot: the message was not
// accepted.
func failure(step string, err error) error {
	e := newError(step, err)
	switch {
	case e.Code == 0:
		return channel.Transient(step, 0, e).Blame(e.fault())
	case e.Code/100 == 5 && aboutMessage(step) && !slices.Contains(loginCodes, e.Code):
		return e.permanent()
	}
	return channel.Transient(e.status(), 0, e).Blame(e.fault())
}

// fault is what was wrong, by the enhanced code (RFC 3463; RFC 4954, section 6; RFC 7372)
// where there is one, and else by the step: RCPT names nothing but the recipient, MAIL
// nothing but the sender, who is the same for all messages.
func (e *Error) fault() channel.Fault {
	ofMessage := aboutMessage(e.Step) || e.Step == "content" || e.Step == "final dot"
	switch {
	case slices.Contains(loginCodes, e.Code), e.barsUs && e.Code/100 == 5, e.Step == "AUTH" && e.Code/100 == 5,
		errors.Is(e.Err, errNoStartTLS), errors.Is(e.Err, errNoMechanism), e.Step == "greeting" && e.Code/100 == 5:
		return channel.FaultAccount
	case !ofMessage, e.Code == 421:
		return channel.FaultProvider
	case e.Code == 0:
		return ""
	}
	if f, ok := e.enhancedFault(); ok {
		return f
	}
	switch {
	case e.Code/100 != 5:
		return ""
	case e.Step == "RCPT":
		return channel.FaultAddress
	case e.Step == "MAIL" && e.Code != 552: // which is its size
		return channel.FaultAccount
	}
	return ""
}

func (e *Error) enhancedFault() (f channel.Fault, known bool) {
	_, detail, _ := strings.Cut(e.Enhanced, ".")
	switch detail {
	case "1.7", "1.8", "7.8", "7.9", "7.11", "7.12", // sender, login
		"7.20", "7.21", "7.22", "7.23", "7.24", "7.25", "7.26", "7.27", // DKIM, SPF, the host's name
		"7.60": // Exchange: may not send as this sender
		return channel.FaultAccount, true
	case "3.1", "3.2": // the server
		return channel.FaultProvider, true
	case "2.3", "3.4": // it is too long
		return channel.FaultMessage, true
	}
	switch subject, _, _ := strings.Cut(detail, "."); {
	case subject == "1", subject == "2":
		return channel.FaultAddress, true
	case subject == "6":
		return channel.FaultMessage, true
	case subject == "7" && e.Step == "RCPT" && e.Code/100 == 5: // a policy, against the recipient or us
		return channel.FaultPolicy, true
	}
	return "", false
}

func aboutMessage(step string) bool { return step == "MAIL" || step == "RCPT" || step == "DATA" }

// finalDot is the outcome of the whole message, given what reading the answer
// to its final dot gave.
func finalDot(err error) error {
	if err == nil {
		return nil
	}
	e := newError("final dot", err)
	switch e.Code / 100 {
	case 2: // accepted with another code than 250
		return nil
	case 4:
		return channel.Transient(e.status(), 0, e).Blame(e.fault())
	case 5:
		return e.permanent()
	}
	return channel.Unknown(e.Step, e)
}

// gone are the details of a mailbox that is not there: unknown, moved away, or in a
// domain that takes no mail (RFC 3463, section 3.2; RFC 7505).
var gone = []string{"5.1.1", "5.1.6", "5.1.10"}

// permanent is a refusal for good. A code without a detail may be a policy, and says
// nothing of the mailbox for ever.
func (e *Error) permanent() error {
	refused := channel.Permanent(e.status(), e).Blame(e.fault())
	if slices.Contains(gone, e.Enhanced) && e.Step != "MAIL" {
		return refused.Suppressing(channel.HardBounce)
	}
	return refused
}
