package survey

import "github.com/belfry-go/belfry/internal/filter"

// Filter is a condition on the values of an event or of a response.
type Filter = filter.Filter
