package report_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

const monday = "report-subscription:g-1:scheduled:2026-03-02T09:00:00Z"

// The artifacts of a run are found by what follows from its key.
func TestI19_ArtifactsAreGroupedByTheHashOfTheKey(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.create(weekly(func(s *report.Subscription) { s.GUID, s.Delivery.Bulk = "g-2", true }))
		if got := w.pollAt(at(3, 2, 9, 0)); len(got) != 2 {
			w.Fatal(subjects(got))
		}
		direct := w.run(monday).Delivery
		want := notify.Coordinates{PartitionKey: "g-1", RowKey: keys.AutomationRowKey(monday)}
		if direct.Path != notify.PathReportSubscription || direct.Notification != want || direct.AutomationJob != want || direct.MessagingJob != "" {
			w.Errorf("%+v", direct)
		}
		key := "report-subscription:g-2:scheduled:2026-03-02T09:00:00Z"
		bulk := w.run(key).Delivery
		if bulk.MessagingJob != keys.MessagingJobGUID(key) || !bulk.Notification.IsZero() || bulk.Summary != "recipients: 1, files: 1; 1 line" {
			w.Errorf("%+v", bulk)
		}
		for _, k := range []string{monday, key} {
			sent, next, err := w.reports.Messages(w.ctx, "", k, storage.Page{})
			if err != nil || next != "" || len(sent) != 1 || sent[0].Status != notify.StatusSentToProvider || sent[0].RecipientRef != "sam" {
				w.Error(k, sent, next, err)
			}
		}
		jobs, _, err := w.out.AutomationJobs(w.ctx, nil, "", automation.TypeReportSubscription, "g-1", storage.Page{})
		if err != nil || len(jobs) != 1 || jobs[0].SchedulerKey != monday || jobs[0].TriggerType != "ScheduledRun" {
			w.Errorf("%+v %v", jobs, err)
		}
	})
}

// A part may be the message itself, and pictures stay with it however files go.
func TestABodyTakesThePlaceOfTheTemplates(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.build = func(context.Context, report.Run) (report.Report, error) {
			html, logo := text("body.html", "text/html", `<p>7 <img src="cid:logo"></p>`), text("logo.png", "image/png", "PNG")
			html.Body, logo.ContentID = true, "logo"
			return report.Report{Parts: []report.Part{html, logo, text("sales.csv", "text/csv", "7")}}, nil
		}
		w.create(weekly(func(s *report.Subscription) {
			s.Recipients = append(s.Recipients, notify.Recipient{Ref: "kim", Channel: "sms:print", Address: "+353871234567"})
		}))
		w.create(weekly(func(s *report.Subscription) { s.GUID, s.Delivery.Link, s.Template = "g-2", true, "loud" }))
		var mails []string
		for _, m := range w.pollAt(at(3, 2, 9, 0)) {
			line := m.Channel + " " + m.Text + " " + m.HTML
			for _, a := range m.Attachments {
				line += " " + a.Name
			}
			mails = append(mails, line)
		}
		want := map[string]bool{
			`email:print plain for Sam <p>7 <img src="cid:logo"></p> logo.png sales.csv`:               true,
			`sms:print plain for  <p>7 <img src="cid:logo"></p>`:                                       true,
			`email:print https://reports.example/g-2/sales.csv <p>7 <img src="cid:logo"></p> logo.png`: true,
		}
		got := map[string]bool{}
		for _, m := range mails {
			got[m] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	})
}

// What a link leads to is there for as long as Keep says, and no longer.
func TestAFileOfARunIsOpenedUntilItsTimeIsOver(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(func(s *report.Subscription) { s.Delivery.Link = true }))
		if _, _, err := w.reports.OpenFile(w.ctx, "", monday, "sales.csv"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		w.pollAt(at(3, 2, 9, 0))
		for _, after := range []time.Duration{0, 89 * 24 * time.Hour} {
			w.clk.Add(after)
			w.collect()
			in, f, err := w.reports.OpenFile(w.ctx, "", monday, "sales.csv")
			if err != nil {
				w.Fatal(after, err)
			}
			content, err := io.ReadAll(in)
			if string(content) != "day,sum\n2026-03-02,7\n" || f.MediaType != "text/csv" || errors.Join(err, in.Close()) != nil {
				w.Errorf("%q %+v %v", content, f, err)
			}
		}
		for _, ask := range [][2]string{{monday, "other.csv"}, {monday + "0", "sales.csv"}, {"reminder:x:y:z:default:2026-03-02:1", "sales.csv"}} {
			if _, _, err := w.reports.OpenFile(w.ctx, "", ask[0], ask[1]); !errors.Is(err, storage.ErrNotFound) {
				w.Error(ask, err)
			}
		}
		w.clk.Add(2 * 24 * time.Hour)
		w.collect()
		if _, _, err := w.reports.OpenFile(w.ctx, "", monday, "sales.csv"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
	})
}

