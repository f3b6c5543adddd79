package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/belfry-go/belfry/survey"
)

// scanner posts the rows of a CSV file to the ingest endpoint. It keeps no note of
// what it has posted: telling an event twice makes nothing new.
type scanner struct{ client }

// post reads the file and says what became of its rows.
func (s scanner) post(ctx context.Context, name string) (report survey.IngestReport, err error) {
	rows, err := readCSV(name)
	if err != nil {
		return report, err
	}
	type event struct {
		Payload   map[string]string `json:"payload"`
		Recipient survey.Recipient  `json:"recipient"`
	}
	batch := struct {
		EventKind string  `json:"eventKind"`
		Items     []event `json:"items"`
	}{EventKind: closed}
	for _, r := range rows {
		batch.Items = append(batch.Items, event{
			Payload:   map[string]string{"wip": r["wip"], "dealerId": r["dealerId"], "jobType": r["jobType"]},
			Recipient: survey.Recipient{Address: r["email"], Locale: r["locale"], CustomerRef: r["customerRef"]},
		})
	}
	body, err := json.Marshal(batch)
	if err != nil {
		return report, err
	}
	got, err := s.do(ctx, http.MethodPost, "/api/Surveys/Triggers/ingest", jsonMedia, string(body))
	if err != nil {
		return report, err
	}
	if got.status != http.StatusOK {
		return report, fmt.Errorf("ingest: %d %s", got.status, got.body)
	}
	return report, json.Unmarshal([]byte(got.body), &report)
}

// readCSV gives the rows by the names of the columns.
func readCSV(name string) (rows []map[string]string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, errors.New(name + " has no header")
	}
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, column := range all[0] {
			row[column] = line[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}
