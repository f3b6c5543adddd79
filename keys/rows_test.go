package keys_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/keys"
	"pgregory.net/rapid"
)

func TestRowsRefuse(t *testing.T) {
	t.Parallel()
	never := time.Unix(math.MaxInt64, 0)
	for problem, build := range map[string]func() (string, error){
		"notification job row: job: is empty":                      func() (string, error) { return keys.JobRow(day, "") },
		"notification job row: job: holds ':' at byte 1":           func() (string, error) { return keys.JobRow(day, "a:b") },
		"notification job row: created: is outside the years":      func() (string, error) { return keys.JobRow(never, "a") },
		"user message row: jobRow: is empty":                       func() (string, error) { return keys.UserMessageRow(day, "") },
		"user message row: jobRow: holds the control":              func() (string, error) { return keys.UserMessageRow(day, "a\x1fb") },
		"user message row: jobRow: has 513 bytes, more than 512":   func() (string, error) { return keys.UserMessageRow(day, strings.Repeat("a", 513)) },
		"user message row: source: is outside the years":           func() (string, error) { return keys.UserMessageRow(never, "a") },
		"campaign partition: businessUnit: is empty":               func() (string, error) { return keys.CampaignPartition("") },
		"user partition: user: holds ':' at byte 4":                func() (string, error) { return keys.UserPartition("user:1") },
		"employee partition: employee: is not valid UTF-8":         func() (string, error) { return keys.EmployeePartition("\xff") },
		"outgoing message row: recipientHash: must be 40 lower":    func() (string, error) { return keys.OutgoingMessageRow("ab", "email", 0) },
		`outgoing message row: method "Email": must be lower-case`: outgoing("Email", 0),
		`outgoing message row: method "e_mail": must be lower`:     outgoing("e_mail", 0),
		`outgoing message row: method "email:smtp": must be lower`: outgoing("email:smtp", 0),
		`outgoing message row: method "2fa": must be lower-case`:   outgoing("2fa", 0),
		"outgoing message row: method: is empty":                   outgoing("", 0),
		`outgoing message row: attempt "-1": is negative`:          outgoing("email", -1),
		`aaaaa...": has 201 bytes, more than 200`:                  outgoing(strings.Repeat("a", 201), 0),
	} {
		row, err := build()
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("got %q, %v, want an error with %q", row, err, problem)
			continue
		}
		wantPartError(t, err)
	}
	if _, err := keys.OutgoingMessageRow(strings.ToUpper(recipientHash), "email", 0); err == nil {
		t.Error("an upper-case hash is accepted, so one recipient has two rows")
	}
}

func outgoing(method string, attempt int) func() (string, error) {
	return func() (string, error) { return keys.OutgoingMessageRow(recipientHash, method, attempt) }
}

// TestI20_OutgoingRowsAreInjective: hash, method and attempt can be read back.
func TestI20_OutgoingRowsAreInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.StringMatching(`[a-z_0-9-]{1,6}`).Draw(t, "method")
		attempt := rapid.IntRange(0, 99).Draw(t, "attempt")
		row, err := keys.OutgoingMessageRow(recipientHash, method, attempt)
		if err != nil {
			wantPartError(t, err)
			return
		}
		c := strings.Split(row, "_")
		again, err := keys.OutgoingMessageRow(c[0], c[1], attempt)
		if again != row || c[1] != method || (len(c) == 3) != (attempt > 0) {
			t.Fatalf("%q: method %q attempt %d came back as %q, %q, %v", row, method, attempt, c, again, err)
		}
	})
}

// TestI20_MessagingJobIsAUUIDOfVersion8 with the variant of RFC 9562, and
// otherwise the same digits as the row key.
func TestI20_MessagingJobIsAUUIDOfVersion8(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.String().Draw(t, "key")
		guid, row := keys.MessagingJobGUID(key), keys.AutomationRowKey(key)
		if guid[14] != '8' || !strings.Contains("89ab", guid[19:20]) {
			t.Fatalf("%s is not of version 8", guid)
		}
		plain := strings.ReplaceAll(guid, "-", "")
		if len(row) != 40 || plain[:12] != row[:12] || plain[13:16] != row[13:16] || plain[17:] != row[17:32] {
			t.Fatalf("%s does not begin as %s", guid, row)
		}
	})
}
