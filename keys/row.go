package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// AutomationRowKey is the row key of a notification job that automation makes. It carries
// idempotency from automation to notification (Communication - System architecture, "Key
// policy"): the first 20 bytes of SHA-256 of the scheduler key, in 40 lower-case hex
// digits. It equals the StorageRunKeyHash of (Report Subscription), which groups the
// artifacts of one run. The key is hashed as it is given, without a check.
func AutomationRowKey(schedulerKey string) string {
	sum := sha256.Sum256([]byte(schedulerKey))
	return hex.EncodeToString(sum[:20])
}

// JobRow is the row key of a manual or transactional notification job
// (Communication - System architecture, "Key policy"):
//
//	{CreatedReverseTicks}_{job}
//
// where job is the job's GUID. The history of an entity so begins with the
// newest. The error is a [*PartError].
func JobRow(created time.Time, job string) (string, error) {
	if p := textProblem(job, MaxPartLen, ":"); p != "" {
		return "", &PartError{Kind: "notification job row", Part: "job", Problem: p}
	}
	return ticksRow("notification job row", "created", created, job)
}

// ticksRow joins the two. The ticks have a fixed length, so that a '_' in the
// rest does no harm.
func ticksRow(kind, part string, t time.Time, rest string) (string, error) {
	ticks, err := ReverseTicks(t)
	if err != nil {
		return "", &PartError{Kind: kind, Part: part, Problem: outsideCalendar}
	}
	return ticks + "_" + rest, nil
}

// UserMessageRow is the row key of an in-app message (Communication - System
// architecture, "Key policy"):
//
//	{SourceReverseTicks}_{jobRow}
//
// The source time must be the same in a repeat (the job's creation or its schedule),
// never the time of writing, or a repeat would make a second message. jobRow is the job's
// row key, at most [MaxKeyLen] bytes. The error is a [*PartError].
func UserMessageRow(source time.Time, jobRow string) (string, error) {
	if p := textProblem(jobRow, MaxKeyLen, ""); p != "" {
		return "", &PartError{Kind: "user message row", Part: "jobRow", Problem: p}
	}
	return ticksRow("user message row", "source", source, jobRow)
}

const (
	lowerCase  = "abcdefghijklmnopqrstuvwxyz"
	hashLength = 40
)

// OutgoingMessageRow is the row key of one message to one recipient by one
// method (Communication - System architecture, "OutgoingMessage + send
// claim"):
//
//	{recipientHash}_{method}
//	{recipientHash}_{method}_{attempt}
//
// recipientHash is what [RecipientHash] gives. method is the delivery method, such as
// "email" or "sms": lower-case letters, digits and '-', a letter first. attempt is 0 for
// the usual message and then left out. A number from 1 is a new attempt that was asked
// for, never a retry, which uses the same row. The error is a [*PartError].
func OutgoingMessageRow(recipientHash, method string, attempt int) (string, error) {
	if len(recipientHash) != hashLength || strings.Trim(recipientHash, decimalDigits+"abcdef") != "" {
		return "", outgoingError("recipientHash", "", "must be 40 lower-case hex digits")
	}
	if p := methodProblem(method); p != "" {
		return "", outgoingError("method", method, p)
	}
	switch {
	case attempt < 0:
		return "", outgoingError("attempt", strconv.Itoa(attempt), "is negative")
	case attempt == 0:
		return recipientHash + "_" + method, nil
	}
	return recipientHash + "_" + method + "_" + strconv.Itoa(attempt), nil
}

func methodProblem(method string) string {
	if method == "" {
		return "is empty"
	}
	if !strings.Contains(lowerCase, method[:1]) || strings.Trim(method, lowerCase+decimalDigits+"-") != "" {
		return "must be lower-case letters, digits and '-', a letter first"
	}
	return lengthProblem(method, MaxPartLen)
}

func outgoingError(part, value, problem string) error {
	return &PartError{Kind: "outgoing message row", Part: part, Problem: problem, Value: excerpt(value)}
}

// MessagingJobGUID is the id of a report's messaging job: the first 16 bytes
// of SHA-256 of the scheduler key as a UUID of version 8 (RFC 9562, "custom"),
// in lower case. So a retry finds the job of the first try. Apart from the six
// bits of version and variant it begins with the same digits as
// [AutomationRowKey].
func MessagingJobGUID(schedulerKey string) string {
	u := sha256.Sum256([]byte(schedulerKey))
	u[6] = u[6]&0x0f | 0x80 // version 8
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// CampaignPartition is the partition key of a campaign's notification jobs,
// {businessUnit}_Campaign (Communication - System architecture, "Key
// policy"). The error is a [*PartError].
func CampaignPartition(businessUnit string) (string, error) {
	return partition("campaign partition", "businessUnit", "", businessUnit, "_Campaign")
}

// UserPartition is the partition key of a customer's messages, user:{id}.
// Its prefix keeps customers and staff apart. The error is a [*PartError].
func UserPartition(id string) (string, error) {
	return partition("user partition", "user", "user:", id, "")
}

// EmployeePartition is the partition key of a staff member's messages,
// employee:{guid}. The error is a [*PartError].
func EmployeePartition(guid string) (string, error) {
	return partition("employee partition", "employee", "employee:", guid, "")
}

func partition(kind, part, prefix, id, suffix string) (string, error) {
	if p := textProblem(id, MaxPartLen, ":"); p != "" {
		return "", &PartError{Kind: kind, Part: part, Problem: p}
	}
	return prefix + id + suffix, nil
}

// .NET counts ticks of 100 ns from the first moment of the year 1.
const (
	ticksPerSecond      = 10_000_000
	ticksPerMicrosecond = 10
	unixEpochSeconds    = 62135596800         // from the year 1 to 1970
	maxTicks            = 3155378975999999999 // 9999-12-31T23:59:59.9999999
	reverseTicksLen     = 19
)

// ReverseTicks returns a text that sorts newer instants first (Communication - System
// architecture, "Key policy"): the .NET ticks of 9999-12-31T23:59:59.9999999 minus those
// of t, truncated to microseconds, in 19 digits. The zone of t does not matter. An
// instant outside the years 1 to 9999 is refused with a [*PartError].
func ReverseTicks(t time.Time) (string, error) {
	if !inCalendar(t) {
		return "", &PartError{Kind: "reverse ticks", Problem: outsideCalendar}
	}
	micros := int64(t.Nanosecond() / int(time.Microsecond))
	ticks := (t.Unix()+unixEpochSeconds)*ticksPerSecond + micros*ticksPerMicrosecond
	return fmt.Sprintf("%0*d", reverseTicksLen, maxTicks-ticks), nil
}

// FromReverseTicks gives the instant, in UTC, whose [ReverseTicks] is s. It refuses every
// other text with a [*PartError], including ticks that are not a whole microsecond.
func FromReverseTicks(s string) (time.Time, error) {
	reverse, err := strconv.ParseUint(s, 10, 63) // no sign
	if err != nil || len(s) != reverseTicksLen || reverse > maxTicks || (maxTicks-reverse)%ticksPerMicrosecond != 0 {
		return time.Time{}, &PartError{Kind: "reverse ticks", Value: excerpt(s),
			Problem: "is not 19 digits that stand for a whole microsecond in the years 1 to 9999"}
	}
	ticks := int64(maxTicks - reverse)
	nanos := ticks % ticksPerSecond * 100
	return time.Unix(ticks/ticksPerSecond-unixEpochSeconds, nanos).UTC(), nil
}
