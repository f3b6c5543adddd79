package slogchannel

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func message() channel.Message {
	return channel.Message{
		ID: "5f1d", Channel: "email:slog", To: "canary@school.example", Name: "canary", Subject: "canary", Text: "canary\ncanary", HTML: "<p>canary",
		Locale: "en", Attempt: 2, On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), UnsubscribeURL: "https://school.example/canary",
		Template: channel.ProviderTemplate{Name: "expiry", Params: []string{"canary"}}, Metadata: map[string]string{"canary": "canary"},
		Attachments: []channel.Attachment{{Name: "canary.pdf", MediaType: "application/pdf", Data: []byte("canary")}, {Name: "b", Data: []byte("b")}},
	}
}

// logged is the record of m, without its time.
func logged(t *testing.T, o *Options, m channel.Message) string {
	t.Helper()
	var b bytes.Buffer
	handler := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	receipt, err := New(slog.New(handler), o).Send(t.Context(), m)
	if err != nil || receipt.ID != "5f1d" {
		t.Fatal(receipt, err)
	}
	return b.String()
}

const public = `level=INFO msg="belfry: message" message=5f1d channel=email:slog attempt=2 subject_bytes=6 text_bytes=13 html_bytes=9 ` +
	`locale=en template=expiry attachments=2 attachment_bytes=7`

func TestI29_RecordHoldsNothingPersonal(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(public+"\n", logged(t, nil, message())); diff != "" {
		t.Error(diff)
	}
	hashed := logged(t, &Options{HashKey: []byte("a key of the host")}, message())
	if !strings.HasPrefix(hashed, public+" to_hash=") || strings.Contains(hashed, "canary") {
		t.Error(hashed)
	}
}

func TestHashFindsOneRecipientUnderOneKey(t *testing.T) {
	t.Parallel()
	with := func(key, to string) string {
		m := message()
		m.To = to
		_, hash, _ := strings.Cut(logged(t, &Options{HashKey: []byte(key)}, m), "to_hash=")
		return hash
	}
	first := with("a", "sam@school.example")
	if first != with("a", "Sam@school.example") || first == with("a", "kim@school.example") || first == with("b", "sam@school.example") {
		t.Error("hashes are not what they should be")
	}
}

func TestUnredactedRecordHasAllOfIt(t *testing.T) {
	t.Parallel()
	want := public + ` to=canary@school.example name=canary subject=canary text="canary\ncanary" html=<p>canary params=[canary] attachment=canary.pdf attachment=b` + "\n"
	if diff := cmp.Diff(want, logged(t, &Options{Unredacted: true}, message())); diff != "" {
		t.Error(diff)
	}
}

func TestLevelAndKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	if got := logged(t, &Options{Level: slog.LevelWarn}, message()); !strings.HasPrefix(got, "level=WARN") {
		t.Error(got)
	}
	c := New(nil, &Options{Key: "sms:slog", HashKey: []byte("canary")})
	if c.Key() != "sms:slog" || New(nil, nil).Key() != "email:slog" {
		t.Error(c.Key())
	}
	if text := fmt.Sprintf("%+v %#v", c, c); strings.Contains(text, "canary") || strings.Contains(text, "99 97 110") {
		t.Error("a printed channel shows its key")
	}
}

func TestContextThatHasEndedWritesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b bytes.Buffer
	_, err := New(slog.New(slog.NewTextHandler(&b, nil)), nil).Send(ctx, message())
	if channel.Classify(err).Class != channel.ClassTransient || b.Len() != 0 {
		t.Error(err, b.String())
	}
}
