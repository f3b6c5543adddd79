package form

// defaultMessage is the text of a survey whose definition and host have none.
func defaultMessage(ordinal int) MessageText {
	if ordinal == 0 {
		return initialText
	}
	return reminderText
}

var initialText = MessageText{
	Subject: Text{
		"en": `How was it?{{with .Title}} {{.}}{{end}}`,
		"ar": `كيف كانت تجربتك؟{{with .Title}} {{.}}{{end}}`,
		"de": `Wie war es?{{with .Title}} {{.}}{{end}}`,
		"es": `¿Qué tal fue?{{with .Title}} {{.}}{{end}}`,
		"fr": `Comment cela s’est-il passé ?{{with .Title}} {{.}}{{end}}`,
		"vi": `Trải nghiệm của bạn thế nào?{{with .Title}} {{.}}{{end}}`,
	},
	Text: Text{
		"en": "We would like to know how it was. It takes a minute or two:\n\n{{.URL}}\n" + leaveText(`No more of these mails`),
		"ar": "نودّ أن نعرف رأيك. لن يستغرق الأمر سوى دقيقة أو دقيقتين:\n\n{{.URL}}\n" + leaveText(`لا أريد مزيدًا من هذه الرسائل`),
		"de": "Wir möchten gern wissen, wie es war. Es dauert ein, zwei Minuten:\n\n{{.URL}}\n" + leaveText(`Keine solchen E-Mails mehr`),
		"es": "Nos gustaría saber qué tal fue. Solo lleva uno o dos minutos:\n\n{{.URL}}\n" + leaveText(`No recibir más correos como este`),
		"fr": "Nous aimerions savoir comment cela s’est passé. Une ou deux minutes suffisent :\n\n{{.URL}}\n" + leaveText(`Ne plus recevoir ces messages`),
		"vi": "Chúng tôi muốn biết trải nghiệm của bạn. Chỉ mất một hai phút:\n\n{{.URL}}\n" + leaveText(`Không nhận thư như thế này nữa`),
	},
	HTML: Text{
		"en": page(`We would like to know how it was. It takes a minute or two.`, `Open the form`, `No more of these mails`),
		"ar": page(`نودّ أن نعرف رأيك. لن يستغرق الأمر سوى دقيقة أو دقيقتين.`, `افتح الاستبيان`, `لا أريد مزيدًا من هذه الرسائل`),
		"de": page(`Wir möchten gern wissen, wie es war. Es dauert ein, zwei Minuten.`, `Zum Fragebogen`, `Keine solchen E-Mails mehr`),
		"es": page(`Nos gustaría saber qué tal fue. Solo lleva uno o dos minutos.`, `Abrir el formulario`, `No recibir más correos como este`),
		"fr": page(`Nous aimerions savoir comment cela s’est passé. Une ou deux minutes suffisent.`, `Ouvrir le questionnaire`, `Ne plus recevoir ces messages`),
		"vi": page(`Chúng tôi muốn biết trải nghiệm của bạn. Chỉ mất một hai phút.`, `Mở biểu mẫu`, `Không nhận thư như thế này nữa`),
	},
}

var reminderText = MessageText{
	Ordinal: 1,
	Subject: Text{
		"en": `A reminder{{with .Title}}: {{.}}{{end}}`,
		"ar": `تذكير{{with .Title}}: {{.}}{{end}}`,
		"de": `Zur Erinnerung{{with .Title}}: {{.}}{{end}}`,
		"es": `Recordatorio{{with .Title}}: {{.}}{{end}}`,
		"fr": `Rappel{{with .Title}} : {{.}}{{end}}`,
		"vi": `Nhắc bạn{{with .Title}}: {{.}}{{end}}`,
	},
	Text: Text{
		"en": "We have not heard from you yet, and your opinion counts:\n\n{{.URL}}\n" + leaveText(`No more of these mails`),
		"ar": "لم يصلنا ردّك بعد، ورأيك يهمّنا:\n\n{{.URL}}\n" + leaveText(`لا أريد مزيدًا من هذه الرسائل`),
		"de": "Wir haben noch nichts von Ihnen gehört, und Ihre Meinung zählt:\n\n{{.URL}}\n" + leaveText(`Keine solchen E-Mails mehr`),
		"es": "Aún no hemos recibido su respuesta, y su opinión cuenta:\n\n{{.URL}}\n" + leaveText(`No recibir más correos como este`),
		"fr": "Nous n’avons pas encore reçu votre réponse, et votre avis compte :\n\n{{.URL}}\n" + leaveText(`Ne plus recevoir ces messages`),
		"vi": "Chúng tôi chưa nhận được phản hồi, và ý kiến của bạn rất quan trọng:\n\n{{.URL}}\n" + leaveText(`Không nhận thư như thế này nữa`),
	},
	HTML: Text{
		"en": page(`We have not heard from you yet, and your opinion counts.`, `Open the form`, `No more of these mails`),
		"ar": page(`لم يصلنا ردّك بعد، ورأيك يهمّنا.`, `افتح الاستبيان`, `لا أريد مزيدًا من هذه الرسائل`),
		"de": page(`Wir haben noch nichts von Ihnen gehört, und Ihre Meinung zählt.`, `Zum Fragebogen`, `Keine solchen E-Mails mehr`),
		"es": page(`Aún no hemos recibido su respuesta, y su opinión cuenta.`, `Abrir el formulario`, `No recibir más correos como este`),
		"fr": page(`Nous n’avons pas encore reçu votre réponse, et votre avis compte.`, `Ouvrir le questionnaire`, `Ne plus recevoir ces messages`),
		"vi": page(`Chúng tôi chưa nhận được phản hồi, và ý kiến của bạn rất quan trọng.`, `Mở biểu mẫu`, `Không nhận thư như thế này nữa`),
	},
}

// leaveText is a second link, where there is one.
func leaveText(leave string) string {
	return `{{with .UnsubscribeURL}}` + "\n" + leave + ": {{.}}\n{{end}}"
}

// page is a mail of one sentence and one link, and a second one to leave by.
func page(sentence, link, leave string) string {
	return `<!DOCTYPE html>
<html lang="{{.Lang}}" dir="{{.Dir}}">
<head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body style="font-family: sans-serif; font-size: 16px; line-height: 1.5">
<p>` + sentence + `</p>
<p><a href="{{.URL}}">` + link + `</a></p>
{{with .UnsubscribeURL}}<p style="font-size: 13px"><a href="{{.}}">` + leave + `</a></p>
{{end}}</body>
</html>
`
}
