package survey

import (
	"encoding/json"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// Validate says everything that is wrong with a definition, as a [*DefinitionError],
// or else what is allowed and probably not meant. It needs no store: editors and the
// checks of a repository call it. [Service.Publish] refuses what it refuses.
//
// The JSON is strict: members that are unknown or there twice, null, and text behind
// the definition are faults. Numbers are exact.
func Validate(definition json.RawMessage) (warnings []Fault, err error) {
	d, faults := readDefinition(definition)
	if err := definitionError(faults); err != nil {
		return nil, err
	}
	return d.warnings(), nil
}

// readDefinition reads a definition and lists what is wrong with it.
func readDefinition(text json.RawMessage) (Definition, strictjson.Faults) {
	var d Definition
	var faults strictjson.Faults
	if n := len(text); n > 4*maxDefinition { // however much of it is space
		faults.Add("", "has %d bytes, more than %d", n, 4*maxDefinition)
		return d, faults
	}
	faults = strictjson.Decode(text, &d)
	c := newChecker(faults)
	if c.told[""] {
		return d, faults
	}
	if n := len(storedDefinition(text)); n > maxDefinition {
		c.add("", "takes %d bytes when it is stored, more than %d", n, maxDefinition)
	}
	c.characters("$schema", d.Schema, maxLine, "")
	c.text("title", d.Title, maxLine, "")
	c.text("intro", d.Intro, maxProse, lineBreaks)
	c.text("thanks", d.Thanks, maxProse, lineBreaks)
	c.questions(d.Questions)
	c.triggers(&d)
	c.messages(d.Messages)
	return d, c.faults
}

// storedDefinition is the text of a definition as every store keeps it: without
// spaces.
func storedDefinition(text json.RawMessage) json.RawMessage {
	stored, err := json.Marshal(text)
	if err != nil {
		panic(err) // it has been read
	}
	return stored
}
