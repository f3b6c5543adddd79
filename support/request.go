package support

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ErrRequest reports an [Order].Request that was used for another order. Nothing was
// done.
var ErrRequest = errors.New("this request id was already used for another order")

// maxRequest is the limit of an [Order].Request, in bytes.
const maxRequest = 200

// request is the key of stored answers; the zero value: answers are not stored.
func (o Order) request(scope Scope) once.Request {
	if o.Request == "" || o.DryRun {
		return once.Request{}
	}
	id := o.Request
	o.Request = ""
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it consists of texts and a moment of the calendar
	}
	sum := sha256.Sum256(text)
	return once.Request{Scope: scope, Actor: o.By.Actor, ID: id, Body: hex.EncodeToString(sum[:])}
}

// answer is the stored part of an [Acted], without personal data.
type answer struct {
	Done     bool   `json:"done,omitempty"`
	NotFound bool   `json:"notFound,omitempty"`
	Refused  string `json:"refused,omitempty"`
	Message  string `json:"messageId,omitempty"`
}

// keep stores the answer for a target in the transaction of its operation.
func keep(ctx context.Context, tx storage.Tx, as once.Place, a Acted) error {
	text, err := json.Marshal(answer{a.Done, a.NotFound, a.Refused, a.MessageID})
	if err != nil {
		return err
	}
	return as.Keep(ctx, tx, string(text))
}

// said reads the stored answers of a request, by target.
func (d doer) said(ctx context.Context, as once.Request) (map[int]Acted, error) {
	out := map[int]Acted{}
	if as == (once.Request{}) {
		return out, nil
	}
	var kept map[int]string
	err := d.o.Store.View(ctx, func(from driver.Reader) (err error) {
		kept, err = as.Kept(ctx, from)
		return err
	})
	if errors.Is(err, once.ErrOther) {
		return nil, ErrRequest
	}
	for i, text := range kept {
		var a answer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return nil, fmt.Errorf("a stored answer: %w", err)
		}
		out[i] = Acted{Done: a.Done, NotFound: a.NotFound, Refused: a.Refused, MessageID: a.Message}
	}
	return out, err
}

// saidAt reads the answer that a concurrent call with the same request has stored.
func (d doer) saidAt(ctx context.Context, as once.Place) (Acted, error) {
	all, err := d.said(ctx, as.Request)
	return all[as.Target], err
}
