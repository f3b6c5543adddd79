package notify

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Audience is a stream of recipients, read once by [Campaigns.PutAudience]. Make
// one with [AudienceOf], [AudienceCSV] or [AudienceRows].
type Audience struct{ entries iter.Seq[entry] }

// entry is one recipient of a stream, or what is wrong with it.
type entry struct {
	line  int
	to    Recipient
	fault error // of this line; the stream goes on
	err   error // of the stream, which ends
}

// AudienceOf is an audience from an iterator. An error that the iterator yields
// ends the stream, unless it is an [AudienceFault]: then it is listed with the
// others, under its own line if it has one. Recipients are counted from 1.
func AudienceOf(seq iter.Seq2[Recipient, error]) Audience {
	return Audience{func(yield func(entry) bool) {
		line := 0
		for r, err := range seq {
			line++
			e := entry{line: line, to: r, err: err}
			var fault AudienceFault
			if errors.As(err, &fault) {
				e.line, e.fault, e.err = cmp.Or(fault.Line, line), errors.New(fault.Problem), nil
			}
			if !yield(e) || e.err != nil {
				return
			}
		}
	}}
}

// Rows is the answer to a query of the host's: a *sql.Rows is one.
type Rows interface {
	Next() bool
	Err() error
	Close() error
}

// AudienceRows is an audience from the rows of a query; scan makes a recipient of
// the present row. Give the query an ORDER BY that is total: another order is
// another payload, and so a conflict in a retry. The rows are closed at the end.
func AudienceRows(rows Rows, scan func() (Recipient, error)) Audience {
	return AudienceOf(func(yield func(Recipient, error) bool) {
		defer func() { _ = rows.Close() }() // Err has said what there was to say
		for rows.Next() {
			if !yield(scan()) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Recipient{}, err)
		}
	})
}

// maxFaults is how many faults of an audience are listed; more are only counted.
const maxFaults = 100

// AudienceFault is what is wrong with one recipient of an audience. It never
// holds an address or a name.
type AudienceFault struct {
	// Line is the line of a CSV file at which the record begins, or counts the
	// recipients of an iterator, from 1.
	Line int
	// Problem is for people; of a recipient who is kept and skipped it is the
	// reason code.
	Problem string
}

func (f AudienceFault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Problem) }

// AudienceError refuses an audience: nothing of it was stored.
type AudienceError struct {
	Faults []AudienceFault // the first 100
	Count  int             // of all
}

func (e *AudienceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "notify: audience refused: %d faults", e.Count)
	for _, f := range e.Faults {
		b.WriteString("\n" + f.Error())
	}
	if more := e.Count - len(e.Faults); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// faultList collects faults up to the cap.
type faultList struct {
	first []AudienceFault
	count int
}

func (l *faultList) add(line int, problem string) {
	l.count++
	if len(l.first) < maxFaults {
		l.first = append(l.first, AudienceFault{line, problem})
	}
}

// CSVColumns says in which column of a file the parts of a recipient are, by its
// header. An empty field means that there is none. Columns that are not named
// here become the recipient's Data under their header, unless Ignore has them.
type CSVColumns struct {
	Ref, Channel, Address, Name, Locale, Zone, Inbox string
	Ignore                                           []string
	// Comma separates fields; zero means ','.
	Comma rune
}

// AudienceCSV is an audience from a file whose first record is a header, in UTF-8. A byte
// order mark is passed over, and so are blanks around values, empty rows, empty columns at
// the end, and a first line that says what separates fields ("sep=;"), as spreadsheets
// write them. Every record that cannot be read is listed with its
// line; a column that is missing ends the stream, and so does a record, or a header, of
// more than 64 KiB: one quote that nothing closes would take the whole file.
func AudienceCSV(r io.Reader, columns CSVColumns) Audience {
	return Audience{func(yield func(entry) bool) {
		c := newCSVReader(r, columns)
		fields, err := c.header(columns)
		if err != nil {
			yield(entry{line: 1, err: err})
			return
		}
		for {
			record, err := c.next()
			if err == io.EOF {
				return
			}
			if err == nil && !slices.ContainsFunc(record, hasText) {
				continue
			}
			if e := c.entry(record, fields, err); !yield(e) || e.err != nil {
				return
			}
		}
	}}
}

// maxRecord bounds what is read for one record, which may have as many fields as bytes.
const maxRecord = 64 << 10

var errLongRecord = fmt.Errorf("a record has more than %d KiB; is a quote not closed?", maxRecord>>10)

