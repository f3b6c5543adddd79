package notify

import "log/slog"

// quiet drops what a test provokes.
var quiet = slog.New(slog.DiscardHandler)
