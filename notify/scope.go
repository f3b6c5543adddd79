package notify

import "github.com/belfry-go/belfry/storage"

// Scope is the tenant that a row belongs to; see [storage.Scope].
type Scope = storage.Scope
