package automation

import "context"

// remembered are the zones and business days that a batch of sources or rows has
// asked for: many of them are of one business unit. It is for one goroutine; nil
// remembers nothing.
type remembered struct {
	zones map[unit]string
	days  map[unitDay]Date
}

type unit struct {
	scope Scope
	id    string
}

type unitDay struct {
	unit
	kind string // the reminder type
	day  Date
}

type rememberedKey struct{}

// remembering asks for each zone and business day once. What is asked inside a
// transaction remembers its own.
func remembering(ctx context.Context) context.Context {
	return context.WithValue(ctx, rememberedKey{}, &remembered{map[unit]string{}, map[unitDay]Date{}})
}

func rememberedOf(ctx context.Context) *remembered {
	r, _ := ctx.Value(rememberedKey{}).(*remembered)
	return r
}

func (r *remembered) zone(ctx context.Context, ask func(context.Context, Scope, string) (string, error), c Candidate) (string, error) {
	if r == nil {
		return ask(ctx, c.Scope, c.BusinessUnit)
	}
	of := unit{c.Scope, c.BusinessUnit}
	name, known := r.zones[of]
	if known {
		return name, nil
	}
	name, err := ask(ctx, c.Scope, c.BusinessUnit)
	if err == nil {
		r.zones[of] = name
	}
	return name, err
}

func (r *remembered) day(ctx context.Context, t ReminderType, c Candidate, d Date) (Date, error) {
	if r == nil {
		return t.BusinessDay(ctx, c.Scope, c.BusinessUnit, d)
	}
	of := unitDay{unit{c.Scope, c.BusinessUnit}, t.Name, d}
	moved, known := r.days[of]
	if known {
		return moved, nil
	}
	moved, err := t.BusinessDay(ctx, c.Scope, c.BusinessUnit, d)
	if err == nil {
		r.days[of] = moved
	}
	return moved, err
}
