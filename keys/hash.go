package keys

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Sum is SHA-256 over fields, each preceded by its length in bytes as eight bytes big
// endian. The lengths make the message injective: ("ab", "c"), ("a", "bc") and ("ab",
// "c", "") are three different messages. Fields may hold any bytes.
func Sum(fields ...string) [sha256.Size]byte {
	return sha256.Sum256(lengthPrefixed(fields))
}

func lengthPrefixed(fields []string) []byte {
	message := make([]byte, 0, 512) // most are shorter, and stay on the stack
	for _, f := range fields {
		message = binary.BigEndian.AppendUint64(message, uint64(len(f)))
		message = append(message, f...)
	}
	return message
}

// inputFormat is the first field of every InputHash. It changes with the list
// of fields, so that hashes of two formats never agree by accident.
const inputFormat = "belfry-input-1"

// Input holds what defines one piece of due work. Its hash is stored beside the key.
// Another hash under the same key is a conflict (Automation & Reminders, "Ensure
// semantics"), and another hash at due time means that the source changed (ibid.,
// "Execution-time revalidation").
//
// It has no field for values that may change under the same key: the time of sending,
// zone, template, channel, recipients, display text. Fields that the trigger does not use
// stay empty. Dates and decimals are hashed as they are given, so callers give the
// canonical spelling, as in the key.
type Input struct {
	BusinessUnit string
	SourceType   string
	Source       string
	Setting      string
	TriggerType  string
	TriggerKey   string

	TargetDate string // 2006-01-02
	OffsetDays int    // days before TargetDate; negative: after it

	Metric     string
	Comparison string
	Threshold  string // see Decimal
	Policy     FiringPolicy
	Scope      string

	// Identity holds further values that the provider declares as part of the identity. An
	// entry with an empty value differs from no entry; nil and an empty map are the same.
	Identity map[string]string
}

// Hash is the InputHash: SHA-256 over the length-prefixed fields (see [Sum])
// behind a format version, in 64 lower-case hex digits. The order of the map
// does not matter. Different inputs have different messages.
func (in Input) Hash() string {
	fields := []string{
		inputFormat,
		in.BusinessUnit, in.SourceType, in.Source, in.Setting, in.TriggerType, in.TriggerKey,
		in.TargetDate, strconv.Itoa(in.OffsetDays),
		in.Metric, in.Comparison, in.Threshold, string(in.Policy), in.Scope,
	}
	if len(in.Identity) > 0 { // most have none
		for _, name := range slices.Sorted(maps.Keys(in.Identity)) {
			fields = append(fields, name, in.Identity[name])
		}
	}
	sum := Sum(fields...)
	text := make([]byte, 0, 2*len(sum)) // on the stack
	return string(hex.AppendEncode(text, sum[:]))
}

// RecipeSlot is one path of a dedup recipe with the event's value at it.
type RecipeSlot struct {
	Path  string // "candidate.wip"
	Value string // empty if the event has none
}

// RecipeHash tells one event from another: SHA-256 over path=value of each slot,
// in order, joined by U+001F, in 64 lower-case hex digits (Triggers & Scheduler,
// "Step 4 — building the dedup hash"). The paths are part of it, so that an empty
// value at one path differs from an empty value at another.
//
// Different slots have different messages: a path has neither '=' nor control characters
// and is at most [MaxPartLen] bytes, and a value has no control characters and is valid
// UTF-8. Anything else is refused, and so is an empty list of slots. The error is a
// [*PartError], which names the path and never the value.
func RecipeHash(slots ...RecipeSlot) (string, error) {
	if len(slots) == 0 {
		return "", &PartError{Kind: "recipe", Problem: "has no paths"}
	}
	message := make([]byte, 0, 512)
	for i, s := range slots {
		if p := textProblem(s.Path, MaxPartLen, "="); p != "" {
			return "", &PartError{Kind: "recipe", Part: "path " + strconv.Itoa(i+1), Problem: p}
		}
		if p := valueProblem(s.Value); p != "" {
			return "", &PartError{Kind: "recipe", Part: s.Path, Problem: p}
		}
		if i > 0 {
			message = append(message, separator...)
		}
		message = append(append(append(message, s.Path...), '='), s.Value...)
	}
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:]), nil
}

