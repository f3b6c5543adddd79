package driver_test

import (
	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
)

// Hosts give the clocks of benbjohnson as they are.
var (
	_ driver.Clock = clock.New()
	_ driver.Clock = clock.NewMock()
)
