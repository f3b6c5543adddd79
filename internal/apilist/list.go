package main

import (
	"fmt"
	"go/types"
	"strings"
)

// list describes the exported names of p, sorted, one line each. A type is
// followed by its exported fields and methods.
func list(p *types.Package) []string {
	l := lister{pkg: p}
	scope := p.Scope()
	for _, name := range scope.Names() { // sorted
		if object := scope.Lookup(name); object.Exported() {
			l.object(object)
		}
	}
	return l.lines
}

// lister collects the lines of one package.
type lister struct {
	pkg   *types.Package
	lines []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, l.pkg.Path()+": "+fmt.Sprintf(format, args...))
}

// text writes a type with its package's name, or none for the package's own.
func (l *lister) text(t types.Type) string {
	return types.TypeString(t, l.qualify)
}

func (l *lister) qualify(p *types.Package) string {
	if p == l.pkg {
		return ""
	}
	return p.Name()
}

func (l *lister) object(object types.Object) {
	switch o := object.(type) {
	case *types.Const:
		l.add("const %s %s = %s", o.Name(), l.text(o.Type()), o.Val().ExactString())
	case *types.TypeName:
		l.typeName(o)
	default: // var and func
		l.add("%s", types.ObjectString(o, l.qualify))
	}
}

func (l *lister) typeName(o *types.TypeName) {
	named, isNamed := o.Type().(*types.Named)
	if o.IsAlias() || !isNamed {
		l.add("%s", types.ObjectString(o, l.qualify))
		return
	}
	head := "type " + l.text(named)
	switch u := named.Underlying().(type) {
	case *types.Struct:
		l.add("%s struct", head)
		l.fields(o.Name(), u)
	case *types.Interface:
		l.add("%s interface%s", head, sealed(u))
		l.interfaceParts(o.Name(), u)
		return
	default:
		l.add("%s %s", head, l.text(u))
	}
	l.methods(named)
}

func (l *lister) fields(owner string, s *types.Struct) {
	for f := range s.Fields() {
		if !f.Exported() {
			continue
		}
		kind := "field"
		if f.Embedded() {
			kind = "embedded"
		}
		l.add("type %s, %s %s %s", owner, kind, f.Name(), l.text(f.Type()))
	}
}

// sealed says that no type outside the package satisfies an interface.
func sealed(i *types.Interface) string {
	for m := range i.Methods() {
		if !m.Exported() {
			return ", sealed"
		}
	}
	return ""
}

func (l *lister) interfaceParts(owner string, i *types.Interface) {
	for t := range i.EmbeddedTypes() {
		l.add("type %s, embedded %s", owner, l.text(t))
	}
	for m := range i.ExplicitMethods() {
		if m.Exported() {
			l.add("type %s, method %s%s", owner, m.Name(), l.signature(m))
		}
	}
}

// methods lists the method set of *t, what embedding promotes included.
func (l *lister) methods(t *types.Named) {
	for selection := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		m := selection.Obj().(*types.Func)
		if !m.Exported() {
			continue
		}
		receiver := t.Obj().Name()
		if needsPointer(t, m) {
			receiver = "*" + receiver
		}
		l.add("method (%s) %s%s", receiver, m.Name(), l.signature(m))
	}
}

// needsPointer tells whether only *t, and not t, has the method.
func needsPointer(t *types.Named, m *types.Func) bool {
	return types.NewMethodSet(t).Lookup(m.Pkg(), m.Name()) == nil
}

func (l *lister) signature(m *types.Func) string {
	return strings.TrimPrefix(l.text(m.Type()), "func")
}
