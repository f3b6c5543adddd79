package mail

import (
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
