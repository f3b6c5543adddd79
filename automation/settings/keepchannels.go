package settings

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// KeepChannels is an automation.DeliveryPolicyFunc: it leaves to recipients the
// channels that the setting of the due row lists. A setting that lists none
// leaves all; inboxes stay.
func KeepChannels(_ context.Context, d automation.Due, to []notify.Recipient) ([]notify.Recipient, error) {
	setting, ok := Of(d)
	if !ok || len(setting.Channels) == 0 {
		return to, nil
	}
	var kept []notify.Recipient
	for _, r := range to {
		if !slices.Contains(setting.Channels, r.Channel) {
			r.Channel, r.Address = "", ""
		}
		if r.Channel != "" || r.Inbox != "" {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

var _ automation.DeliveryPolicy = automation.DeliveryPolicyFunc(KeepChannels)
