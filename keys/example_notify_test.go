package keys_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
)

func ExampleAutomationRowKey() {
	fmt.Println(keys.AutomationRowKey("report-subscription:6f1c:scheduled:2026-03-01T00:00:00Z"))
	// Output: 2b44de7a9c672f81fd63611b415680c80045dbc0
}

func ExampleMessagingJobGUID() {
	fmt.Println(keys.MessagingJobGUID("report-subscription:6f1c:scheduled:2026-03-01T00:00:00Z"))
	// Output: 2b44de7a-9c67-8f81-bd63-611b415680c8
}

func ExampleReverseTicks() {
	older, _ := keys.ReverseTicks(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	newer, _ := keys.ReverseTicks(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC))
	fmt.Println(older, newer < older)
	// Output: 2516299487999999999 true
}

func ExampleFromReverseTicks() {
	fmt.Println(keys.FromReverseTicks("2516299487999999999"))
	// Output: 2026-03-01 08:00:00 +0000 UTC <nil>
}

func ExampleNotificationEvent() {
	fmt.Println(keys.NotificationEvent{
		EntityType: "booking", Entity: "7", EventType: "confirmed", EventID: "e9", NotificationType: "booking-confirmed",
	}.Key())
	// Output: event:booking:7:confirmed:e9:booking-confirmed <nil>
}

func ExampleJobRow() {
	fmt.Println(keys.JobRow(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), "0d4e"))
	// Output: 2516299487999999999_0d4e <nil>
}

func ExampleCampaignPartition() {
	fmt.Println(keys.CampaignPartition("dublin"))
	// Output: dublin_Campaign <nil>
}

func ExampleUserPartition() {
	fmt.Println(keys.UserPartition("42"))
	// Output: user:42 <nil>
}

func ExampleEmployeePartition() {
	fmt.Println(keys.EmployeePartition("42"))
	// Output: employee:42 <nil>
}

func ExampleUserMessageRow() {
	created := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	fmt.Println(keys.UserMessageRow(created, "2b44de7a9c672f81fd63611b415680c80045dbc0"))
	// Output: 2516299487999999999_2b44de7a9c672f81fd63611b415680c80045dbc0 <nil>
}

func ExampleOutgoingMessageRow() {
	recipient := keys.RecipientHash(nil, "customer-42", "email", "sam@example.com")
	fmt.Println(keys.OutgoingMessageRow(recipient, "email", 0))
	fmt.Println(keys.OutgoingMessageRow(recipient, "email", 2))
	// Output:
	// af35c331f9f16b732d905ac7e23966d3c903f539_email <nil>
	// af35c331f9f16b732d905ac7e23966d3c903f539_email_2 <nil>
}

// The dispatch guard is one text, so one unique index guards it.
func ExampleJoin() {
	guard, err := keys.Join("NotificationJob", "employee-7", "2b44de7a", "reminder")
	fmt.Println(strings.ReplaceAll(guard, "\x1f", "|"), err)
	// Output: NotificationJob|employee-7|2b44de7a|reminder <nil>
}

func ExampleSplit() {
	fmt.Println(keys.Split("user:42\x1f2516299487999999999_0d4e"))
	// Output: [user:42 2516299487999999999_0d4e] <nil>
}

func ExampleRecipientHash() {
	plain := keys.RecipientHash(nil, "customer-42", "sms", "+353861234567")
	keyed := keys.RecipientHash([]byte("0123456789abcdef0123456789abcdef"), "customer-42", "sms", "+353861234567")
	fmt.Println(len(plain), len(keyed), plain == keyed)
	// Output: 40 40 false
}

func ExampleFingerprint() {
	fmt.Println(keys.Fingerprint([]byte("0123456789abcdef0123456789abcdef")))
	fmt.Printf("%q\n", keys.Fingerprint(nil))
	// Output:
	// 161e130342ca3e8e
	// ""
}
