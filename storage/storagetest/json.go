package storagetest

import (
	"encoding/json"
)

var jsonTheme = theme{name: "json", sentences: []sentence{
	{"JSON comes back byte by byte", func(w *world) {
		for _, text := range []string{
			`{"b":1,"a":2,"b":3}`, // order and repeated keys
			`[1.0,1e2,100,-0,0.1000000000000000055511151231257827,123456789012345678901234567890]`,
			`{"text":"\u0000\u2028\ud83d\ude00\u00e9 \\ \" '' %s {} NULL"}`,
			`"\u003c\u0026\u003e"`, `""`, `{}`, `[]`, `0`, `false`, `[null]`,
		} {
			w.keeps(func(r *thing) { r.Raw = json.RawMessage(text) })
		}
	}},
	{"values come back as they were", func(w *world) {
		w.keeps(func(r *thing) { r.Tags, r.Labels = []string{}, map[string]string{} })
		w.keeps(func(r *thing) { r.Tags, r.Labels = []string{""}, map[string]string{"": ""} })
		w.keeps(func(r *thing) { r.Tags = spellings })
		w.keeps(func(r *thing) {
			r.Labels = map[string]string{}
			for _, s := range spellings {
				r.Labels[s] = s
			}
		})
	}},
	{"nil is null where it is not NULL", func(w *world) {
		w.keeps(func(r *thing) { r.Tags = nil })
	}},
	{"a value that does not marshal is refused", func(w *world) {
		row := newThing("a")
		row.Raw = json.RawMessage(`{"open":`)
		w.refuses(row, "raw")
	}},
}}
