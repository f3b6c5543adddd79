package survey

import (
	"context"
	"strings"

	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// byErasure is who the log of an instance names.
var byErasure = By{Actor: "erasure", Reason: "a person was erased"}

// erasures go through the tables of this package. The Ref of a person is the CustomerRef;
// links without one are known by their address.
func (s *core) erasures() []sweep.Rule {
	goes := map[string]string{
		"agent_id":     "whom the customer spoke to, until the response goes",
		"customer_ref": "of a link that retention has emptied before its response: it is not found any more",
	}
	return []sweep.Rule{
		sweep.Erasure[responseRow]{
			Table: responses, With: instances.Name, Keeps: goes,
			Ways: func(p sweep.Subject) (out []sweep.Way[responseRow]) {
				for _, way := range instancesOf(p) {
					out = append(out, sweep.Via(way, responses, func(i *instanceRow) []driver.ScopedKey {
						return []driver.ScopedKey{{Scope: i.Scope, Key: i.PublicID}}
					}))
				}
				return out
			},
		}.Rule(),
		sweep.Erasure[answerRow]{
			Table: answers, With: responses.Name, Ways: func(sweep.Subject) []sweep.Way[answerRow] { return nil },
		}.Rule(),
		sweep.Erasure[instanceRow]{
			Table: instances, Audited: true, Ways: instancesOf, Weight: 300, // of up to two hundred answers each
			CutFrom: []string{"metadata", "customer_ref", "recipient_address", "recipient_locale", "recipient_zone", "recipient_hash"},
			Keeps:   map[string]string{"key": "the same event makes no second link"},
			Judge: func(_ context.Context, _ sweep.Subject, _ sweep.At, i *instanceRow) (sweep.Fate, error) {
				return sweep.Fate{Verdict: sweep.Cut}, nil
			},
			Write: func(ctx context.Context, tx storage.Tx, rows []*instanceRow) error {
				for _, i := range rows { // the messages first, so that no other waits for one while it has the link of another
					if _, err := s.end(ctx, tx, driver.Now(tx.Store()), i); err != nil {
						return err
					}
				}
				for _, i := range rows {
					if err := s.eraseInstance(ctx, tx, i.Scope, i.PublicID); err != nil {
						return err
					}
				}
				return nil
			},
		}.Rule(),
	}
}

// instancesOf are the links that the person was sent.
func instancesOf(p sweep.Subject) (out []sweep.Way[instanceRow]) {
	if p.Ref != "" {
		out = append(out, sweep.By(instances, p.Scope, driver.Eq("customer_ref", p.Ref)))
	}
	for _, a := range p.Addresses {
		out = append(out, sweep.By(instances, p.Scope, driver.Eq("recipient_hash", hashOf(a.Method, a.Address))))
	}
	return out
}

// hashOf is by what a link is found that names only an address. It goes with the
// address, and so needs no key.
func hashOf(method, address string) string {
	normal, err := spelling.Of(method, address)
	if err != nil { // one that cannot be delivered to is stored as it is
		normal = strings.TrimSpace(address)
	}
	return spelling.Hash(nil, "", method, normal)
}

// hash is that of a recipient without a CustomerRef, and empty of others.
func (r Recipient) hash(key string) string {
	if r.CustomerRef != "" {
		return ""
	}
	return hashOf(channel.Method(key), r.Address)
}
