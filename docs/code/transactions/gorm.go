package main

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
	pggorm "gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage/postgres"
)

// certificate is a row as GORM knows it.
type certificate struct {
	ID        string `gorm:"primaryKey"`
	ExpiresOn time.Time
}

func (certificate) TableName() string { return "certificate" }

func openGORM(ctx context.Context, dsn, _ string, clk clock.Clock) (*host, error) {
	options := &postgres.Options{Clock: clk, Migrate: postgres.MigrateAuto}
	db, err := gorm.Open(pggorm.Open(dsn), &gorm.Config{})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(ctx, pool, options)
	if err != nil {
		return nil, err
	}
	renew := func(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
		return repeat(func() error {
			return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				if err := tx.Model(&certificate{ID: id}).Update("expires_on", expires).Error; err != nil {
					return err
				}
				return remind(ctx, reminders.WithTx(store.Join(tx.Statement.ConnPool)), id, expires)
			})
		})
	}
	return &host{store: store, renew: renew, db: pool, close: func() { _ = pool.Close() }}, nil
}
