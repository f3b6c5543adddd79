package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify"
)

// setBody sets text, HTML or both as alternatives, the plain one first.
func setBody(msg *gomail.Msg, m notify.Message) {
	text, html := lineFeeds.Replace(m.Text), lineFeeds.Replace(m.HTML)
	switch {
	case html == "":
		msg.SetBodyString(gomail.TypeTextPlain, text)
	case text == "":
		msg.SetBodyString(gomail.TypeTextHTML, html)
	default:
		msg.SetBodyString(gomail.TypeTextPlain, text)
		msg.AddAlternativeString(gomail.TypeTextHTML, html)
	}
}

// lineFeeds makes all line breaks alike. Without it, mime/quotedprintable loses
// a line feed that comes somewhere after a lone carriage return.
var lineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// boundary depends on the parts, so that no part can hold it.
func boundary(m notify.Message) string {
	sum := sha256.Sum256([]byte(m.ID + "\x00" + m.Text + "\x00" + m.HTML))
	return hex.EncodeToString(sum[:20])
}
