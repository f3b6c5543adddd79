package main

import (
	"context"
	_ "embed"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

const (
	surveyID  = 4523
	closed    = "service-visit-closed" // the kind of event
	visitFile = "closed-visits.csv"
)

//go:embed csi-gr.json
var definition []byte

// database is what both adapters give.
type database interface {
	storage.Store
	io.Closer
}

// garage is the program.
type garage struct {
	dir       string
	store     database
	surveys   *survey.Service
	desk      *desk
	warehouse *warehouse
	token     string // of the scanner and of the administrator
	log       *slog.Logger
}

// say prints a line.
type say func(format string, args ...any)

// openGarage opens the database and starts nothing. site is where the form will be; a
// nil clk is the real clock. The caller closes the store.
func openGarage(ctx context.Context, s settings, clk clock.Clock, site string, tell say, level slog.Level) (*garage, error) {
	g := &garage{dir: s.dir, token: newToken(), log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))}
	if err := os.MkdirAll(g.path(ticketFolder), 0o700); err != nil {
		return nil, err
	}
	var err error
	if g.store, err = openStore(ctx, s, clk); err != nil {
		return nil, err
	}
	mails := mailer{file.New(g.path(mailFolder), &file.Options{From: "Workshop <service@workshop.example>"}), g.path(mailFolder), tell}
	g.surveys = survey.New(g.store, &survey.Options{SurveyURL: site + "/s/{token}", Logger: g.log}, mails)
	g.desk, g.warehouse = &desk{dir: g.path(ticketFolder), tell: tell}, &warehouse{dir: g.path(warehouseFolder), tell: tell}
	g.surveys.Subscribe(g.desk, g.warehouse)
	return g, nil
}

func openStore(ctx context.Context, s settings, clk clock.Clock) (database, error) {
	if s.dsn != "" {
		return postgres.Open(ctx, s.dsn, &postgres.Options{Clock: clk})
	}
	return sqlite.Open(ctx, filepath.Join(s.dir, "survey.db"), &sqlite.Options{Clock: clk})
}

// publish makes the survey the one that ingest uses.
func (g *garage) publish(ctx context.Context) (survey.Published, error) {
	return g.surveys.Publish(ctx, survey.Version{SurveyID: surveyID, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: definition})
}

func (g *garage) path(name string) string { return filepath.Join(g.dir, name) }
