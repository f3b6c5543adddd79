package filter

import "github.com/belfry-go/belfry/internal/strictjson"

// UnmarshalJSON reads a filter. The error lists everything that is wrong, each with
// its path: members that are unknown or there twice, and what Validate refuses.
func (f *Filter) UnmarshalJSON(text []byte) error {
	var read Filter
	faults := strictjson.Decode(text, &read)
	if len(faults) == 0 {
		faults = read.Validate()
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*f = read
	return nil
}
