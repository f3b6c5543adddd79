package notify_test

import (
	"log/slog"

	"github.com/belfry-go/belfry/internal/work"
)

// quiet drops what a test provokes.
var quiet = slog.New(slog.DiscardHandler)

var workOptions = work.Options{Logger: quiet}
