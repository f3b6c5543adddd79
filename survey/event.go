package survey

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// The paths of an event that are no part of its payload (Triggers & Scheduler,
// "Step 3 — building the evaluation context").
const (
	templatePath  = "templateId"
	addressPath   = "recipient.address"
	localePath    = "recipient.locale"
	customerPath  = "recipient.customerRef"
	candidatePath = "candidate."
)

// event is an item that can be ingested.
type event struct {
	Recipient
	payload    json.RawMessage // as it is stored
	occurredOn time.Time       // zero: now
	// values by path are what filters look at: texts, numbers as they are written,
	// booleans, nil and arrays. templatePath is the survey's in question.
	values map[string]any
	// objects are the paths at which there is no value but further paths.
	objects map[string]bool
}

// newEvent takes an item apart. The error says what is wrong with it, and never
// holds a value, which may be personal.
func newEvent(item *Item) (*event, error) {
	if err := item.Recipient.check(); err != nil {
		return nil, err
	}
	on := storage.Time(item.OccurredOn)
	if !on.IsZero() && (on.Year() < 1970 || on.Year() > 9000) {
		return nil, fmt.Errorf("occurredOn: the year %d is none of 1970 to 9000", on.Year())
	}
	values, objects, err := flatten(item.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	payload, err := json.Marshal(item.Payload) // escapes some characters
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if len(payload) > maxMetadata {
		return nil, fmt.Errorf("payload: %d bytes as it is stored, more than %d", len(payload), maxMetadata)
	}
	values[addressPath], values[localePath], values[customerPath] = item.Recipient.Address, item.Recipient.Locale, item.Recipient.CustomerRef
	return &event{Recipient: item.Recipient, payload: payload, occurredOn: on, values: values, objects: objects}, nil
}

func (r *Recipient) check() error {
	if strings.TrimSpace(r.Address) == "" {
		return fmt.Errorf("%s: is empty", addressPath)
	}
	for _, f := range []struct {
		path, value string
		most        int
	}{
		{addressPath, r.Address, 320}, {localePath, r.Locale, 64}, {customerPath, r.CustomerRef, keys.MaxPartLen},
	} {
		switch {
		case len(f.value) > f.most:
			return fmt.Errorf("%s: has %d bytes, more than %d", f.path, len(f.value), f.most)
		case !utf8.ValidString(f.value):
			return fmt.Errorf("%s: is not valid UTF-8", f.path)
		case strings.ContainsFunc(f.value, unicode.IsControl):
			return fmt.Errorf("%s: holds a control character", f.path)
		}
	}
	return nil
}

// hash is that of the recipe over the event.
func (e *event) hash(recipe []string) (string, error) {
	slots := make([]keys.RecipeSlot, len(recipe))
	for i, path := range recipe {
		value, err := e.text(path)
		if err != nil {
			return "", fmt.Errorf("dedupRecipe: %s: %w", path, err)
		}
		slots[i] = keys.RecipeSlot{Path: path, Value: value}
	}
	return keys.RecipeHash(slots...)
}

// text is the value at a path as a recipe takes it: empty where there is none.
func (e *event) text(path string) (string, error) {
	if e.objects[path] {
		return "", errObject
	}
	switch v := e.values[path].(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		return "", errArray
	}
	return "", nil
}
