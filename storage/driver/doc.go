// Package driver is the contract between Belfry's domains and a database:
// one mechanism for every table whose rows become due, are claimed by one
// worker at a time, and are written back only by the one that still holds them.
//
// A domain describes a table with a struct that embeds [Record], or [Due] where rows
// are due at times, and one call
// of [Define]; an adapter (storage/memory, storage/sqlite, storage/postgres)
// moves such rows with the verbs of [Tx] and knows nothing of their meaning.
// [Table] is the typed front over those verbs; validation, ordering and the
// Ensure algorithm live there, once.
//
// All times are UTC and whole microseconds; a zero time.Time is NULL. Storage
// never asks a database for the time: it is told.
package driver
