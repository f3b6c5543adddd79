package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/mail"
	"time"

	"github.com/belfry-go/belfry/storage/postgres"
)

// booking is the service's own business.
type booking struct {
	ID       string    `json:"id"`
	Email    string    `json:"email"`
	Seats    int       `json:"seats"`
	StartsOn time.Time `json:"startsOn"` // in whole seconds once it is saved
	Version  int64     `json:"version"`  // grows with each change
}

func (b booking) check() error {
	if _, err := mail.ParseAddress(b.Email); err != nil {
		return fmt.Errorf("email: %w", err)
	}
	if b.ID == "" || b.StartsOn.IsZero() || b.Seats < 1 {
		return errors.New("id, startsOn and at least one seat are required")
	}
	return nil
}

const bookingTable = `CREATE TABLE IF NOT EXISTS booking (
	id text PRIMARY KEY, email text NOT NULL, seats int NOT NULL, starts_on timestamptz NOT NULL, version bigint NOT NULL)`

// seatsInAll is how many seats there are; a booking beyond it is refused.
const seatsInAll = 60

// save writes a booking and reports its version. What has not changed keeps it.
func (b *booking) save(ctx context.Context, tx *sql.Tx) error {
	b.StartsOn = b.StartsOn.Truncate(time.Second)
	err := tx.QueryRowContext(ctx, `INSERT INTO booking VALUES ($1, $2, $3, $4, 1)
		ON CONFLICT (id) DO UPDATE SET email = excluded.email, seats = excluded.seats, starts_on = excluded.starts_on,
			version = booking.version + (CASE WHEN (booking.email, booking.seats, booking.starts_on) =
				(excluded.email, excluded.seats, excluded.starts_on) THEN 0 ELSE 1 END)
		RETURNING version`, b.ID, b.Email, b.Seats, b.StartsOn).Scan(&b.Version)
	if err != nil {
		return err
	}
	return nil
}

var errFull = errors.New("there are not so many seats left")

// checkSeats runs last, so that a refusal rolls back what came before.
func checkSeats(ctx context.Context, tx *sql.Tx) error {
	var taken int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(seats), 0) FROM booking`).Scan(&taken); err != nil {
		return err
	}
	if taken > seatsInAll {
		return errFull
	}
	return nil
}

// load returns sql.ErrNoRows where there is no such booking. db is the pool or a
// transaction.
func load(ctx context.Context, db postgres.DBTX, id string) (b booking, err error) {
	rows, err := db.QueryContext(ctx, `SELECT id, email, seats, starts_on, version FROM booking WHERE id = $1`, id)
	if err != nil {
		return booking{}, err
	}
	defer rows.Close()
	if !rows.Next() {
		return booking{}, errors.Join(rows.Err(), sql.ErrNoRows)
	}
	err = rows.Scan(&b.ID, &b.Email, &b.Seats, &b.StartsOn, &b.Version)
	return b, err
}
