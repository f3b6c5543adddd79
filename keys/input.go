package keys

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// inputFormat is the first field of every InputHash. It changes with the list
// of fields, so that hashes of two formats never agree by accident.
const inputFormat = "belfry-input-1"

// Input is what makes one piece of due work what it is. Its hash is stored
// beside the key: another hash under the same key is a conflict
// (Automation & Reminders, "Ensure semantics"), and another hash at due time
// means that the source changed (ibid., "Execution-time revalidation").
//
// It has no field for anything that may change under the same key: the time
// of sending, zone, template, channel, recipients, display text. Fields that
// the trigger does not use stay empty. Dates and decimals are hashed as they
// are given, so callers give the canonical spelling, as in the key.
type Input struct {
	BusinessUnit string
	SourceType   string
	Source       string
	Setting      string
	TriggerType  string
	TriggerKey   string

	TargetDate string // 2006-01-02
	OffsetDays int    // days before TargetDate; negative: after it

	Metric     string
	Comparison string
	Threshold  string // see Decimal
	Policy     FiringPolicy
	Scope      string

	// Identity holds what the provider declares as part of the identity. An
	// entry with an empty value differs from no entry; nil and an empty map
	// are the same.
	Identity map[string]string
}

// Hash is the InputHash: SHA-256 over the length-prefixed fields (see [Sum])
// behind a format version, in 64 lower-case hex digits. The order of the map
// does not matter. Different inputs have different messages.
func (in Input) Hash() string {
	fields := []string{
		inputFormat,
		in.BusinessUnit, in.SourceType, in.Source, in.Setting, in.TriggerType, in.TriggerKey,
		in.TargetDate, strconv.Itoa(in.OffsetDays),
		in.Metric, in.Comparison, in.Threshold, string(in.Policy), in.Scope,
	}
	if len(in.Identity) > 0 { // most have none
		for _, name := range slices.Sorted(maps.Keys(in.Identity)) {
			fields = append(fields, name, in.Identity[name])
		}
	}
	sum := Sum(fields...)
	text := make([]byte, 0, 2*len(sum)) // on the stack
	return string(hex.AppendEncode(text, sum[:]))
}
