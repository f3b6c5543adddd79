package automation

import (
	"context"
	"fmt"
)

// settings loads the settings with those ids, in their order. Without a source
// every setting is active.
func (s *Scheduler) settings(ctx context.Context, scope Scope, ids []string) ([]Setting, error) {
	out := make([]Setting, len(ids))
	if batch, ok := s.opts.Settings.(BatchSettingsSource); ok && len(ids) > 0 {
		loaded, err := batch.Settings(ctx, scope, ids)
		if err == nil && len(loaded) != len(ids) {
			err = fmt.Errorf("%d answers for %d ids", len(loaded), len(ids))
		}
		if err != nil {
			return nil, fmt.Errorf("automation: settings: %w", err)
		}
		copy(out, loaded)
		return named(out, ids), nil
	}
	for i, id := range ids {
		out[i] = Setting{Active: true}
		if s.opts.Settings == nil {
			continue
		}
		loaded, err := s.opts.Settings.Setting(ctx, scope, id)
		if err != nil {
			return nil, fmt.Errorf("automation: setting %.40q: %w", id, err)
		}
		out[i] = loaded
	}
	return named(out, ids), nil
}

// named fills in what the host left out.
func named(settings []Setting, ids []string) []Setting {
	for i := range settings {
		settings[i].ID = ids[i]
	}
	return settings
}
