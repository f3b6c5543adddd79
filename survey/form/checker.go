package form

import (
	"fmt"
	"github.com/belfry-go/belfry/internal/strictjson"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fault is one thing in a definition that is wrong, or allowed and probably not meant.
type Fault struct {
	// Path is where in the JSON, such as "triggers[0].schedule.initialDelay"; empty:
	// the definition as a whole.
	Path    string
	Problem string
}

func (f Fault) String() string { return strictjson.Fault(f).String() }

// DefinitionError lists every fault of a definition that was not published, the first
// hundred. Those of a [Version] itself have the name of its field as their path, such
// as "SurveyID".
type DefinitionError struct {
	Faults []Fault // at least one
}

func (e *DefinitionError) Error() string {
	const most = 10
	texts := make([]string, 0, most+1)
	for _, f := range e.Faults[:min(most, len(e.Faults))] {
		texts = append(texts, f.String())
	}
	if more := len(e.Faults) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "survey: definition: " + strings.Join(texts, "; ")
}

// definitionError is nil if nothing is wrong.
func definitionError(found strictjson.Faults) error {
	if len(found) == 0 {
		return nil
	}
	return &DefinitionError{faultsOf(found)}
}

func faultsOf(found strictjson.Faults) []Fault {
	var out []Fault
	for _, f := range found {
		out = append(out, Fault(f))
	}
	return out
}

// Bounds of a definition beside its size in bytes. The JSON Schema has the same.
const (
	maxQuestions   = 200
	maxOptions     = 200
	maxRanked      = 20 // options of a ranking
	MaxTriggers    = 50
	maxRecipe      = 20
	maxReminders   = 20
	maxSubscribers = 20
	maxDimensions  = 10
	maxLocales     = 50
	maxName        = 200    // characters
	maxLine        = 1000   // characters of a label or a subject
	maxProse       = 10_000 // characters of a help, an intro, a template
	maxAnswer      = 4000   // characters of a text answer
	maxScale       = 100    // steps of a rating
	maxGridScale   = 11     // steps of a grid
	maxRows        = 30     // of a grid
)

// checker looks for what is wrong with a definition that has been read.
type checker struct {
	faults strictjson.Faults
	told   map[string]bool // paths whose value could not be read
}

func newChecker(faults strictjson.Faults) *checker {
	c := &checker{faults: faults, told: map[string]bool{}}
	for _, f := range faults {
		c.told[f.Path] = true
	}
	return c
}

// add adds a fault, unless it follows from that the value could not be read.
func (c *checker) add(path, format string, args ...any) {
	if !c.told[path] {
		c.faults.Add(path, format, args...)
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// id checks what the authors call a question or a trigger by.
func (c *checker) id(path, id string) {
	if !identifier.MatchString(id) {
		c.add(path, "%.40q is not an id: 1 to 100 of A-Z a-z 0-9 _ . -, the first a letter or digit", id)
	}
}

// line checks a text without line breaks.
func (c *checker) line(path, text string, limit int) {
	if text == "" {
		c.add(path, "is empty")
		return
	}
	c.characters(path, text, limit, "")
}

// characters checks how long a text is, and that the only control characters in it
// are those allowed.
func (c *checker) characters(path, text string, limit int, allowed string) {
	if n := utf8.RuneCountInString(text); n > limit {
		c.add(path, "has %d characters, more than %d", n, limit)
	}
	if !utf8.ValidString(text) {
		c.add(path, "is not valid UTF-8")
	}
	for _, r := range text {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			c.add(path, "holds the control character %U", r)
			return
		}
	}
}

// CheckName says what is wrong with a name beside a definition: a line of text at most
// as long as those in a definition.
func CheckName(path, text string) []Fault {
	c := newChecker(nil)
	c.characters(path, text, maxName, "")
	return faultsOf(c.faults)
}

// length checks how many elements a list has.
func (c *checker) length(path string, n, limit int) {
	if n > limit {
		c.add(path, "has %d elements, more than %d", n, limit)
	}
}

// once checks that a list says nothing twice; what is empty is another fault.
type once struct {
	*checker
	first map[string]string // path by what is said
}

func (c *checker) once() once { return once{c, map[string]string{}} }

func (o once) say(path, text string) {
	before, twice := o.first[text]
	switch {
	case text == "":
	case twice:
		o.add(path, "is the same as %s", before)
	default:
		o.first[text] = path
	}
}
