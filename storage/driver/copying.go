package driver

import "sync"

// copying are the schemas that Copying has made.
var copying sync.Map // *Schema to *Schema

// Copying is s for Insert of rows of another store: they keep their version, so that a form
// that was filled in with a row there does not overwrite a later one, and the audit goes on
// behind its entries. They get an id of their own.
func Copying(s *Schema) *Schema {
	if made, ok := copying.Load(s); ok {
		return made.(*Schema)
	}
	made := *s
	made.Whole, made.Versioned = s, true
	stored, _ := copying.LoadOrStore(s, &made)
	return stored.(*Schema)
}
