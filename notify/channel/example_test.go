package channel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// A channel says what an error means for the message.
func ExampleTransient() {
	busy := channel.Transient("throttled", time.Minute, nil)
	fmt.Println(channel.Classify(fmt.Errorf("sms: %w", busy)).Class)
	fmt.Println(channel.Classify(errors.New("bad request")).Class)
	fmt.Println(channel.Classify(context.DeadlineExceeded).Class)
	// Output:
	// Transient
	// Transient
	// Unknown
}

// A channel says what was wrong, too.
func ExampleError_Blame() {
	revoked := channel.Transient("401", 0, nil).Blame(channel.FaultAccount)
	unknown := channel.Permanent("550 5.1.1", nil).Blame(channel.FaultAddress)
	fmt.Println(revoked.Fault, unknown.Fault)
	// Output:
	// Account Address
}
