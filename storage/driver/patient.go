package driver

import "context"

type patientKey struct{}

// Patient marks what is done with the context as work that others may go ahead of,
// where an adapter has fewer connections than are asked for: the messages of a tenant
// that floods a lane. It is served all the same, only later.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patientKey{}, true) }

// IsPatient reports whether a context is [Patient]'s. Adapters ask.
func IsPatient(ctx context.Context) bool { return ctx.Value(patientKey{}) != nil }
