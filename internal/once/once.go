// Package once is the idempotency store: it keeps the answers to requests with a caller's
// id, so that a repeated request gets the same answer and does nothing. An answer is
// written in the transaction of its action, so that neither exists without the other.
package once

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Row is one answer. It is never due, and never changes.
type Row struct {
	storage.Record
	Body   string    `db:"body,fixed,plain"`
	Answer string    `db:"answer,fixed,plain"`
	On     time.Time `db:"answered_on,fixed"`
}

// Table is where answers are kept.
var Table = driver.Define[Row]("support_answer").Grows(driver.WithWork).
	Kept("a week", "a repeated request gets the first answer, and does nothing").Limit(8 << 10)

// KeptFor is for how long, at least.
const KeptFor = 7 * 24 * time.Hour

// Schemas lists the table of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&Table.Schema} }

// Request is one that its caller has named. Body is a fingerprint of what it asks for.
type Request struct {
	Scope           storage.Scope
	Actor, ID, Body string
}

// The errors of a request.
var (
	ErrOther    = errors.New("once: this id was used for another request")
	ErrAnswered = errors.New("once: a concurrent request with this id was answered")
)

// Place is one of the targets of a request.
type Place struct {
	Request
	Target int
}

// At is one of its targets.
func (r Request) At(target int) Place { return Place{r, target} }

// name is what keys begin with: neither the actor nor the id can be told from it.
func (r Request) name() string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(r.Actor)) + " " + r.Actor + r.ID))
	return hex.EncodeToString(sum[:])
}

// Kept are the answers so far, by target; ErrOther if they are to another body.
func (r Request) Kept(ctx context.Context, from driver.Reader) (map[int]string, error) {
	out := map[int]string{}
	rows, err := Table.Find(ctx, from, r.Scope, driver.Query{Where: driver.ChildrenOf(r.name()), OrderBy: "key", Limit: driver.MaxPage})
	for _, row := range rows {
		if row.Body != r.Body {
			return nil, ErrOther
		}
		n, err := strconv.Atoi(strings.TrimPrefix(row.Key, r.name()+"\x1f"))
		if err != nil {
			return nil, fmt.Errorf("once: a key: %w", err)
		}
		out[n] = row.Answer
	}
	return out, err
}

// Keep writes the answer for a target; ErrAnswered if there is one. The zero request keeps
// none.
func (p Place) Keep(ctx context.Context, tx storage.Tx, answer string) error {
	if p.Request == (Request{}) {
		return nil
	}
	key, err := keys.Join(p.name(), strconv.Itoa(p.Target))
	if err != nil {
		return err
	}
	isNew, err := Table.Insert(ctx, tx, &Row{Record: storage.Record{Scope: p.Scope, Key: key}, Body: p.Body, Answer: answer, On: driver.Now(tx.Store())})
	if err == nil && !isNew[0] {
		return ErrAnswered
	}
	return err
}
