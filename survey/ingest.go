package survey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Ingest makes an instance for each item and each trigger that wants it.
func (s *Service) Ingest(ctx context.Context, b Batch) (IngestReport, error) {
	var out IngestReport
	err := s.inTx(ctx, func(tx storage.Tx) error {
		out = IngestReport{}
		wanted, err := triggers.Find(ctx, tx, b.Scope, storage.Query{Where: []storage.Cond{storage.Eq("event_kind", b.EventKind)}, Limit: 1000})
		if err != nil {
			return err
		}
		now := storage.Now(s.store)
		for _, item := range b.Items {
			report := ItemReport{Outcome: NoMatch}
			for _, w := range wanted {
				v, err := s.versionOf(ctx, tx, b.Scope, w.SurveyID, w.VersionNumber)
				if err != nil {
					return err
				}
				t := v.trigger(w.TriggerID)
				var payload map[string]any
				if err := json.Unmarshal(item.Payload, &payload); err != nil {
					return err
				}
				hash := sha256.Sum256([]byte(item.Recipient.Address + string(item.Payload)))
				row := &Instance{
					Record:   storage.Record{Scope: b.Scope, Key: strconv.FormatInt(w.SurveyID, 10) + ":" + t.ID + ":" + hex.EncodeToString(hash[:]), Type: t.Channel, Status: StatusPending},
					PublicID: hex.EncodeToString(hash[:16]), LinkHash: linkHash(hex.EncodeToString(hash[:])),
					SurveyID: w.SurveyID, SurveyVersion: w.VersionNumber, TriggerID: t.ID, TriggeredOn: now, TriggeredBy: "event:" + b.EventKind,
					Metadata: item.Payload, CustomerRef: item.Recipient.CustomerRef, Channel: t.Channel,
					RecipientAddress: item.Recipient.Address, RecipientLocale: item.Recipient.Locale, UniqueHash: hex.EncodeToString(hash[:]), CreatedOn: now,
					NextSendOn: now.Add(time.Duration(t.Schedule.InitialDelay)), RemindersRemaining: len(t.Schedule.Reminders),
				}
				row.DueOn = row.NextSendOn
				if _, err := instances.Insert(ctx, tx, row); err != nil {
					return err
				}
				report.Outcome = Created
				report.Instances = append(report.Instances, InstanceReport{Outcome: Created, SurveyID: w.SurveyID, TriggerID: t.ID, PublicID: row.PublicID})
			}
			out.Items = append(out.Items, report)
		}
		return nil
	})
	return out, err
}
