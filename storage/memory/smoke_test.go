package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
)

type row struct {
	storage.Record
	Name string    `db:"name"`
	At   time.Time `db:"at"`
	Tags []string  `db:"tags,json,null"`
	Next time.Time `db:"next_retry_on"`
	N    int       `db:"n"`
}

var rowsT = storage.Define[row]("rows")

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s := New(nil)
	ref, err := s.Blobs().Put(ctx, bytes.NewReader(bytes.Repeat([]byte("abc"), 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Blobs().Open(ctx, ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil || len(b) != 3<<20 {
		t.Fatal(err, len(b))
	}
	fmt.Println(ref)
	fmt.Println(s.Identity(ctx))
}

func BenchmarkClaimSettle(b *testing.B) {
	ctx := context.Background()
	s := New(nil)
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for k := 0; k < 100; k++ {
		s.InTx(ctx, func(tx storage.Tx) error {
			var rows []*row
			for i := 0; i < 1000; i++ {
				rows = append(rows, &row{Record: storage.Record{Key: fmt.Sprintf("k%d-%d", k, i), Status: "P", DueOn: base.Add(time.Duration(i) * time.Second)}, Name: "x"})
			}
			_, err := rowsT.Insert(ctx, tx, rows...)
			return err
		})
	}
	c := storage.Claim{Statuses: []string{"P"}, Busy: "B", Lanes: []storage.LaneClaim{{Limit: 500}}, Now: base.Add(24 * time.Hour), LeaseUntil: base.Add(25 * time.Hour), Token: "t"}
	b.ResetTimer()
	for i := 0; i < b.N; i += 500 {
		var rows []*row
		err := s.InTx(ctx, func(tx storage.Tx) (err error) { rows, err = rowsT.Claim(ctx, tx, c); return err })
		if err != nil || len(rows) != 500 {
			b.Fatal(err)
		}
		for _, r := range rows {
			r.Status, r.LeaseExpiresOn = "P", time.Time{}
			r.DueOn = r.DueOn.Add(time.Minute)
		}
		if err := s.InTx(ctx, func(tx storage.Tx) error { return rowsT.Save(ctx, tx, rows...) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
