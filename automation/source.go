package automation

// Source is the entity that due work is about: its kind and its id in the
// host's own words, such as "employee" and "4711". Neither may be empty or hold
// a colon or a control character.
type Source struct {
	Type, ID string
}
