package keys_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/belfry-go/belfry/keys"
)

// day is the instant of every vector.
var day = time.Date(2026, 3, 1, 8, 0, 0, 123456789, time.UTC)

var hmacKey = []byte("0123456789abcdef0123456789abcdef")

const (
	runKey        = "report-subscription:6f1c:scheduled:2026-03-01T00:00:00Z"
	dateHash      = "33eeec74a0b1a735e274efe37b061a4aba2861d92415f62883b32571bd0ac778"
	recipientHash = "af35c331f9f16b732d905ac7e23966d3c903f539"
	recipeHash    = "6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa"
)

// documentsRecipe is the worked example of (Triggers & Scheduler, "Step 4").
var documentsRecipe = []keys.RecipeSlot{
	{Path: "templateId", Value: "4523"}, {Path: "recipient.address", Value: "+964 770 000 0001"},
	{Path: "candidate.dealerId", Value: "1"}, {Path: "candidate.wip", Value: "40956"},
}

// vector is one key and what it must be, for ever. The hashes were computed
// with another implementation.
type vector struct {
	name, want string
	build      func(zone *time.Location) (string, error)
}

func keyOf(k keys.Parsed) func(*time.Location) (string, error) {
	return func(*time.Location) (string, error) { return k.Key() }
}

// textOf calls build anew each time, so that each zone, goroutine and process
// makes the text by itself.
func textOf(build func() string) func(*time.Location) (string, error) {
	return func(*time.Location) (string, error) { return build(), nil }
}

