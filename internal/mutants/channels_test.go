package mutants

// channelMutants are faults in attachments, and in the channels to 360dialog, to
// receivers of webhooks and to logs. Memory shows them all.
var channelMutants = []mutant{
	{
		Name: "attachments: boundaries differ each time", File: "notify/channel/internal/mail/boundary.go",
		Old: "replace(all, random, boundary(sum, n))", New: "_, _ = random, boundary(sum, n)",
		Package: "./notify/channel/internal/mail", Run: "TestPartsAreWhereReadersLookForThem",
	},
	{
		Name: "attachments: nested parts have one boundary", File: "notify/channel/internal/mail/boundary.go",
		Old: "boundary(sum, n))", New: "boundary(sum, 0*n))",
		Package: "./notify/channel/internal/mail", Run: "TestPartsAreWhereReadersLookForThem",
	},
	{
		Name: "attachments: a text is taken for the head of a part", File: "notify/channel/internal/mail/boundary.go",
		Old: "FindAllSubmatchIndex(all, multiparts(m))", New: "FindAllSubmatchIndex(all, -1)",
		Package: "./notify/channel/internal/mail", Run: "TestTextThatLooksLikeABoundaryStaysText",
	},
	{
		Name: "security: a file name makes a header", File: "notify/channel/internal/mail/attach.go",
		Old: ` || badHeader(a.Name) != "":`, New: `:`,
		Package: "./notify/channel/internal/mail", Run: "TestAttachmentThatNoMailCanHoldIsRefused",
	},
	{
		Name: "security: an unsubscribe URL makes a header", File: "notify/channel/internal/mail/check.go",
		Old: "case !unsubscribable(m.UnsubscribeURL):", New: "case false:",
		Package: "./notify/channel/internal/mail", Run: "TestUnsubscribeURLThatIsNoneIsRefused",
	},
	{
		Name: "attachments: a message goes out without its file", File: "notify/loadattachments.go",
		Old: "it.Row.unasked(storage.Now(n.store), ReasonAttachment)", New: "open = append(open, it)",
		Package: "./notify", Run: "TestI12_AMissingBlob.*/memory",
	},
	{
		Name: "I-12 a message goes out without its files", File: "notify/distributorpass.go",
		Old: "open, p.files = n.loadAttachments(ctx, open)", New: "p.files = nil",
		Package: "./notify", Run: "TestI12_AMissingBlob.*/memory",
	},
	{
		Name: "attachments: the blob of a message is collected", File: "notify/ensureoutgoing.go",
		Old: "return m.Content.blobs()", New: "return nil",
		Package: "./notify", Run: "TestABlobIsKeptWhileAMessageNamesIt/memory",
	},
	{
		Name: "attachments: the blob of an in-app message is collected", File: "notify/ensureuser.go",
		Old: "return m.Content.blobs()", New: "return nil",
		Package: "./notify", Run: "TestABlobIsKeptWhileAMessageNamesIt/memory",
	},
	{
		Name: "attachments: a file may have any size", File: "notify/attach.go",
		Old: "l.left < 0", New: "false",
		Package: "./notify", Run: "TestAttachReadsNothingThatItRefuses",
	},
	{
		Name: "security: any address is dialled", File: "internal/safedial/dialer.go",
		Old: " || !Public(at.Addr())", New: " || !at.IsValid()",
		Package: "./internal/safedial", Run: "TestAddressIsCheckedAfterItsNameWasResolved",
	},
	{
		Name: "security: translated addresses are public", File: "internal/safedial/public.go",
		Old: `MustParsePrefix("2000::/3")`, New: `MustParsePrefix("::/0")`,
		Package: "./internal/safedial", Run: "TestOnlyThePublicInternetIsPublic",
	},
	{
		Name: "security: a signature does not cover the time", File: "internal/standardwebhooks/keys.go",
		Old: `[]byte(id+"."+timestamp+".")`, New: `[]byte(id+"."+timestamp[:0]+".")`,
		Package: "./internal/standardwebhooks", Run: "TestPublished",
	},
	{
		Name: "security: an old request is fresh", File: "internal/standardwebhooks/verify.go",
		Old: ".Abs() > Tolerance", New: ".Abs() < 0",
		Package: "./internal/standardwebhooks", Run: "TestPublishedVerification",
	},
	{
		Name: "I-10 a receiver that failed is taken for one that refused", File: "notify/channel/webhook/send.go",
		Old: `return a.Refusal("")`, New: `return a.Transient("")`,
		Package: "./notify/channel/webhook", Run: "TestAnswersHaveTheirClass",
	},
	{
		Name: "I-10 receivers are trusted to know ids", File: "notify/channel/webhook/channel.go",
		Old: "return c.window }", New: "return c.window + time.Hour }",
		Package: "./notify/channel/webhook", Run: "TestI10_",
	},
	{
		Name: "I-29 an error names the receiver's host", File: "notify/channel/webhook/send.go",
		Old: `Err: errors.New("webhook: no connection or no answer")`, New: "Err: err",
		Package: "./notify/channel/webhook", Run: "TestNothingWasSentToAReceiverThatCannotBeReached",
	},
	{
		Name: "security: 360dialog's callbacks need no proof", File: "notify/channel/dialog360/webhook.go",
		Old: "case !w.proved(r.Header):", New: "case false:",
		Package: "./notify/channel/dialog360", Run: "TestForgedCallbackIsRefused",
	},
	{
		Name: "I-10 an error that Meta cannot explain is a refusal", File: "notify/channel/dialog360/codes.go",
		Old: "case unknown[code]:", New: "case false:",
		Package: "./notify/channel/dialog360", Run: "TestAnswersHaveTheirClass",
	},
	{
		Name: "attachments: WhatsApp loses them", File: "notify/channel/dialog360/check.go",
		Old: "case len(m.Attachments) > 0:", New: "case false:",
		Package: "./notify/channel/dialog360", Run: "TestMessageThatCannotBeSentIsRefusedUnsent",
	},
	{
		Name: "I-29 the log holds addresses and texts", File: "notify/channel/slogchannel/channel.go",
		Old: "if o.Unredacted {", New: "if !o.Unredacted {",
		Package: "./notify/channel/slogchannel", Run: "TestI29_",
	},
}
