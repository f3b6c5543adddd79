package mail

import (
	"bytes"
	"errors"
	"mime"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify"
)

// attach adds files beside the body (multipart/mixed), and pictures that the HTML
// shows under their content ids (multipart/related).
func attach(msg *gomail.Msg, m notify.Message) {
	for _, a := range m.Attachments {
		data := bytes.NewReader(a.Data)
		if inlined(a, m) {
			msg.EmbedReadSeeker(a.Name, data, described(a, "inline"))
			continue
		}
		msg.AttachReadSeeker(a.Name, data, described(a, "attachment"))
	}
}

// inlined tells where a part belongs: without HTML nothing can show a picture, so
// it is a file.
func inlined(a notify.Attachment, m notify.Message) bool { return a.ContentID != "" && m.HTML != "" }

// described sets the headers of a part. The library would put encoded words into
// the name, which no standard knows there; these are by RFC 2231.
func described(a notify.Attachment, disposition string) gomail.FileOption {
	return func(f *gomail.File) {
		f.Header.Set("Content-Type", a.MediaType)
		f.Header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": a.Name}))
		if a.ContentID != "" {
			f.Header.Set("Content-Id", "<"+a.ContentID+">")
		}
	}
}

// checkAttachments refuses what would not be read as it is meant.
func checkAttachments(all []notify.Attachment) error {
	for _, a := range all {
		kind, params, err := mime.ParseMediaType(a.MediaType)
		switch {
		case a.Name == "" || len(a.Name) > 200 || badHeader(a.Name) != "":
			return badAttachment("name")
		case err != nil || kind != a.MediaType || len(params) > 0 || !strings.Contains(kind, "/") || composite(kind):
			return badAttachment("media type")
		case strings.Trim(a.ContentID, idCharacters) != "":
			return badAttachment("content id")
		}
	}
	return nil
}

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// composite types must not be in base64 (RFC 2045, section 6.4).
func composite(kind string) bool {
	return strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/")
}

func badAttachment(what string) error {
	return notify.Permanent("attachment", errors.New("mail: attachment whose "+what+" no mail can have"))
}
