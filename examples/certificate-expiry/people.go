package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/automation"
)

//go:embed certificates.csv
var certificatesCSV string

// certificate is one row of the school's list.
type certificate struct {
	Person, Email, Campus, Zone, Kind string
	Expires                           automation.Date
	Left                              bool // the person does not work here any more
}

// id is the certificate's own identity: a person has one of each kind.
func (c certificate) id() string { return c.Person + "-" + c.Kind }

// readCertificates reads the list by id, and its order.
func readCertificates() (map[string]certificate, []string, error) {
	rows, err := csv.NewReader(strings.NewReader(certificatesCSV)).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	byID := map[string]certificate{}
	var order []string
	for i, r := range rows[1:] {
		expires, err := automation.ParseDate(r[5])
		if err != nil {
			return nil, nil, fmt.Errorf("certificates.csv, line %d: %w", i+2, err)
		}
		c := certificate{Person: r[0], Email: r[1], Campus: r[2], Zone: r[3], Kind: r[4], Expires: expires, Left: r[6] == "left"}
		byID[c.id()] = c
		order = append(order, c.id())
	}
	return byID, order, nil
}
