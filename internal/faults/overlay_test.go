package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable is where a process finds the number of its fault; none or 0 is none.
const variable = "BELFRY_FAULT"

const (
	modulePath = "github.com/belfry-go/belfry/"
	chosenPath = modulePath + "internal/faults/chosen"
	chosenFile = "internal/faults/chosen/chosen.go"
)

// chosen is a package that is in the overlay only: it knows the chosen fault.
const chosen = `package chosen

import (
	"os"
	"strconv"
)

var Fault, _ = strconv.Atoi(os.Getenv("` + variable + `"))

// Of is for the value of a variable.
func Of[T any](fault int, faulty, right T) T {
	if Fault == fault {
		return faulty
	}
	return right
}
`

// laid are the sources that have faults with all of these in them, numbered from 1, by
// their names below root. The function with a fault calls a faulty copy of itself where
// that fault is chosen.
func laid(m *module, faults []fault) (map[string][]byte, error) {
	edits := map[*source][]edit{}
	for i, f := range faults {
		p, err := m.find(f)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		edits[p.file] = append(edits[p.file], p.edits(f, i+1)...)
	}
	out := map[string][]byte{chosenFile: []byte(chosen)}
	for s, all := range edits {
		imports := edit{at: s.offset(s.tree.Name.End()), text: `; import belfryChosen "` + chosenPath + `"`}
		out[s.path] = apply(s.text, append(all, imports))
	}
	return out, nil
}

// overlay writes, below dir, a go build overlay with all faults in it, and gives the
// name of its list.
func overlay(m *module, faults []fault, dir string) (string, error) {
	sources, err := laid(m, faults)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, content := range sources {
		original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[original] = copied
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			return "", err
		}
	}
	list := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return list, os.WriteFile(list, text, 0o600)
}

// edit puts a text where a file has some bytes, or none.
type edit struct {
	at, size int
	text     string
}

// apply makes edits, of which those that are equal are made once.
func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	done := 0
	for i, e := range edits {
		if i > 0 && e == edits[i-1] {
			continue
		}
		out.Write(text[done:e.at])
		out.WriteString(e.text)
		done = e.at + e.size
	}
	out.Write(text[done:])
	return out.Bytes()
}

// edits give a variable one of two values, or put the faulty copy of p's function behind it and a call of the copy at
// its beginning. The copy is a function of its own and no block within the first, so
// that its labels, its results and what it declares mean what they did.
func (p place) edits(f fault, number int) []edit {
	body := p.body()
	body = body[:p.at] + f.New + body[p.end:]
	if p.decl == nil {
		return []edit{
			{at: p.from, text: fmt.Sprintf("belfryChosen.Of(%d, %s, ", number, body)},
			{at: p.to, text: fmt.Sprintf("/*%d*/)", number)},
		}
	}
	name := fmt.Sprintf("belfryFault%d", number)
	signature, call := p.signature()
	line := p.file.fset.Position(p.decl.Body.Lbrace).Line

	invoke := fmt.Sprintf(call, name)
	if p.decl.Type.Results == nil {
		invoke += "; return"
	} else {
		invoke = "return " + invoke
	}
	original := p.file.offset(p.decl.Pos())
	before := string(p.file.text[original:p.file.offset(p.decl.Name.Pos())])
	after := string(p.file.text[p.file.offset(p.decl.Name.End()):p.from])
	copied := fmt.Sprintf("\n//line fault_%s:1\n%s%s%s%s}\n", strings.ReplaceAll(f.Name, " ", "_"),
		before, name, after, body)
	return append(signature,
		edit{at: p.from, text: fmt.Sprintf(" if belfryChosen.Fault == %d { %s };", number, invoke)},
		edit{at: p.to + 1, text: copied + fmt.Sprintf("//line %s:%d\n", filepath.Base(p.file.path), line)})
}

// signature names what the function's signature leaves without a name, and gives
// the call that hands it all on, with a %s for the name of who is called.
func (p place) signature() (edits []edit, call string) {
	number := 0
	name := func(field *ast.Field) []string {
		if len(field.Names) == 0 {
			number++
			given := fmt.Sprintf("belfryArgument%d", number)
			edits = append(edits, edit{at: p.file.offset(field.Pos()), text: given + " "})
			return []string{given}
		}
		var names []string
		for _, ident := range field.Names {
			given := ident.Name
			if given == "_" {
				number++
				given = fmt.Sprintf("belfryArgument%d", number)
				edits = append(edits, edit{at: p.file.offset(ident.Pos()), size: 1, text: given})
			}
			names = append(names, given)
		}
		return names
	}
	call = "%s"
	if p.decl.Recv != nil {
		call = name(p.decl.Recv.List[0])[0] + ".%s"
	}
	if types := p.decl.Type.TypeParams; types != nil {
		var names []string
		for _, field := range types.List {
			for _, ident := range field.Names {
				names = append(names, ident.Name)
			}
		}
		call += "[" + strings.Join(names, ", ") + "]"
	}
	var arguments []string
	for _, field := range p.decl.Type.Params.List {
		names := name(field)
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			names[len(names)-1] += "..."
		}
		arguments = append(arguments, names...)
	}
	return edits, call + "(" + strings.Join(arguments, ", ") + ")"
}
