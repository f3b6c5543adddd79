package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/belfry-go/belfry/notify"
)

// pigeons is a channel: one method that makes one request. What the error says
// decides whether the message may be sent again.
type pigeons struct{ loft string } // the provider's URL

func (pigeons) Key() string { return "pigeon:loft" }

func (p pigeons) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	body, err := json.Marshal(map[string]string{"id": m.ID, "to": m.To, "text": m.Text})
	if err != nil {
		return notify.Receipt{}, notify.Permanent("json", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.loft, bytes.NewReader(body))
	if err != nil {
		return notify.Receipt{}, notify.Permanent("url", err)
	}
	req.GetBody = nil // the transport must not repeat a POST by itself
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return notify.Receipt{}, err // dialling failed: tried again; cut off: in doubt
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusAccepted:
		return notify.Receipt{ID: resp.Header.Get("Flight")}, nil
	case http.StatusTooManyRequests:
		return notify.Receipt{}, notify.Transient("429", 0, nil) // definitely not taken
	case http.StatusNotFound:
		return notify.Receipt{}, notify.Permanent("404", nil) // nobody lives there
	}
	return notify.Receipt{}, notify.Unknown(fmt.Sprint(resp.StatusCode), nil)
}
