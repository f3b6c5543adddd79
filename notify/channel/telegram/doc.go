// Package telegram is the channel to Telegram chats: each message is sent by a bot,
// with the Bot API's sendMessage.
//
//	chats, err := telegram.New(os.Getenv("TELEGRAM_BOT_TOKEN"), nil) // from @BotFather
//	out := notify.New(store, nil, chats)
//	// a recipient: {Ref: "sam", Channel: "chat:telegram", Address: "123456789"}
//
// The address is the chat's id, or a public channel's "@name", and behind a colon the
// topic of a forum: "-1001234567890:42". A bot may only write to who has written to it
// or has it in his group. The text goes out as it is, without markup.
//
// # What an error means
//
// Telegram accepts with the status 200 and "ok": true (Telegram documentation, "Making
// requests", "ResponseParameters").
//
//	dial, TLS, no byte of the request written  Transient
//	401, 404                                   Transient: the token
//	429                                        Transient, with retry_after
//	403                                        Permanent, of the address; a bot that was
//	                                           blocked or kicked, and a user who is
//	                                           deactivated, suppress it
//	400 about the chat                         Permanent, of the address
//	other 4xx                                  Permanent
//	3xx                                        Transient; nothing is followed
//	200 without "ok", 5xx, no answer, half one Unknown
//
// Its descriptions are texts for people, of which only those above are known. Telegram
// knows no repeated message and cannot be asked, so a doubt is for a policy or a person.
// It has no callbacks about messages.
package telegram
