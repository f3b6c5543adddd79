package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/file"
)

func Example() {
	dir, err := os.MkdirTemp("", "belfry-mail-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	mails := file.New(dir, &file.Options{From: "School <office@school.example>"})
	m := channel.Message{ID: "5f1d", To: "sam@example.com", Name: "Sam Weller", Subject: "Your certificate expires",
		Text: "Please renew it.", On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	receipt, err := mails.Send(context.Background(), m) // in earnest a Notifier does this
	fmt.Println(receipt.ID, err)

	text, err := os.ReadFile(filepath.Join(dir, receipt.ID))
	fmt.Println(strings.ReplaceAll(string(text), "\r\n", "\n"), err)
	// Output:
	// 5f1d.eml <nil>
	// Auto-Submitted: auto-generated
	// Date: Sun, 01 Mar 2026 08:00:00 +0000
	// MIME-Version: 1.0
	// Message-ID: <5f1d@school.example>
	// Subject: Your certificate expires
	// From: "School" <office@school.example>
	// To: "Sam Weller" <sam@example.com>
	// Content-Transfer-Encoding: quoted-printable
	// Content-Type: text/plain; charset=UTF-8
	//
	// Please renew it.=
	//  <nil>
}

func ExampleChannel_Lookup() {
	dir, err := os.MkdirTemp("", "belfry-mail-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx, mails := context.Background(), file.New(dir, nil)
	m := channel.Message{ID: "5f1d", To: "sam@example.com", Subject: "Hello", On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	before, err := mails.Lookup(ctx, m)
	fmt.Println(before.Status, err)
	_, err = mails.Send(ctx, m)
	fmt.Println(err)
	after, err := mails.Lookup(ctx, m)
	fmt.Println(after.Status, after.Receipt.ID, err)
	// Output:
	// Absent <nil>
	// <nil>
	// Accepted 5f1d.eml <nil>
}
