package notify

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
)

// CSVColumns says in which column of a file the parts of a recipient are, by its
// header. An empty field means that there is none. Columns that are not named
// here become the recipient's Data under their header, unless Ignore has them.
type CSVColumns struct {
	Ref, Channel, Address, Name, Locale, Zone, Inbox string
	Ignore                                           []string
	// Comma separates fields; zero means ','.
	Comma rune
}

// AudienceCSV is an audience from a file whose first record is a header. A byte
// order mark is passed over. Every record that cannot be read is listed with its
// line; a column that is missing ends the stream.
func AudienceCSV(r io.Reader, columns CSVColumns) Audience {
	return Audience{func(yield func(entry) bool) {
		c := newCSVReader(r, columns)
		fields, err := c.header(columns)
		if err != nil {
			yield(entry{line: 1, err: err})
			return
		}
		for {
			record, err := c.Read()
			if err == io.EOF {
				return
			}
			if e := c.entry(record, fields, err); !yield(e) || e.err != nil {
				return
			}
		}
	}}
}

type csvReader struct{ *csv.Reader }

func newCSVReader(r io.Reader, columns CSVColumns) csvReader {
	buffered := bufio.NewReader(r)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = buffered.Discard(3) // it was peeked
	}
	c := csv.NewReader(buffered)
	c.ReuseRecord = true
	if columns.Comma != 0 {
		c.Comma = columns.Comma
	}
	return csvReader{c}
}

// csvField puts a value where its column belongs.
type csvField func(r *Recipient, value string)

// header assigns the columns.
func (c csvReader) header(columns CSVColumns) ([]csvField, error) {
	names, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("notify: CSV: the header: %w", err)
	}
	parts := columns.parts()
	fields := make([]csvField, len(names))
	seen := map[string]bool{}
	for i, name := range names {
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
		return entry{line: malformed.StartLine, fault: malformed.Err}
	}
	if err != nil {
		return entry{err: fmt.Errorf("notify: CSV: %w", err)}
	}
	line, _ := c.FieldPos(0)
	e := entry{line: line}
	for i, value := range record {
		fields[i](&e.to, value)
	}
	return e
}
