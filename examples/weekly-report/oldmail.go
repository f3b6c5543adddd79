package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// letter is a row of the outbox.
type letter struct {
	key, guid string
	ranOn     time.Time
}

func (o *oldScheduler) queue(ctx context.Context, tx *sql.Tx, j job, key string, now time.Time) error {
	query, values, err := o.bind(`INSERT INTO old_outbox (run, guid, ran_on, mailed) VALUES (:run, :guid, :now, 0)`,
		args{"run": key, "guid": j.guid, "now": now.Unix()})
	if err == nil {
		_, err = tx.ExecContext(ctx, query, values...)
	}
	return err
}

// outbox reads those that are not mailed yet (0), or that are (1).
func (o *oldScheduler) outbox(ctx context.Context, mailed int) (letters []letter, err error) {
	err = o.each(ctx, `SELECT run, guid, ran_on FROM old_outbox WHERE mailed = :mailed`, args{"mailed": mailed}, func(rows *sql.Rows) error {
		var l letter
		var on int64
		err := rows.Scan(&l.key, &l.guid, &on)
		l.ranOn = time.Unix(on, 0)
		letters = append(letters, l)
		return err
	})
	return letters, err
}

// deliver mails what is in the outbox.
func (o *oldScheduler) deliver(ctx context.Context) error {
	waiting, err := o.outbox(ctx, 0)
	if err != nil || len(waiting) == 0 {
		return err
	}
	if err := os.MkdirAll(o.mails, 0o700); err != nil {
		return err
	}
	for _, l := range waiting {
		o.sent++
		text, err := o.mail(l)
		if err == nil {
			err = os.WriteFile(filepath.Join(o.mails, fmt.Sprintf("old-%03d.eml", o.sent)), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	_, err = o.db.ExecContext(ctx, `UPDATE old_outbox SET mailed = 1 WHERE mailed = 0`)
	return err
}

func (o *oldScheduler) mail(l letter) ([]byte, error) {
	j, scheduled, err := o.jobOf(l.key)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(j.zone)
	if err != nil {
		return nil, err
	}
	mediaType, write := "text/csv", writeCSV
	if j.html {
		mediaType, write = "text/html", writeHTML
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "From: Old reports <old@firm.example>\r\nTo: %s@firm.example\r\nDate: %s\r\nSubject: %s\r\nContent-Type: %s; charset=utf-8\r\n\r\n",
		j.unit, l.ranOn.In(zone).Format(time.RFC1123Z), subject(j.guid, scheduled.In(zone).Format(time.DateOnly)), mediaType)
	err = write(&text)
	return text.Bytes(), err
}
