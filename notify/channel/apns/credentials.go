package apns

import (
	"cmp"
	"crypto/tls"
	"errors"
	"regexp"
	"sync"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/jws"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Credentials prove who sends: a key with its id and the team's, or a certificate.
type Credentials struct {
	// Key is the file of the key that Apple's developer site makes (.p8), a PEM. KeyID and
	// TeamID are the ten letters and digits that the site shows.
	Key           []byte
	KeyID, TeamID string
	// Certificate is that of the topic, with its private key (tls.X509KeyPair).
	Certificate *tls.Certificate
}

var ids = regexp.MustCompile(`^[A-Z0-9]{10}$`)

// use returns the settings of TLS and the maker of tokens, of which there is none for a
// certificate.
func (by Credentials) use(config *tls.Config, f *rest.Faults) (*tls.Config, *tokens) {
	if (len(by.Key) == 0) == (by.Certificate == nil) {
		f.Add(true, "either Key or Certificate is required")
		return config, nil
	}
	if by.Certificate != nil {
		own := cmp.Or(config, &tls.Config{MinVersion: tls.VersionTLS12}).Clone()
		own.Certificates = []tls.Certificate{*by.Certificate}
		return own, nil
	}
	f.Add(!ids.MatchString(by.KeyID), "KeyID is not ten letters and digits")
	f.Add(!ids.MatchString(by.TeamID), "TeamID is not ten letters and digits")
	sign, err := jws.Parse(by.Key, by.KeyID)
	if err != nil {
		f.Add(true, "Key: "+err.Error())
	}
	return config, &tokens{team: by.TeamID, sign: sign}
}

// Apple refuses a token after an hour, and who makes more than one in 20 minutes
// ("Establishing a token-based connection to APNs").
const (
	least = 20 * time.Minute
	most  = 40 * time.Minute
)

// tokens has the token of a team, which all calls share.
type tokens struct {
	team string
	sign jws.Signer

	mu      sync.Mutex
	token   string
	made    time.Time
	refused bool
}

// get returns a token that is good at now; nil has none.
func (s *tokens) get(now time.Time) (string, error) {
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := now.Sub(s.made).Abs(); s.token != "" && (age < least || age < most && !s.refused) {
		return s.token, nil
	}
	token, err := s.sign(claims{s.team, now.Unix()})
	if err != nil {
		return "", channel.Transient("token", 0, errors.New("apns: the key does not sign")).Blame(channel.FaultAccount)
	}
	s.token, s.made, s.refused = token, now, false
	return token, nil
}

// refuse has the next token made earlier than it were.
func (s *tokens) refuse(token string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = s.refused || s.token == token
}

type claims struct {
	Team     string `json:"iss"`
	IssuedAt int64  `json:"iat"`
}
