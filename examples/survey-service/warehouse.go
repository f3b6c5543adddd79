package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/belfry-go/belfry/survey"
)

const warehouseFolder = "warehouse"

// warehouse keeps every response for the analysts. It is there when its folder is:
// without it each call fails.
type warehouse struct {
	dir   string
	tell  say
	calls atomic.Int64
}

// Key is its name in the survey's routing.
func (w *warehouse) Key() string { return "warehouse" }

// Dispatch writes the response into a file of its own, so that a repetition changes
// nothing.
func (w *warehouse) Dispatch(_ context.Context, e survey.ResponseCompleted) error {
	w.calls.Add(1)
	row, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.dir, e.InstancePublicID+".json"), row, 0o600); err != nil {
		return err
	}
	w.tell("the response of %s is in the warehouse", e.CustomerRef)
	return nil
}
