package fcm

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/jws"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// tokens has the access token of a service account (RFC 7523, as Google documents it:
// "Using OAuth 2.0 for Server to Server Applications").
type tokens struct {
	client       *rest.Client
	url, account string
	sign         jws.Signer

	turn  chan struct{} // of one caller at a time, who has the fields below
	token string
	until time.Time // it is used
}

func newTokens(client *rest.Client, url, account string, sign jws.Signer) *tokens {
	return &tokens{client: client, url: url, account: account, sign: sign, turn: make(chan struct{}, 1)}
}

const (
	scope  = "https://www.googleapis.com/auth/firebase.messaging"
	grant  = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	spare  = 5 * time.Minute // of a token's time that is not used
	maxUse = time.Hour
)

// get returns a token that is good at now, which may take a request. Its errors say that
// nothing was sent.
func (s *tokens) get(ctx context.Context, now time.Time) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", unsent(ctx.Err())
	}
	if s.token != "" && now.Before(s.until) {
		return s.token, nil
	}
	assertion, err := s.sign(claims{s.account, scope, s.url, now.Unix(), now.Add(time.Hour).Unix()})
	if err != nil {
		return "", channel.Transient("token", 0, errors.New("fcm: the service account's key does not sign")).Blame(channel.FaultAccount)
	}
	form := url.Values{"grant_type": {grant}, "assertion": {assertion}}
	answer, err := s.client.Do(ctx, rest.Call{URL: s.url, ContentType: "application/x-www-form-urlencoded", Body: []byte(form.Encode())})
	if err != nil {
		return "", unsent(err)
	}
	var given struct {
		Token   string    `json:"access_token"`
		Seconds int       `json:"expires_in"`
		Error   rest.Text `json:"error"`
	}
	if err := answer.JSON(&given); err != nil || answer.Status != http.StatusOK || !rest.Credential(given.Token) {
		if answer.Status/100 == 5 {
			return "", answer.Away(string(given.Error))
		}
		return "", answer.Closed(string(given.Error))
	}
	s.token, s.until = given.Token, now.Add(min(time.Duration(given.Seconds)*time.Second, maxUse)-spare)
	return s.token, nil
}

// claims are those of an assertion.
type claims struct {
	Issuer   string `json:"iss"`
	Scope    string `json:"scope"`
	Audience string `json:"aud"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// forget drops a token that was refused, so that the next call asks for another one.
func (s *tokens) forget(ctx context.Context, token string) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		if s.token == token {
			s.token = ""
		}
	case <-ctx.Done(): // another call forgets it
	}
}

// unsent is a failure to get a token: whatever became of that request, the message was
// not sent.
func unsent(err error) error {
	e := *channel.Classify(err)
	e.Class = channel.ClassTransient
	if !errors.Is(err, context.Canceled) {
		e.Fault = channel.FaultProvider
	}
	return &e
}
