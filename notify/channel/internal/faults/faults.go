// Package faults is the table of whose fault each answer of a provider is, for all
// channels. Each channel is tested by it.
package faults

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// table is whose fault an answer is: what was answered, the class, the fault ("-":
// unknown), and where the provider says so. A status without a body is judged as RFC 9110
// says.
//
// A class says whether the message may have been accepted, and a fault does not change it:
// 500, 502 and 504 are Unknown wherever the provider may have it.
const table = `
# channel  | answer                                | class     | fault    | source
twilio     | 500, 502, 504                         | Unknown   | -        | RFC 9110, 15.6
twilio     | 503                                   | Transient | Provider | error 20503
twilio     | 401, 403, 429                         | Transient | Account  | errors 20003, 20006, 20429
twilio     | 400 21211, 21214, 21408, 21610, 21612, 21614 | Permanent | Address | Error and Warning Dictionary
twilio     | 400 21212, 21603, 21606, 21659, 21660 | Permanent | Account  | Error and Warning Dictionary
twilio     | 400 21611, 63038                      | Transient | Account  | Error and Warning Dictionary
twilio     | 400 21617                             | Permanent | -        | Error and Warning Dictionary
infobip    | 500, 502, 504                         | Unknown   | -        | RFC 9110, 15.6
infobip    | 503                                   | Transient | Provider | RFC 9110, 15.6.4: not handled
infobip    | 401, 403, 429                         | Transient | Account  | Response status and error codes
infobip    | 200 REJECTED/REJECTED_NOT_ENOUGH_CREDITS | Transient | Account | Message statuses
infobip    | 200 REJECTED/REJECTED_DESTINATION     | Permanent | Address  | Message statuses
infobip    | 200 UNDELIVERABLE/UNDELIVERABLE_NOT_DELIVERED | Permanent | Address | Message statuses
infobip    | 200 REJECTED/REJECTED_DUPLICATE_MESSAGE_ID | Unknown | -     | Message statuses: an earlier call got there
dialog360  | 500, 502, 504                         | Unknown   | -        | RFC 9110, 15.6
dialog360  | 503                                   | Transient | Provider | RFC 9110, 15.6.4: not handled
dialog360  | 401, 403, 429                         | Transient | Account  | 360dialog, Error Code Reference
dialog360  | 400                                   | Transient | Account  | 360dialog, Error Code Reference
dialog360  | 400 2, 131016, 133004                 | Transient | Provider | WhatsApp Business Platform, Error codes
dialog360  | 400 190, 368, 80007, 130429, 131042, 131048 | Transient | Account | WhatsApp Business Platform, Error codes
dialog360  | 400 131026, 131021, 131050            | Permanent | Address  | WhatsApp Business Platform, Error codes
dialog360  | 400 131056                            | Transient | Address  | WhatsApp Business Platform, Error codes
dialog360  | 400 1, 131000                         | Unknown   | -        | WhatsApp Business Platform, Error codes
sendgrid   | 500, 502, 504                         | Unknown   | -        | RFC 9110, 15.6
sendgrid   | 503                                   | Transient | Provider | API, Responses: not available
sendgrid   | 401, 403, 429                         | Transient | Account  | API, Responses
sendgrid   | 400 personalizations.0.to.0.email     | Permanent | Address  | Mail Send, Errors
sendgrid   | 400 personalizations.0.cc.0.email     | Permanent | Message  | Mail Send, Errors
sendgrid   | 400 content                           | Permanent | -        | Mail Send, Errors
resend     | 500, 502, 504                         | Unknown   | -        | Errors
resend     | 503                                   | Transient | Provider | RFC 9110, 15.6.4: not handled
resend     | 409                                   | Unknown   | -        | Idempotency Keys
resend     | 401, 403, 404, 405, 429               | Transient | Account  | Errors
resend     | 422 invalid_attachment, missing_required_field | Permanent | Message | Errors
resend     | 422 validation_error                  | Permanent | -        | Errors: of the recipient, or not
postmark   | 500, 502, 504                         | Unknown   | -        | Overview, HTTP response codes
postmark   | 503                                   | Transient | Provider | Overview, HTTP response codes
postmark   | 401, 404, 429                         | Transient | Account  | Overview, HTTP response codes
postmark   | 422 10, 100, 400, 401, 405, 412, 413, 1235 | Transient | Account | API error codes
postmark   | 422 406                               | Permanent | Address  | API error codes
postmark   | 422 402, 403, 409, 410, 411           | Permanent | Message  | API error codes
ses        | 500, 502, 504                         | Unknown   | -        | Common errors: InternalFailure
ses        | 503                                   | Transient | Provider | Common errors: ServiceUnavailable
ses        | 403, 429                              | Transient | Account  | Common errors
ses        | 400 AccountSuspendedException, SendingPausedException, MailFromDomainNotVerifiedException | Transient | Account | SendEmail, Errors
ses        | 400 MessageRejected                   | Permanent | -        | SendEmail, Errors
slack      | 500, 502, 504                         | Unknown   | -        | chat.postMessage, Errors
slack      | 503                                   | Transient | Provider | RFC 9110, 15.6.4: not handled
slack      | 200 service_unavailable               | Transient | Provider | chat.postMessage, Errors
slack      | 200 internal_error, fatal_error       | Unknown   | -        | chat.postMessage, Errors: may have partly succeeded
slack      | 429                                   | Transient | Account  | Rate limits
slack      | 200 invalid_auth, token_revoked, account_inactive, message_limit_exceeded | Transient | Account | chat.postMessage, Errors
slack      | 200 channel_not_found, is_archived, not_in_channel | Permanent | Address | chat.postMessage, Errors
slack      | 200 msg_too_long, no_text             | Permanent | Message  | chat.postMessage, Errors
telegram   | 500, 502, 504                         | Unknown   | -        | RFC 9110, 15.6
telegram   | 503                                   | Transient | Provider | RFC 9110, 15.6.4: not handled
telegram   | 401, 404                              | Transient | Account  | Making requests: the token is in the path
telegram   | 403                                   | Permanent | Address  | the bot may not write there
telegram   | 429                                   | Transient | -        | ResponseParameters: the chat's limit, or the bot's
fcm        | 500, 502, 504                         | Unknown   | -        | ErrorCode: INTERNAL
fcm        | 503                                   | Transient | Provider | ErrorCode: UNAVAILABLE
fcm        | 401, 403                              | Transient | Account  | ErrorCode: THIRD_PARTY_AUTH_ERROR
fcm        | 404 UNREGISTERED                      | Permanent | Address  | ErrorCode
fcm        | 403 SENDER_ID_MISMATCH                | Permanent | Address  | ErrorCode
fcm        | 400 INVALID_ARGUMENT                  | Permanent | Message  | ErrorCode
fcm        | 429 QUOTA_EXCEEDED                    | Transient | -        | ErrorCode: of the project, or of the device
apns       | 500, 502, 504                         | Unknown   | -        | Handling notification responses
apns       | 503                                   | Transient | Provider | Handling notification responses: ServiceUnavailable
apns       | 403                                   | Transient | Account  | Handling notification responses: the proof of who sends
apns       | 400 BadTopic, MissingTopic, TopicDisallowed | Transient | Account | Handling notification responses
apns       | 400 BadDeviceToken, DeviceTokenNotForTopic | Permanent | Address | Handling notification responses
apns       | 410                                   | Permanent | Address  | Handling notification responses: Unregistered
apns       | 429 TooManyRequests                   | Transient | Address  | Handling notification responses: to one device
apns       | 413                                   | Permanent | Message  | Handling notification responses
webhook    | 500, 502, 504                         | Unknown   | Address  | each receiver is a server of its own
webhook    | 503, 429                              | Transient | Address  | each receiver is a server of its own
webhook    | 401, 403, 404, 410                    | Permanent | Address  | Standard Webhooks, Response status codes
webpush    | 500, 502, 504                         | Unknown   | Address  | each subscription names its own service
webpush    | 503, 429                              | Transient | Address  | RFC 8030, 8.4
webpush    | 404, 410                              | Permanent | Address  | RFC 8030, 7.3
webpush    | 413                                   | Permanent | Message  | RFC 8030, 7.2
smtp       | CONNECT 421 4.3.2                     | Transient | Provider | RFC 5321, 3.8
smtp       | CONNECT 554 5.7.1                     | Transient | Account  | RFC 5321, 3.1: no service for this client
smtp       | MAIL 451 4.7.1                        | Transient | -        | RFC 3463, 3.8
smtp       | MAIL 550 5.7.1                        | Permanent | Account  | the sender is the same for all
smtp       | MAIL 530 5.7.0                        | Transient | Account  | RFC 4954, 6
smtp       | RCPT 421 4.7.0                        | Transient | Provider | RFC 5321, 3.8
smtp       | RCPT 450 4.2.1                        | Transient | Address  | RFC 3463, 3.3
smtp       | RCPT 451 4.7.1                        | Transient | -        | RFC 3463, 3.8
smtp       | RCPT 550                              | Permanent | Address  | RFC 5321, 4.2.3
smtp       | RCPT 550 5.1.1                        | Permanent | Address  | RFC 3463, 3.2
smtp       | RCPT 550 5.1.3                        | Permanent | Address  | RFC 3463, 3.2
smtp       | RCPT 552 5.2.2                        | Permanent | Address  | RFC 3463, 3.3
smtp       | RCPT 550 5.1.8                        | Permanent | Account  | RFC 3463, 3.2: the sender's domain
smtp       | RCPT 550 5.7.1                        | Permanent | Policy   | RFC 3463, 3.8: against whom, it does not say
smtp       | RCPT 554 5.7.1 <u@b.example>: Relay access denied | Permanent | Account | Postfix, smtpd_relay_restrictions
smtp       | RCPT 554 5.7.1 <relay access denied@b.example>: no | Permanent | Policy | what it quotes is not its word
smtp       | RCPT 554 5.7.1 <a[192.0.2.1]>: Client host rejected: Access denied | Permanent | Account | Postfix, smtpd_client_restrictions
smtp       | RCPT 554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using a list | Permanent | Account | Postfix, reject_rbl_client
smtp       | RCPT 550 relay not permitted          | Permanent | Account  | Exim, acl_check_rcpt
smtp       | RCPT 550 5.7.1 Unable to relay        | Permanent | Account  | Exchange, NDR codes
smtp       | RCPT 550 5.7.60 Client does not have permissions to send as this sender | Permanent | Account | Exchange, NDR codes
smtp       | RCPT 550 5.7.25                       | Permanent | Account  | RFC 7372, 3.3: the client's name
smtp       | DATA 451 4.3.0                        | Transient | -        | RFC 3463, 3.4
smtp       | . 452 4.3.1                           | Transient | Provider | RFC 3463, 3.4
smtp       | . 451 4.3.0                           | Transient | -        | RFC 3463, 3.4
smtp       | . 554 5.6.0                           | Permanent | Message  | RFC 3463, 3.7
smtp       | . 554 5.7.1                           | Permanent | -        | RFC 3463, 3.8: the content, or not
`

// Row is one answer of the table: "400 21211" of HTTP, "RCPT 550 5.1.1" of SMTP.
type Row struct {
	Channel, Answer string
	Class           channel.Class
	Fault           channel.Fault
}

// Rows reads the table: a list of codes is a row each.
func Rows() (all []Row, err error) {
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			return nil, fmt.Errorf("faults: not five cells: %s", line)
		}
		for i := range cells {
			if cells[i] = strings.TrimSpace(cells[i]); cells[i] == "" {
				return nil, fmt.Errorf("faults: an empty cell: %s", line)
			}
		}
		r := Row{cells[0], cells[1], channel.Class(cells[2]), channel.Fault(strings.Trim(cells[3], "-"))}
		all = append(all, r.each()...)
	}
	return all, nil
}

// each are the rows of a list of statuses, or of codes of one status. Texts of mail servers
// are no lists.
func (r Row) each() (all []Row) {
	answers := strings.Split(r.Answer, ", ")
	if r.Channel == "smtp" || len(answers) == 1 {
		return []Row{r}
	}
	status, _, coded := strings.Cut(answers[0], " ")
	for i, a := range answers {
		if coded && i > 0 {
			a = status + " " + a
		}
		r.Answer = a
		all = append(all, r)
	}
	return all
}