// valueProblem says why a value is refused. It allows an empty text and any length.
func valueProblem(value string) string {
	if value == "" {
		return ""
	}
	return textProblem(value, math.MaxInt, "")
}

// recipientFormat is the first field of every RecipientKeyHash; see
// inputFormat.
const recipientFormat = "belfry-recipient-1"

// RecipientHash is the RecipientKeyHash (Communication - System architecture,
// "OutgoingMessage + send claim"): the first 20 bytes, in 40 lower-case hex digits, of a
// hash over the length-prefixed recipient identity, delivery method and normalised
// destination (E.164 for phones, lower case and a domain in Punycode for mail). Do not
// include display text: a changed name must not make a second message.
//
// With a key the hash is HMAC-SHA-256 under it. Without one (nil or empty) it is plain
// SHA-256, and a reader of the database can find a phone number by trying all of them. A
// changed key changes every hash; see [Fingerprint].
func RecipientHash(hmacKey []byte, identity, method, destination string) string {
	fields := []string{recipientFormat, identity, method, destination}
	if len(hmacKey) == 0 {
		sum := Sum(fields...)
		return hex.EncodeToString(sum[:20])
	}
	return hex.EncodeToString(authenticate(hmacKey, lengthPrefixed(fields))[:20])
}

func authenticate(hmacKey, message []byte) []byte {
	mac := hmac.New(sha256.New, hmacKey)
	mac.Write(message)
	return mac.Sum(nil)
}

// fingerprintMessage is never a message of RecipientHash, whose messages
// begin with eight bytes of length.
const fingerprintMessage = "belfry-recipient-key-fingerprint-1"

// Fingerprint tells one HMAC key from another without showing it: 8 bytes of HMAC-SHA-256
// of a constant, in 16 lower-case hex digits. It is stored when the key is first used, so
// that a store opened with another key, or without one, can be refused. Without a key
// (nil or empty) it is "". A weak key can be found from its fingerprint, so use 32 random
// bytes.
func Fingerprint(hmacKey []byte) string {
	if len(hmacKey) == 0 {
		return ""
	}
	return hex.EncodeToString(authenticate(hmacKey, []byte(fingerprintMessage))[:8])
}

// linkAlphabet is the base32 alphabet of RFC 4648 in lower case. It needs no escapes in a
// URL and can be read aloud.
var linkAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// linkKeyMessage cannot be a public id.
const linkKeyMessage = "belfry-link-key-1"

// LinkTokenLen is the length of every token of a [LinkKey].
const LinkTokenLen = 8 + 32

// LinkKey makes the secret part of a survey's links. It can make every link, so keep it
// secret: 32 random bytes. The zero value is not a key.
type LinkKey struct {
	id     string
	secret []byte
}

// NewLinkKey returns the key with that secret. It keeps the slice.
func NewLinkKey(secret []byte) LinkKey {
	return LinkKey{id: linkAlphabet.EncodeToString(authenticate(secret, []byte(linkKeyMessage))[:5]), secret: secret}
}

// ID tells one key from another without showing it: the first 5 bytes of HMAC-SHA-256 of
// a constant, in 8 digits of lower-case base32. The ID of the zero value is empty.
func (k LinkKey) ID() string { return k.id }

// Token opens the form of the instance with that public id. It is [LinkKey.ID], followed
// by the first 20 bytes of HMAC-SHA-256 of the public id under the key, in 32 digits of
// lower-case base32. So a reminder carries the same link as the first send, and the link
// need not be stored.
func (k LinkKey) Token(publicID string) string {
	return k.id + linkAlphabet.EncodeToString(authenticate(k.secret, []byte(publicID))[:20])
}
