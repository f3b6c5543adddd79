// Package report runs the reports of subscriptions: built in a cadence
// or at once, and delivered to whom the subscription names (Report Subscription).
//
// It is a thin path over package automation. A [Subscription] is a row of its own;
// of its runs only the next one exists ahead, as due work under the key
// "report-subscription:{guid}:scheduled:{moment in UTC}", and the due pass makes
// the one behind it when that ends, whatever became of it. When a run is due its
// subscription is loaded again, so that template, recipients and delivery are
// those of that moment; the [Builder] of its type makes the files, which are
// streamed into blobs; and the messages go the way of all others through package
// notify, under identities that follow from the key.
//
//	reports := report.New(store, reminders, out, nil)
//	reports.Register(report.Type{Name: "weekly-sales", Builder: sales, Template: mail})
//	sub, err := reports.Create(ctx, report.Subscription{Type: "weekly-sales", ...})
//
// A run is handled under a lease that is renewed for as long as the builder works;
// the builder's context ends when the lease is lost. Failures are tried again after
// 5 minutes, 15 minutes and an hour; types that are LongRunning once a day from
// then on, seven times; then the run waits for a person, and the next one of its
// series runs all the same. Completed means that delivery is queued.
package report
