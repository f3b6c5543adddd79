package ses

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// envelope is what SNS posts ("HTTP/HTTPS notification JSON format").
type envelope struct {
	Type             string
	MessageID        string `json:"MessageId"`
	TopicARN         string `json:"TopicArn"`
	Subject          *string
	Message          string
	Timestamp        string
	Token            string
	SubscribeURL     string
	SignatureVersion string
	Signature        string
	SigningCertURL   string
}

// The types of envelopes that are read.
const (
	notification = "Notification"
	confirmation = "SubscriptionConfirmation"
)

// signed is the text that SNS signs: names and values, each on a line, in the order of
// the names.
func (e *envelope) signed() string {
	var b strings.Builder
	add := func(name, value string) { b.WriteString(name + "\n" + value + "\n") }
	add("Message", e.Message)
	add("MessageId", e.MessageID)
	if e.Type == notification {
		if e.Subject != nil {
			add("Subject", *e.Subject)
		}
	} else {
		add("SubscribeURL", e.SubscribeURL)
	}
	add("Timestamp", e.Timestamp)
	if e.Type != notification {
		add("Token", e.Token)
	}
	add("TopicArn", e.TopicARN)
	add("Type", e.Type)
	return b.String()
}

// maxAge is longer than SNS goes on delivering, which is an hour at most.
const maxAge = 2 * time.Hour

func (e *envelope) fresh(now time.Time) bool {
	at, err := time.Parse(time.RFC3339, e.Timestamp)
	return err == nil && now.Sub(at) < maxAge && at.Sub(now) < maxAge
}

// digest is what a version of signatures is made of. Version 1 has SHA-1, which is broken
// for who chooses two texts, and only SNS chooses one here.
func digest(version, text string) (crypto.Hash, []byte) {
	switch version {
	case "1":
		sum := sha1.Sum([]byte(text))
		return crypto.SHA1, sum[:]
	case "2":
		sum := sha256.Sum256([]byte(text))
		return crypto.SHA256, sum[:]
	}
	return 0, nil
}

// verifies reports whether a certificate's owner has signed the text.
func verifies(cert *x509.Certificate, hash crypto.Hash, sum, signature []byte) bool {
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	return ok && rsa.VerifyPKCS1v15(key, hash, sum, signature) == nil
}

// The hosts of SNS, and the paths of its certificates.
var (
	hosts = regexp.MustCompile(`^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(\.cn)?$`)
	paths = regexp.MustCompile(`^/SimpleNotificationService-[0-9a-f]{16,64}\.pem$`)
)

// ofAmazon reads an address of SNS itself.
func ofAmazon(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || !hosts.MatchString(u.Host) {
		return nil
	}
	return u
}

// certificates are those of SNS, by their addresses, which change about once a year.
type certificates struct {
	client *rest.Client

	mu    sync.Mutex
	known map[string]*x509.Certificate
}

const maxCertificates = 32

var errCertificate = errors.New("ses: the certificate of SNS cannot be fetched now")

// get fetches a certificate from SNS once.
func (c *certificates) get(at *url.URL) (*x509.Certificate, error) {
	c.mu.Lock()
	known := c.known[at.String()]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	answer, err := c.client.Do(context.Background(), rest.Call{Method: http.MethodGet, URL: at.String()})
	if err != nil || answer.Status != http.StatusOK {
		return nil, errors.Join(channel.ErrWebhookLater, errCertificate)
	}
	block, _ := pem.Decode(answer.Body)
	if block == nil {
		return nil, errors.Join(channel.ErrWebhookLater, errCertificate)
	}
	found, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, errors.Join(channel.ErrWebhookLater, errCertificate)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCertificates {
		c.known = map[string]*x509.Certificate{}
	}
	c.known[at.String()] = found
	return found, nil
}

// prove checks that SNS has signed an envelope of one of the topics, lately.
func (w *Webhook) prove(e *envelope, now time.Time) error {
	at := ofAmazon(e.SigningCertURL)
	hash, sum := digest(e.SignatureVersion, e.signed())
	signature, err := base64.StdEncoding.DecodeString(e.Signature)
	switch {
	case !w.topics[e.TopicARN]:
		return rest.Refused(provider, "topic is not one of ours")
	case at == nil || !paths.MatchString(at.Path) || at.RawQuery != "":
		return rest.Refused(provider, "certificate is not at SNS's address")
	case sum == nil || err != nil:
		return rest.Refused(provider, "signature of an unknown version or form")
	case !e.fresh(now):
		return rest.Refused(provider, "timestamp is missing or too old")
	}
	cert, err := w.certificates.get(at)
	if err != nil {
		return err
	}
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) || !verifies(cert, hash, sum, signature) {
		return rest.Refused(provider, "signature is wrong")
	}
	return nil
}

// confirm tells SNS that the subscription is wanted.
func (w *Webhook) confirm(e *envelope) error {
	at := ofAmazon(e.SubscribeURL)
	if at == nil {
		return rest.Refused(provider, "subscription is not confirmed at SNS's address")
	}
	answer, err := w.certificates.client.Do(context.Background(), rest.Call{Method: http.MethodGet, URL: at.String()})
	if err != nil || answer.Status != http.StatusOK {
		return errors.Join(channel.ErrWebhookLater, errors.New("ses: SNS does not take the confirmation now"))
	}
	return nil
}

func decode(body []byte) (*envelope, error) {
	var e envelope
	if json.Unmarshal(body, &e) != nil || e.Type != notification && e.Type != confirmation {
		return nil, rest.Refused(provider, "body is not a message of SNS")
	}
	return &e, nil
}
