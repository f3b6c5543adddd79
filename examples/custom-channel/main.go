// Command custom-channel adds a transport that Belfry does not have: carrier
// pigeons. The channel is one method, its provider's callbacks another; retries,
// unknown outcomes and duplicates are Belfry's business. It plays the provider too.
//
//	go run ./examples/custom-channel
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// pigeons is the channel, and reads its provider's callbacks.
type pigeons struct {
	loft   string // the provider's URL
	secret []byte // with which it signs
}

func (pigeons) Key() string      { return "pigeon:loft" }
func (pigeons) Provider() string { return "loft" }

// Send makes one request. What the error says decides whether the message may be
// sent again.
func (p pigeons) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := json.Marshal(map[string]string{"id": m.ID, "to": m.To, "text": m.Text})
	if err != nil {
		return channel.Receipt{}, channel.Permanent("json", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.loft, bytes.NewReader(body))
	if err != nil {
		return channel.Receipt{}, channel.Permanent("url", err)
	}
	req.GetBody = nil // the transport must not repeat a POST by itself
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return channel.Receipt{}, err // dialling failed: tried again; cut off: in doubt
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusAccepted:
		return channel.Receipt{ID: resp.Header.Get("Flight")}, nil
	case http.StatusTooManyRequests:
		return channel.Receipt{}, channel.Transient("429", 0, nil) // definitely not taken
	case http.StatusNotFound:
		return channel.Receipt{}, channel.Permanent("404", nil) // no such address
	}
	return channel.Receipt{}, channel.Unknown(fmt.Sprint(resp.StatusCode), nil)
}

// Events understands a callback. It proves first, on the raw bytes, and reads then.
func (p pigeons) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	if len(p.secret) == 0 || !hmac.Equal([]byte(r.Header.Get("Signature")), []byte(p.sign(r.Body))) {
		return nil, channel.ErrWebhookRefused
	}
	var said struct{ Flight, ID, Fate string }
	if err := json.Unmarshal(r.Body, &said); err != nil {
		return nil, err
	}
	kinds := map[string]channel.StatusKind{"landed": channel.KindDelivered, "lost": channel.KindFailed}
	return []channel.StatusEvent{{EventID: said.Flight, MessageID: said.ID, Kind: kinds[said.Fate], Code: said.Fate}}, nil
}

func (p pigeons) sign(body []byte) string {
	mac := hmac.New(sha256.New, p.secret)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func main() {
	ctx, store := context.Background(), memory.New(nil)
	birds := pigeons{loft: serve(loft), secret: []byte("between the loft and us")}
	out := notify.New(store, nil, birds)
	out.Register(notify.Type{Name: "invitation", Renderer: notify.Template{Text: "Come at noon."}})
	callbacks := serve(notifyhttp.Webhooks(out, nil, birds).ServeHTTP)
	job := notify.Job{Type: "invitation", PartitionKey: "party", RowKey: "1", EventData: []byte(`{}`)}
	for _, name := range []string{"the tower", "the storm", "nowhere"} {
		job.Recipients = append(job.Recipients, notify.Recipient{Ref: name, Channel: "pigeon:loft", Address: name})
	}
	_, err := out.Notify(ctx, job)
	check(err)
	check(belfry.NewPoller(store, nil, out).Drain(ctx))
	for _, m := range show(ctx, out)[1:] { // the loft never took the first, and calls back about the others
		fate := map[string]string{"the storm": "lost", "the tower": "landed"}[m.Address]
		body := fmt.Sprintf(`{"flight":%q,"id":%q,"fate":%q}`, m.ProviderMessageID, m.MessageID, fate)
		for _, signature := range []string{"forged", birds.sign([]byte(body)), birds.sign([]byte(body))} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, callbacks+"/loft", strings.NewReader(body))
			check(err)
			req.Header.Set("Signature", signature)
			resp, err := http.DefaultClient.Do(req)
			check(err)
			check(resp.Body.Close())
			fmt.Printf("The loft calls back about %s: %s\n", m.Address, resp.Status)
		}
	}
	show(ctx, out)
}

// show prints what has become of the messages.
func show(ctx context.Context, out *notify.Notifier) []notify.OutgoingMessage {
	all, _, err := out.Support().AllMessages(ctx, "", storage.Page{})
	check(err)
	slices.SortFunc(all, func(a, b notify.OutgoingMessage) int { return strings.Compare(a.Address, b.Address) })
	for _, m := range all {
		fmt.Println(strings.TrimSpace(m.Address + ": " + m.Status + " " + m.ReasonCode))
	}
	return all
}

// loft stands for the provider: it takes messages, except for an unknown address.
func loft(w http.ResponseWriter, r *http.Request) {
	var m struct{ ID, To string }
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.To == "nowhere" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Flight", "flight-"+m.ID)
	w.WriteHeader(http.StatusAccepted)
}

// serve serves until the program ends, and gives the address.
func serve(h http.HandlerFunc) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go http.Serve(listener, h) //nolint:errcheck // it ends with the program
	return "http://" + listener.Addr().String()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
