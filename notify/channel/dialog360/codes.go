package dialog360

import (
	"net/http"
	"strconv"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// transient are Meta's codes that do not speak of the message but of who sends it
// or of Meta (WhatsApp Business Platform, "Error codes"). Most come with 400.
var transient = map[string]bool{
	"0":      true, // the access token could not be checked
	"2":      true, // down or overloaded
	"3":      true, // capability or permissions
	"4":      true, // too many calls of the app
	"10":     true, // permission not granted
	"190":    true, // access token expired
	"368":    true, // blocked for a while, for a policy
	"80007":  true, // too many calls of the account
	"130429": true, // too many messages of the number
	"131005": true, // permission not granted
	"131016": true, // service unavailable
	"131031": true, // account locked
	"131037": true, // display name not approved yet
	"131042": true, // payment
	"131045": true, // certificate of the number
	"131048": true, // number restricted for its quality
	"131056": true, // too many messages to this recipient in a short time
	"131057": true, // account in maintenance
	"132015": true, // template paused for its quality
	"133004": true, // server unavailable
	"133010": true, // number not registered
	"133016": true, // number registered too often
}

// restrictedCountry comes with 403, but is about the recipient.
const restrictedCountry = "130497"

// unknown are the codes of errors that Meta cannot explain.
var unknown = map[string]bool{"1": true, "131000": true}

// refusal judges by Meta's code first, by the status where there is none. All of
// 360dialog's own answers with 400 are about the account: it is disabled, over its
// rate or has not paid (360dialog documentation, "Error Code Reference").
func refusal(a *rest.Answer) *notify.SendError {
	code := metaCode(a)
	n, err := strconv.Atoi(code)
	switch {
	case unknown[code]:
		return a.Unknown(code)
	case code == restrictedCountry:
		return a.Permanent(code)
	case transient[code], err == nil && 200 <= n && n < 300, // permissions
		code == "" && a.Status == http.StatusBadRequest:
		return a.Transient(code)
	}
	return a.Refusal(code)
}
