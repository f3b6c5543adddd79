package twilio

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// server speaks the Messages API: it validates as Twilio does, accepts or answers
// what its script says, and signs the callbacks of what it accepted.
type server struct {
	url    string
	script func(w http.ResponseWriter, r *http.Request) bool // true: it has answered

	mu       sync.Mutex
	requests int
	forms    []url.Values
}

const (
	account = "AC0123456789abcdef0123456789abcdef"
	token   = "token-of-the-account"
	sid     = "SM00000000000000000000000000000001"
	content = "HX0123456789abcdef0123456789abcdef"
	service = "MG0123456789abcdef0123456789abcdef"
	key     = "SK0123456789abcdef0123456789abcdef"
)

func serve(t *testing.T, script func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	s := &server{script: script}
	h := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if s.script != nil && s.script(w, r) {
		return
	}
	form, err := url.ParseQuery(string(body))
	user, password, _ := r.BasicAuth()
	switch {
	case r.URL.Path != "/2010-04-01/Accounts/"+account+"/Messages.json":
		fault(w, http.StatusNotFound, 20404, "The requested resource was not found")
	case r.Method != http.MethodPost:
		fault(w, http.StatusMethodNotAllowed, 20004, "Method not allowed")
	case (user != account || password != token) && (user != key || password != "secret-of-the-key"):
		fault(w, http.StatusUnauthorized, 20003, "Authenticate")
	case err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded":
		fault(w, http.StatusUnsupportedMediaType, 20415, "Unsupported media type")
	default:
		if code, why := invalid(form); code != 0 {
			fault(w, http.StatusBadRequest, code, why)
			return
		}
		s.mu.Lock()
		s.forms = append(s.forms, form)
		s.mu.Unlock()
		created(w, form)
	}
}

// invalid validates as the reference says.
func invalid(form url.Values) (code int, why string) {
	to, whatsApp := strings.CutPrefix(form.Get("To"), "whatsapp:")
	switch {
	case to == "":
		return 21604, "'To' phone number is required to send a Message"
	case !rest.E164(to):
		return 21211, "Invalid 'To' Phone Number: " + to
	case form.Get("From") == "" && form.Get("MessagingServiceSid") == "":
		return 21603, "A 'From' phone number is required"
	case whatsApp != strings.HasPrefix(form.Get("From"), "whatsapp:") && form.Get("From") != "":
		return 63007, "Twilio could not find a Channel with the specified From address"
	case form.Get("Body") == "" && form.Get("ContentSid") == "":
		return 21619, "At least a body or a content sid must be specified"
	case len([]rune(form.Get("Body"))) > 1600:
		return 21617, "The concatenated message body exceeds the 1600 character limit"
	case form.Get("ContentVariables") != "" && json.Unmarshal([]byte(form.Get("ContentVariables")), new(map[string]string)) != nil:
		return 21656, "The ContentVariables Parameter is invalid"
	}
	return 0, ""
}

func created(w http.ResponseWriter, form url.Values) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"sid": sid, "status": "queued", "error_code": nil, "to": form.Get("To"), "body": form.Get("Body")})
}

// fault answers with the documented body of an error.
func fault(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": message, "status": status,
		"more_info": "https://www.twilio.com/docs/errors/21211"})
}

func (s *server) seen() (requests int, forms []url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, append([]url.Values{}, s.forms...)
}

// callback is the signed report of a status to the address.
func callback(address, messageStatus, errorCode string) channel.WebhookRequest {
	params := url.Values{"AccountSid": {account}, "ApiVersion": {"2010-04-01"}, "From": {"+15017122661"}, "To": {"+14155550100"},
		"MessageSid": {sid}, "SmsSid": {sid}, "SmsStatus": {messageStatus}, "MessageStatus": {messageStatus}}
	if errorCode != "" {
		params.Set("ErrorCode", errorCode)
	}
	h := http.Header{}
	h.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
	h.Set("X-Twilio-Signature", signer(token)([]byte(address+joined(params))))
	return channel.WebhookRequest{Method: http.MethodPost, URL: address, Header: h, Body: []byte(params.Encode()), Now: now}
}