var vectors = []vector{
	{"reminder", "reminder:s1:employee:7:default:2026-05-01:30", keyOf(keys.Reminder{
		Setting: "s1", SourceType: "employee", Source: "7", TriggerKey: "default", TargetDate: "2026-05-01", OffsetDays: 30})},
	{"reminder on the day", "reminder:s1:employee:7:default:2024-02-29:0", keyOf(keys.Reminder{
		Setting: "s1", SourceType: "employee", Source: "7", TriggerKey: "default", TargetDate: "2024-02-29"})},
	{"reminder after", "reminder:s1:invoice:7:dunning:0001-01-01:-14", keyOf(keys.Reminder{
		Setting: "s1", SourceType: "invoice", Source: "7", TriggerKey: "dunning", TargetDate: "0001-01-01", OffsetDays: -14})},
	{"once per source", "reminder:s1:class:7:default:threshold:occupancy:any:OncePerSource:source", keyOf(keys.Threshold{
		Setting: "s1", SourceType: "class", Source: "7", TriggerKey: "default",
		Metric: "occupancy", Value: "any", Policy: keys.OncePerSource, ScopeKey: "source"})},
	{"once per threshold", "reminder:s1:class:7:default:threshold:occupancy:0.9:OncePerThreshold:room-1", keyOf(keys.Threshold{
		Setting: "s1", SourceType: "class", Source: "7", TriggerKey: "default",
		Metric: "occupancy", Value: "0.9", Policy: keys.OncePerThreshold, ScopeKey: "room-1"})},
	{"once per day", "reminder:s1:class:7:default:threshold:occupancy:0.9:OncePerDay:room-1@2026-03-01", keyOf(keys.Threshold{
		Setting: "s1", SourceType: "class", Source: "7", TriggerKey: "default",
		Metric: "occupancy", Value: "0.9", Policy: keys.OncePerDay, ScopeKey: "room-1@2026-03-01"})},
	{"false to true", "reminder:s1:class:7:default:threshold:occupancy:0.9:FalseToTrue:room-1@3", keyOf(keys.Threshold{
		Setting: "s1", SourceType: "class", Source: "7", TriggerKey: "default",
		Metric: "occupancy", Value: "0.9", Policy: keys.FalseToTrue, ScopeKey: "room-1@3"})},
	{"recurring", "reminder:s1:class:7:weekly:recurring:2026-03-01T08:00:00Z", func(zone *time.Location) (string, error) {
		return keys.Recurring{Setting: "s1", SourceType: "class", Source: "7", TriggerKey: "weekly",
			Occurrence: day.Truncate(time.Second).In(zone)}.Key()
	}},
	{"instant", "reminder:s1:lesson:7:default:instant:2026-03-01T08:00:00Z:2h", func(zone *time.Location) (string, error) {
		return keys.Instant{Setting: "s1", SourceType: "lesson", Source: "7", TriggerKey: "default",
			Start: day.Truncate(time.Second).In(zone), Before: 120 * time.Minute}.Key()
	}},
	{"after an instant", "reminder:s1:lesson:7:default:instant:2026-03-01T08:00:00Z:-1h30m", func(zone *time.Location) (string, error) {
		return keys.Instant{Setting: "s1", SourceType: "lesson", Source: "7", TriggerKey: "default",
			Start: day.Truncate(time.Second).In(zone), Before: -90 * time.Minute}.Key()
	}},
	{"report run", "report-subscription:6f1c:scheduled:2026-03-01T08:00:00Z", func(zone *time.Location) (string, error) {
		return keys.ReportRun{Subscription: "6f1c", On: day.Truncate(time.Second).In(zone)}.Key()
	}},
	{"manual report run", "report-subscription:6f1c:manual:0d4e", keyOf(keys.ManualReportRun{Subscription: "6f1c", Run: "0d4e"})},
	{"host", "host:backup:server:eu-1:nightly", keyOf(keys.Host{
		Type: "backup", SourceType: "server", Source: "eu-1", TriggerKey: "nightly"})},
	{"host run", "host:backup:server:eu-1:nightly:recurring:2026-03-01T08:00:00Z", func(zone *time.Location) (string, error) {
		return keys.HostRun{Type: "backup", SourceType: "server", Source: "eu-1", TriggerKey: "nightly", On: day.Truncate(time.Second).In(zone)}.Key()
	}},
	{"manual host run", "host:backup:server:eu-1:nightly:manual:0d4e", keyOf(keys.HostRun{
		Type: "backup", SourceType: "server", Source: "eu-1", TriggerKey: "nightly", Run: "0d4e"})},
	{"notification event", "event:booking:7:confirmed:e9:booking-confirmed", keyOf(keys.NotificationEvent{
		EntityType: "booking", Entity: "7", EventType: "confirmed", EventID: "e9", NotificationType: "booking-confirmed"})},
	{"survey instance", "survey:4523:csi-gr-trigger:" + recipeHash, keyOf(keys.SurveyInstance{Survey: 4523, Trigger: "csi-gr-trigger", Hash: recipeHash})},
	{"survey instance of all triggers", "survey:4523:" + recipeHash, keyOf(keys.SurveyInstance{Survey: 4523, Hash: recipeHash})},

	{"recipe", recipeHash, recipeOf(documentsRecipe...)},
	{"recipe of nothing at X", "efaaedbc19bd06af043ad14c7ee51e09a4ada8b85862529650f4b4456638b7fb", recipeOf(keys.RecipeSlot{Path: "candidate.X"})},
	{"recipe of nothing at Y", "c36c4c871ac1f206c5f63e8739e44e916253a264d79233472d6772ce56680dbc", recipeOf(keys.RecipeSlot{Path: "candidate.Y"})},
	{"link key", "jxkzt4n2", textOf(func() string { return keys.NewLinkKey(hmacKey).ID() })},
	{"link token", "jxkzt4n2gbiijdlnj27hob2ievjdnrrj27euzub6", textOf(func() string {
		return keys.NewLinkKey(hmacKey).Token("8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00")
	})},
	{"automation row", "2b44de7a9c672f81fd63611b415680c80045dbc0", textOf(func() string { return keys.AutomationRowKey(runKey) })},
	{"messaging job", "2b44de7a-9c67-8f81-bd63-611b415680c8", textOf(func() string { return keys.MessagingJobGUID(runKey) })},
	{"reverse ticks", "2516299487998765439", func(zone *time.Location) (string, error) { return keys.ReverseTicks(day.In(zone)) }},
	{"job row", "2516299487998765439_0d4e", func(zone *time.Location) (string, error) { return keys.JobRow(day.In(zone), "0d4e") }},
	{"campaign", "bu-1_Campaign", func(*time.Location) (string, error) { return keys.CampaignPartition("bu-1") }},
	{"user", "user:42", func(*time.Location) (string, error) { return keys.UserPartition("42") }},
	{"employee", "employee:42", func(*time.Location) (string, error) { return keys.EmployeePartition("42") }},
	{"user message", "2516299487998765439_event:booking:7:c:e9:n", func(zone *time.Location) (string, error) {
		return keys.UserMessageRow(day.In(zone), "event:booking:7:c:e9:n")
	}},
	{"outgoing message", recipientHash + "_email", func(*time.Location) (string, error) {
		return keys.OutgoingMessageRow(recipientHash, "email", 0)
	}},
	{"second attempt", recipientHash + "_web-push_2", func(*time.Location) (string, error) {
		return keys.OutgoingMessageRow(recipientHash, "web-push", 2)
	}},
	{"dispatch guard", "NotificationJob\x1f7\x1fhost:a:b:c:d\x1freminder", func(*time.Location) (string, error) {
		return keys.Join("NotificationJob", "7", "host:a:b:c:d", "reminder")
	}},
	{"recipient", recipientHash, recipientOf(nil)},
	{"recipient under a key", "a35779210ace25f66ec15941ddccec9e18476d63", recipientOf(hmacKey)},
	{"fingerprint", "161e130342ca3e8e", textOf(func() string { return keys.Fingerprint(hmacKey) })},
	{"sum", "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f", sumOf("ab", "c")},
	{"sum of nothing", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", sumOf()},
	{"sum of one empty field", "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc", sumOf("")},
	{"input of a date", dateHash, textOf(func() string { return dateInput().Hash() })},
	{"input of a threshold", "333d1dcebb67ade615c4902f335ca9ade7497b9c4793a77285226d2a82044380", textOf(thresholdInput.Hash)},
	{"input of nothing", "3f63256ac53a8f83b801bfffa7809de656fc2f9d08fdd4e1507614527a757a64", textOf(func() string { return keys.Input{}.Hash() })},
}

func sumOf(fields ...string) func(*time.Location) (string, error) {
	return textOf(func() string {
		sum := keys.Sum(fields...)
		return hex.EncodeToString(sum[:])
	})
}

func recipeOf(slots ...keys.RecipeSlot) func(*time.Location) (string, error) {
	return func(*time.Location) (string, error) { return keys.RecipeHash(slots...) }
}

func recipientOf(hmacKey []byte) func(*time.Location) (string, error) {
	return textOf(func() string { return keys.RecipientHash(hmacKey, "customer-42", "email", "sam@example.com") })
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			got, err := v.build(time.UTC)
			if err != nil || got != v.want {
				t.Errorf("got %q, %v, want %q", got, err, v.want)
			}
		})
	}
}
