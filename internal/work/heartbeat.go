package work

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// heartbeat renews the leases of the rows in flight until ctx ends. It beats
// three times a lease and a little more, since another writer may put an older
// lease back.
func (r *runner[R, A]) heartbeat(ctx context.Context) {
	tick := r.mono.Ticker(r.o.Lease * 3 / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.beat(ctx); err != nil && ctx.Err() == nil {
				r.o.Logger.WarnContext(ctx, "belfry: leases could not be renewed", "pass", r.spec.Name, "error", err)
			}
			r.flights.expire(r.mono.Now())
		}
	}
}

func (r *runner[R, A]) beat(ctx context.Context) error {
	held := r.flights.all()
	if len(held) == 0 {
		return nil
	}
	rows := make([]*R, len(held))
	for i, fl := range held {
		rows[i] = new(R)
		rec := r.rec(rows[i])
		rec.ID, rec.ClaimToken = fl.id, fl.token
	}
	expires := r.mono.Now().Add(r.o.Lease)
	var lost []bool
	err := r.store.InTx(ctx, func(tx storage.Tx) (err error) {
		lost, err = r.spec.Table.Extend(ctx, tx, r.now().Add(r.o.Lease), rows...)
		return err
	})
	if err != nil {
		return err
	}
	for i, fl := range held {
		if r.flights.renewed(fl, lost[i], expires) {
			r.tel.leaseLost(ctx)
		}
	}
	return nil
}
