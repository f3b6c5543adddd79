package slogchannel_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/slogchannel"
)

func Example() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	texts := slogchannel.New(logger, &slogchannel.Options{Key: "sms:slog"})

	// In earnest notify.New(store, nil, texts) does this.
	receipt, err := texts.Send(context.Background(), channel.Message{ID: "5f1d", Channel: "sms:slog", To: "+41793026727", Text: "It expires soon.", Attempt: 1})
	fmt.Println(receipt.ID, err)
	// Output:
	// level=INFO msg="belfry: message" message=5f1d channel=sms:slog attempt=1 subject_bytes=0 text_bytes=16 html_bytes=0
	// 5f1d <nil>
}