func (w *world) collect() {
	w.Helper()
	if _, err := w.store.Blobs().Collect(w.ctx, 1000); err != nil {
		w.Fatal(err)
	}
}

// A report that is empty is an outcome with a reason, or is sent: the subscription
// says which.
func TestAnEmptyReportIsSkippedOrSent(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.build = func(context.Context, report.Run) (report.Report, error) {
			return report.Report{Empty: true, Summary: "no sales"}, nil
		}
		w.create(weekly(nil))
		w.create(weekly(func(s *report.Subscription) { s.GUID, s.Name, s.Delivery.SendEmpty = "g-2", "Empty", true }))
		if diff := cmp.Diff([]string{"sam@example.com: Empty of 2026-03-02"}, subjects(w.pollAt(at(3, 2, 9, 0)))); diff != "" {
			w.Error(diff)
		}
		want := []string{"scheduled:2026-03-09T09:00:00Z Pending", "scheduled:2026-03-02T09:00:00Z Deactivated ReportEmpty"}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		skipped := w.run(monday)
		if d := skipped.Delivery; d.Path != notify.PathSkipped || d.SkippedReason != "ReportEmpty" || d.Summary != "no sales" || skipped.Failures != 0 {
			w.Errorf("%+v", skipped.RunState)
		}
	})
}

// Whom a run is for is asked before it is built.
func TestAReportForNobodyIsNotBuilt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		for n, want := range map[int]string{0: "Deactivated NoRecipients", 600: "Completed"} {
			scope := automation.Scope(fmt.Sprint("tenant-", n))
			w := newWorld(t, store, clk, func(sales *report.Type) {
				sales.Name = fmt.Sprint("sales-", n)
				sales.Recipients = func(_ context.Context, run report.Run) (to []notify.Recipient, err error) {
					for i := range n {
						to = append(to, notify.Recipient{Ref: fmt.Sprint(i), Channel: "email:print", Address: fmt.Sprintf("p%d@example.com", i)})
					}
					return to, nil
				}
			})
			clk.Set(storetest.Start)
			w.create(weekly(func(s *report.Subscription) { s.Scope, s.Type, s.Recipients = scope, fmt.Sprint("sales-", n), nil }))
			sent := w.pollAt(at(3, 2, 9, 0))
			all, _, err := w.reports.Runs(w.ctx, scope, "g-1", storage.Page{})
			if err != nil || len(all) != 2 || (all[1].Status + " " + string(all[1].Reason))[:len(want)] != want || len(sent) != n || (len(w.built) > 0) != (n > 0) {
				w.Errorf("%d: %+v %v, sent %d, built %d", n, all, err, len(sent), len(w.built))
			}
			if (n > 500) != (all[1].Delivery.MessagingJob != "") {
				w.Errorf("%d recipients: %+v", n, all[1].Delivery)
			}
		}
	})
}

// A message that failed asks whether its subscription is still there.
func TestAMessageThatFailedIsAskedAboutAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		for i, end := range []func(guid string) error{
			func(guid string) error { return w.reports.Delete(w.ctx, "", guid, support) },
			func(guid string) error { return w.reports.Deactivate(w.ctx, "", guid, support) },
			func(guid string) error { return w.reports.Pause(w.ctx, "", guid, support) },
		} {
			for _, bulk := range []bool{false, true} {
				guid := fmt.Sprint("g-", i, bulk)
				w.create(weekly(func(s *report.Subscription) { s.GUID, s.Name, s.Delivery.Bulk = guid, guid, bulk }))
				asked, err := w.reports.RunNow(w.ctx, "", guid, "", support)
				w.must(err)
				w.refuse = errors.New("try later")
				w.pollAt(time.Time{})
				w.must(end(guid))
				w.refuse = nil
				w.clk.Add(time.Hour)
				sent := len(w.pollAt(time.Time{}))
				messages, _, err := w.reports.Messages(w.ctx, "", asked.Key, storage.Page{})
				if err != nil || len(messages) != 1 {
					w.Fatal(messages, err)
				}
				skipped := messages[0].Status == notify.StatusSkipped
				if wanted := i == 2; skipped == wanted || (sent == 0) != skipped {
					w.Errorf("%s: %+v, sent %d", guid, messages[0], sent)
				}
			}
		}
	})
}
