package survey

import "github.com/belfry-go/belfry/storage"

// Scope keeps tenants apart; the empty one is that of a host with a single tenant.
type Scope = storage.Scope