// bounded is a reader that gives no more than so many bytes for what is read next.
type bounded struct {
	io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongRecord
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

type csvReader struct {
	*csv.Reader
	source *bounded
	before int   // lines before the header
	bad    error // what the file is, if it is not text
}

// errUTF16 is what spreadsheets call Unicode text.
var errUTF16 = errors.New("the file is UTF-16; save it as CSV in UTF-8")

// hasText reports whether a field holds more than blanks.
func hasText(field string) bool { return strings.TrimSpace(field) != "" }

// next reads a record. What was read ahead for it counts for the one before.
func (c csvReader) next() ([]string, error) {
	c.source.left = maxRecord
	return c.Read()
}

func newCSVReader(r io.Reader, columns CSVColumns) csvReader {
	source := &bounded{Reader: r, left: maxRecord}
	buffered := bufio.NewReader(source)
	out := csvReader{source: source}
	mark, _ := buffered.Peek(3) // less of a short file
	switch text := string(mark); {
	case text == "\ufeff":
		_, _ = buffered.Discard(3) // it was peeked
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		out.bad = errUTF16
	}
	comma := columns.Comma
	if said := separator(buffered); said != 0 {
		comma, out.before = said, 1
	}
	out.Reader = csv.NewReader(buffered)
	out.ReuseRecord = true
	if comma != 0 {
		out.Comma = comma
	}
	return out
}

// separator reads a first line that says what separates fields; zero: there is none.
func separator(r *bufio.Reader) rune {
	line, _ := r.Peek(len("sep=;\r\n")) // less of a short file
	text, found := strings.CutPrefix(string(line), "sep=")
	end := strings.IndexByte(text, '\n')
	if !found || end < 1 || strings.TrimRight(text[1:end], "\r") != "" {
		return 0
	}
	_, _ = r.Discard(len("sep=") + end + 1) // it was peeked
	return rune(text[0])
}

// errNoColumn is a value behind the columns that have a name.
var errNoColumn = errors.New("it has a value in a column without a name")

// csvField puts a value where its column belongs.
type csvField func(r *Recipient, value string)

// header assigns the columns.
func (c csvReader) header(columns CSVColumns) ([]csvField, error) {
	if c.bad != nil {
		return nil, fmt.Errorf("notify: CSV: %w", c.bad)
	}
	names, err := c.next()
	if err != nil {
		return nil, fmt.Errorf("notify: CSV: the header: %w", err)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	parts := columns.parts()
	fields := make([]csvField, len(names))
	seen := map[string]bool{}
	named := len(names)
	for named > 0 && names[named-1] == "" {
		named--
	}
	for i, name := range names[:named] {
		if name == "" || seen[name] {
			return nil, fmt.Errorf("notify: CSV: column %d has no name, or that of another one", i+1)
		}
		seen[name] = true
		fields[i] = parts[name]
		if fields[i] == nil {
			fields[i] = data(name, columns.Ignore)
		}
	}
	for name := range parts {
		if !seen[name] {
			return nil, fmt.Errorf("notify: CSV: there is no column %.40q", name)
		}
	}
	return fields, nil
}

func (c CSVColumns) parts() map[string]csvField {
	out := map[string]csvField{
		c.Ref:     func(r *Recipient, v string) { r.Ref = v },
		c.Channel: func(r *Recipient, v string) { r.Channel = v },
		c.Address: func(r *Recipient, v string) { r.Address = v },
		c.Name:    func(r *Recipient, v string) { r.Name = v },
		c.Locale:  func(r *Recipient, v string) { r.Locale = v },
		c.Zone:    func(r *Recipient, v string) { r.Zone = v },
		c.Inbox:   func(r *Recipient, v string) { r.Inbox = v },
	}
	delete(out, "") // what the file does not have
	return out
}

func data(name string, ignore []string) csvField {
	if slices.Contains(ignore, name) {
		return func(*Recipient, string) {}
	}
	return func(r *Recipient, value string) {
		if r.Data == nil {
			r.Data = map[string]string{}
		}
		r.Data[name] = value
	}
}

// entry is one record. The reader goes on behind one that has no form.
func (c csvReader) entry(record []string, fields []csvField, err error) entry {
	var malformed *csv.ParseError
	if errors.As(err, &malformed) {
		return entry{line: malformed.StartLine + c.before, fault: malformed.Err}
	}
	if err != nil {
		return entry{err: fmt.Errorf("notify: CSV: %w", err)}
	}
	line, _ := c.FieldPos(0)
	e := entry{line: line + c.before}
	for i, value := range record {
		value = strings.TrimSpace(value)
		switch {
		case fields[i] != nil:
			fields[i](&e.to, value)
		case value != "":
			e.fault = errNoColumn
		}
	}
	return e
}
