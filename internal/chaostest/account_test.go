package chaostest

import (
	"fmt"
	"os"
	"strings"

	"github.com/belfry-go/belfry/automation"
)

// delivered are the deliveries of a run, by those who made them.
type delivered struct {
	old []string // tries of the old scheduler: mails and lines
	new int      // calls of the provider
}

// account compares what the guard says about each run with its deliveries.
func (h *changing) account() {
	last, all := h.deliveries()
	sides := map[string]int{}
	var lost []string
	owners := h.owners()
	for key, o := range owners {
		d := all[addressee(key)]
		switch n := len(d.old) + d.new; {
		case n > 1:
			h.t.Errorf("%s was delivered %d times here and by %v there: %+v", key, d.new, d.old, o)
		case n == 0 && o.status == automation.OwnershipDeliveryCreated && h.killed[sender(o.try)] && last[sender(o.try)] == o.try+" "+key:
			lost = append(lost, o.try+" "+key)
		case n == 0 && o.status == automation.OwnershipDeliveryCreated:
			h.t.Errorf("%s was not delivered, but the guard says %+v, and the last try of that sender is %q", key, o, last[sender(o.try)])
		case n == 1 && o != (owner{string(side(d)), automation.OwnershipDeliveryCreated, strings.Join(d.old, "")}):
			h.t.Errorf("%s was delivered %d times here and by %v there, but the guard says %+v", key, d.new, d.old, o)
		case n == 1:
			sides[o.side]++
		}
		delete(all, addressee(key))
	}
	for to, d := range all {
		h.t.Errorf("%s got %+v, of which the guard knows nothing", to, d)
	}
	for _, r := range h.occasions() {
		if o := owners[r.key]; o.status != automation.OwnershipDeliveryCreated {
			h.t.Errorf("%s was delivered by neither: %+v", r.key, o)
		}
	}
	h.accountSeries()
	changed := h.query("SELECT 'all', count(*) FROM report_run_ownership WHERE owner_version > 1")["all"]
	h.t.Logf("%s: %d kills of %d processes, %d runs, delivered %v, %d changed owner, %d conflicts, %d series slept, lost in killed hands: %v",
		h.adapter, h.kills, h.lives, len(owners), sides, changed, h.conflicts, h.slept, lost)
	for _, side := range []automation.Owner{automation.OldScheduler, automation.AutomationScheduler} {
		if sides[string(side)]*20 < len(owners) || changed*10 < len(owners) {
			h.t.Errorf("this was no race: delivered %v, %d of %d changed owner", sides, changed, len(owners))
		}
	}
}

// accountSeries sees that each series goes on here that was cut over.
func (h *changing) accountSeries() {
	ahead := h.query("SELECT source, count(*) FROM automation_scheduler WHERE kind = 'round' AND status = 'Pending' GROUP BY source")
	stages := map[string]automation.Stage{}
	for i, part := range parts() {
		if part.Type == "round" {
			stages[part.Source] = final(i)
		}
	}
	for i := range rounds {
		source := fmt.Sprintf(roundName, i)
		stage, own := stages[source]
		if !own {
			stage = stages[""]
		}
		if want := map[bool]int{true: 1}[stage == automation.StageCutOver]; ahead[source] != want {
			h.t.Errorf("%s is at stage %s and has %d rows that wait for their moment, want %d", source, stage, ahead[source], want)
		}
	}
}

func side(d delivered) automation.Owner {
	if d.new > 0 {
		return automation.AutomationScheduler
	}
	return automation.OldScheduler
}

// sender is the process that tried.
func sender(try string) string {
	name, _, _ := strings.Cut(try, "/")
	return name
}

// deliveries are all that were made, by whom they reached, and the last try of each
// sender without a transaction.
func (h *changing) deliveries() (last map[string]string, all map[string]delivered) {
	last, all = map[string]string{}, map[string]delivered{}
	add := func(try, key string) {
		d := all[addressee(key)]
		d.old = append(d.old, try)
		all[addressee(key)] = d
	}
	log, err := os.ReadFile(h.log)
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		word := strings.Fields(line)
		if len(word) != 3 {
			h.t.Fatalf("a line of the old scheduler is %q", line)
		}
		if word[0] == "asks" {
			last[sender(word[1])] = word[1] + " " + word[2]
		} else {
			add(word[1], word[2])
		}
	}
	for row, n := range h.query("SELECT sender || ' ' || run, count(*) FROM old_mail GROUP BY 1") {
		try, key, _ := strings.Cut(row, " ")
		for range n {
			add(try, key)
		}
	}
	for _, c := range h.provider.log() {
		to, _, _ := strings.Cut(c.To, "@")
		d := all[to]
		d.new++
		all[to] = d
	}
	return last, all
}
