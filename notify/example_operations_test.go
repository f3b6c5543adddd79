package notify_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// What docs/operations.md shows of a provider that was down.
func ExampleSupport_Pause() {
	ctx := context.Background()
	store, clk := newStore()
	out, outage := notify.New(store, nil), clk.Now().Add(-time.Hour)
	by := notify.By{Actor: "ann", Reason: "the provider was down"}
	{
		err := out.Support().Pause(ctx, notify.Extent{Everywhere: true, Channel: "email:sendgrid"}, time.Time{}, by)
		fmt.Println(err)
	}
	{
		failed := notify.Failures{Channel: "email:sendgrid", Reason: "503", Since: outage, Everywhere: true}
		report, err := out.Support().RetryFailed(ctx, "", failed, by, &notify.ActionOptions{DryRun: true})
		fmt.Println(report.Next == "", err)
	}
	{
		held := notify.HeldMessages{Channel: "email:sendgrid", Reason: "401", Everywhere: true}
		report, err := out.Support().ReleaseHeld(ctx, "", held, by, &notify.ActionOptions{DryRun: true})
		fmt.Println(report.Next == "", err)
	}
	// Output:
	// <nil>
	// true <nil>
	// true <nil>
}
