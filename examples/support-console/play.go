package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/support/supporthttp"
)

// desk is who asks over HTTP.
type desk struct {
	ctx context.Context
	url string
	w   io.Writer
}

// call sends a request of the API and reads its answer into out.
func (d desk) call(method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(d.ctx, method, d.url+"api/v1/"+path, strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(out)
}

// row is as much of an entry as the play prints.
type row struct {
	On                       time.Time
	Kind, Outcome, What, Key string
	Steps                    []struct{ What, Actor, Detail string }
}

// play answers what support is asked most: why did she not get it, what waits for me, what
// goes out.
func play(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "support")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 27, 9, 0, 0, 0, time.UTC))
	if err := history(ctx, dir, clk); err != nil {
		return err
	}
	s, err := open(ctx, dir, clk)
	if err != nil {
		return err
	}
	defer s.store.Close()
	server := httptest.NewServer(http.StripPrefix("/support", supporthttp.New(s.desk, s.demonstration(false))))
	defer server.Close()
	d := desk{ctx, server.URL + "/support/", w}
	return errors.Join(d.verdicts(), d.waiting(), d.friday())
}

// verdicts says of each person whether the last reminder came.
func (d desk) verdicts() error {
	for _, who := range []string{"ada", "ben", "cem", "dia", "eve", "fay"} {
		var v struct{ Text string }
		if err := d.call("GET", "verdict?"+url.Values{"person": {who}, "type": {"certificate"}}.Encode(), nil, &v); err != nil {
			return err
		}
		fmt.Fprintln(d.w, who, v.Text)
	}
	return nil
}

// waiting settles what waits for a person: the mails in doubt, after a look at what that
// would do.
func (d desk) waiting() error {
	var needs struct {
		Needs []struct {
			Kind, Table, Reason, What string
			Rows                      int
		}
	}
	if err := d.call("GET", "needs", nil, &needs); err != nil {
		return err
	}
	for _, n := range needs.Needs {
		fmt.Fprintf(d.w, "%s: %d %s\n", n.Kind, n.Rows, n.What)
		if n.Kind != "Doubt" {
			continue
		}
		var list struct{ Rows []row }
		if err := d.call("GET", "waiting?"+url.Values{"table": {n.Table}, "reason": {n.Reason}}.Encode(), nil, &list); err != nil {
			return err
		}
		order := map[string]any{"action": "Resolve", "decision": "Sent", "reason": "she has it", "dryRun": true}
		var targets []map[string]string
		for _, r := range list.Rows {
			targets = append(targets, map[string]string{"kind": r.Kind, "key": r.Key})
		}
		order["targets"] = targets
		for _, dry := range []bool{true, false} {
			var acted struct{ Done int }
			order["dryRun"] = dry
			if err := d.call("POST", "act", order, &acted); err != nil {
				return err
			}
			fmt.Fprintf(d.w, "  settled as sent (dry run: %t): %d\n", dry, acted.Done)
		}
	}
	return nil
}

// friday says what is to come for one person, and who stopped it.
func (d desk) friday() error {
	var story struct{ Next []row }
	if err := d.call("GET", "story?person=fay", nil, &story); err != nil {
		return err
	}
	for _, r := range story.Next {
		fmt.Fprintln(d.w, r.On.Format("2 Jan 15:04"), r.What)
		for _, s := range r.Steps {
			fmt.Fprintf(d.w, "  %s by %s: %s\n", s.What, s.Actor, s.Detail)
		}
	}
	return nil
}
