package automation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

func (c Scan) withDefaults() *Scan {
	c.Batch, c.Every = cmp.Or(c.Batch, 200), cmp.Or(c.Every, time.Hour)
	c.Scopes, c.BusinessUnits = slices.Clone(c.Scopes), slices.Clone(c.BusinessUnits)
	return &c
}

// allows reports whether the scope is on the list.
func (c *Scan) allows(scope Scope) bool { return slices.Contains(c.Scopes, scope) }

func (c *Scan) check(triggers TriggerProvider) error {
	switch {
	case triggers == nil:
		return errors.New("a Scan without Triggers")
	case c.Read == nil:
		return errors.New("the Scan has no Read")
	case c.Window < 1 || c.Window > MaxScanWindow:
		return fmt.Errorf("the Scan's Window is %d days, not 1 to %d", c.Window, MaxScanWindow)
	case c.Batch < 0 || c.Batch > MaxScanBatch:
		return fmt.Errorf("the Scan's Batch is %d sources, not 1 to %d", c.Batch, MaxScanBatch)
	case c.Every != 0 && c.Every < MinScanEvery:
		return fmt.Errorf("the Scan's Every is %v, less than %v", c.Every, MinScanEvery)
	case len(c.Scopes) == 0:
		return errors.New("the Scan allows no Scopes")
	}
	if err := checkName(c.SourceType); err != nil {
		return fmt.Errorf("the Scan's SourceType: %w", err)
	}
	return c.checkAllowed()
}

// checkAllowed refuses allowlists that name what cannot exist.
func (c *Scan) checkAllowed() error {
	for i, scope := range c.Scopes {
		if field, err := checkTenancy(scope, ""); err != nil || slices.Contains(c.Scopes[:i], scope) {
			return errors.Join(fmt.Errorf("the Scan's %s %d is named twice or cannot be one", cmp.Or(field, "Scope"), i), err)
		}
	}
	for i, unit := range c.BusinessUnits {
		if _, err := checkTenancy("", unit); unit == "" || err != nil {
			return errors.Join(fmt.Errorf("the Scan's BusinessUnit %d cannot be one", i), err)
		}
	}
	return nil
}

// check refuses a page that leaves the bounds of what was asked for.
func (p ScanPage) check(c *Scan, r ScanRequest) error {
	if len(p.Sources) > r.Limit {
		return fmt.Errorf("a page of %d sources, more than the %d asked for", len(p.Sources), r.Limit)
	}
	if !p.Done {
		switch {
		case p.Next == "" || p.Next == r.After:
			return errors.New("the page is not Done, and its Next does not move on")
		case len(p.Next) > MaxCursor:
			return fmt.Errorf("a Next of %d bytes, more than %d", len(p.Next), MaxCursor)
		case !utf8.ValidString(p.Next) || strings.ContainsRune(p.Next, 0):
			return errors.New("a Next that is no text: NUL, or invalid UTF-8")
		}
	}
	seen := map[string]bool{}
	for i, source := range p.Sources {
		switch {
		case source.Source.Type != c.SourceType:
			return fmt.Errorf("source %d of the page is a %.40q, not a %.40q", i, source.Source.Type, c.SourceType)
		case seen[source.Source.ID]:
			return fmt.Errorf("source %d of the page was in it before", i)
		case source.Version < 0:
			return fmt.Errorf("source %d of the page has a negative Version", i)
		}
		if _, err := newSourceState(Event{Source: source.Source}); err != nil {
			return fmt.Errorf("source %d of the page: %w", i, err)
		}
		seen[source.Source.ID] = true
	}
	return nil
}
