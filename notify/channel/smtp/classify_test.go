package smtp

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

// outcome is what a Send error comes to.
type outcome struct {
	Class channel.Class
	Code  string
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   outcome
	}{
		"server is full":                {at("CONNECT", "421 4.3.2 later"), outcome{channel.ClassTransient, "421 4.3.2"}},
		"server wants no mail":          {at("CONNECT", "554 5.3.2 no mail"), outcome{channel.ClassTransient, "554 5.3.2"}},
		"server knows no greeting":      {func(_ int, s string) string { return map[string]string{"EHLO": "502 no", "HELO": "502 no"}[s] }, outcome{channel.ClassTransient, "502"}},
		"sender is put off":             {at("MAIL", "451 4.7.1 grey"), outcome{channel.ClassTransient, "451 4.7.1"}},
		"sender is blocked":             {at("MAIL", "550 5.7.1 blocked"), outcome{channel.ClassPermanent, "550 5.7.1"}},
		"sender has to log in":          {at("MAIL", "530 5.7.0 log in"), outcome{channel.ClassTransient, "530 5.7.0"}},
		"mailbox is busy":               {at("RCPT", "450 4.2.1 busy"), outcome{channel.ClassTransient, "450 4.2.1"}},
		"mailbox does not exist":        {at("RCPT", "550 5.1.1 unknown"), outcome{channel.ClassPermanent, "550 5.1.1"}},
		"answer without second code":    {at("RCPT", "550 unknown"), outcome{channel.ClassPermanent, "550"}},
		"answer of several lines":       {at("RCPT", "550-5.1.1 who\r\n550 5.1.1 is that"), outcome{channel.ClassPermanent, "550 5.1.1"}},
		"data are put off":              {at("DATA", "451 later"), outcome{channel.ClassTransient, "451"}},
		"data are refused":              {at("DATA", "554 5.5.1 no"), outcome{channel.ClassPermanent, "554 5.5.1"}},
		"data are misunderstood":        {at("DATA", "250 fine"), outcome{channel.ClassTransient, "250"}},
		"mail is put off":               {at(".", "452 4.3.1 disk full"), outcome{channel.ClassTransient, "452 4.3.1"}},
		"mail is refused":               {at(".", "554 5.6.0 spam"), outcome{channel.ClassPermanent, "554 5.6.0"}},
		"server shuts down":             {at(".", "421 4.3.2 bye"), outcome{channel.ClassTransient, "421 4.3.2"}},
		"answer to mail is strange":     {at(".", "354 what"), outcome{channel.ClassUnknown, "final dot"}},
		"answer to mail is not a reply": {at(".", "queued, sam@example.com"), outcome{channel.ClassUnknown, "final dot"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{script: c.script})
			err := refuse(t.Context(), t, open(t, s.addr, nil), message())
			if diff := cmp.Diff(c.want, outcome{err.Class, err.Code}); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

func TestAnyAnswerOfSuccessAccepts(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{script: at(".", "251 will forward")})
	send(t, open(t, s.addr, nil), message())
}

func TestLostConnectionIsInDoubtOnlyAfterTheFinalDot(t *testing.T) {
	t.Parallel()
	for _, how := range []string{drop, reset} {
		for _, step := range []string{"CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "CONTENT", "."} {
			t.Run(step+how, func(t *testing.T) {
				t.Parallel()
				s := serve(t, &server{script: at(step, how)})
				m := message()
				if step == "CONTENT" {
					m.Text = tooMuch
				}
				got := refuse(t.Context(), t, open(t, s.addr, nil), m)
				want := channel.ClassTransient
				if step == "." {
					want = channel.ClassUnknown
				}
				if got.Class != want {
					t.Errorf("got %v, want %s", got, want)
				}
				if total, _ := s.connections(); total != 1 || s.seen("DATA") > 1 {
					t.Errorf("%d connections, %d times DATA: it was tried again", total, s.seen("DATA"))
				}
			})
		}
	}
}

func TestI30_SendReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "CONTENT", "."} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{script: at(step, hang)})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-s.silent
				cancel()
			}()
			m := message()
			if step == "CONTENT" {
				m.Text = tooMuch
			}
			got := refuse(ctx, t, open(t, s.addr, nil), m)
			want := channel.ClassTransient
			if step == "." {
				want = channel.ClassUnknown
			}
			if got.Class != want {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
}

func TestI30_SendReturnsAfterItsTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, &Options{TLS: NoTLS, Timeout: time.Nanosecond})
	if got := refuse(t.Context(), t, c, message()); got.Class != channel.ClassTransient || !errors.Is(got, context.DeadlineExceeded) {
		t.Error(got)
	}
}

func TestContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := refuse(ctx, t, open(t, s.addr, nil), message()); got.Class != channel.ClassTransient || !errors.Is(got, context.Canceled) {
		t.Error(got)
	}
	if s.seen("MAIL") != 0 {
		t.Error("the server was asked")
	}
}

func TestServerThatIsNotThereIsTransient(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	_ = listener.Close()
	for _, addr := range []string{addr, "mail.invalid:25"} {
		if got := refuse(t.Context(), t, open(t, addr, nil), message()); got.Class != channel.ClassTransient || got.Code != "dial" {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

func TestFinalDotIsNotSentAfterTheContextHasEnded(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, nil)
	m, err := c.sender.Build(message())
	if err != nil {
		t.Fatal(err)
	}
	cn, err := c.begin(t.Context(), m) // its reads and writes do not end
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = cn.deliver(ended, m)
	got := channel.Classify(err)
	cn.close()
	s.waitGone()
	if got == nil || got.Class != channel.ClassTransient || len(s.accepted()) != 0 {
		t.Errorf("%v, %d mails", got, len(s.accepted()))
	}
}

// The channel is at fault where nothing could be sent at all.
func TestAnswersBlameTheChannelTheAddressOrTheMessage(t *testing.T) {
	t.Parallel()
	const ofAccount, atServer, address, message1 = channel.FaultAccount, channel.FaultProvider, channel.FaultAddress, channel.FaultMessage
	for name, c := range map[string]struct {
		script script
		want   channel.Fault
	}{
		"server is full":             {at("CONNECT", "421 4.3.2 later"), atServer},
		"server hangs up":            {at("EHLO", drop), atServer},
		"server shuts down":          {at("RCPT", "421 bye"), atServer},
		"sender has to log in":       {at("MAIL", "530 5.7.0 log in"), ofAccount},
		"sender is blocked":          {at("MAIL", "550 5.7.1 blocked"), ofAccount},
		"sender's domain is unknown": {at("RCPT", "550 5.1.8 who are you"), ofAccount},
		"sender is put off":          {at("MAIL", "451 4.7.1 grey"), ""},
		"mail is too large":          {at("MAIL", "552 5.3.4 too large"), message1},
		"mail is too large, in old":  {at("MAIL", "552 too large"), ""},
		"mailbox does not exist":     {at("RCPT", "550 5.1.1 unknown"), address},
		"mailbox is unknown, in old": {at("RCPT", "550 unknown"), address},
		"mailbox is busy":            {at("RCPT", "450 4.2.1 busy"), address},
		"mailbox takes less":         {at("RCPT", "552 5.2.3 too long"), message1},
		"connection breaks":          {at("DATA", drop), ""},
		"data are refused":           {at("DATA", "554 5.5.1 no"), ""},
		"disk is full":               {at(".", "452 4.3.1 disk full"), atServer},
		"content is refused":         {at(".", "554 5.6.0 spam"), message1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{script: c.script})
			if err := refuse(t.Context(), t, open(t, s.addr, nil), message()); err.Fault != c.want {
				t.Errorf("%v blames %q, want %q", err, err.Fault, c.want)
			}
		})
	}
}

// Nobody is blamed for an attempt that we ended ourselves.
func TestAnAttemptThatWeEndBlamesNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{script: at("EHLO", hang)})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.silent
		cancel()
	}()
	if err := refuse(ctx, t, open(t, s.addr, nil), message()); err.Class != channel.ClassTransient || err.Fault != "" {
		t.Errorf("%v blames %q", err, err.Fault)
	}
}

func TestAnswersSuppressAMailboxThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   channel.SuppressionReason
	}{
		"mailbox does not exist":      {at("RCPT", "550 5.1.1 unknown"), channel.HardBounce},
		"mailbox has moved":           {at("RCPT", "551 5.1.6 moved"), channel.HardBounce},
		"domain takes no mail":        {at("RCPT", "556 5.1.10 null MX"), channel.HardBounce},
		"mailbox is found out late":   {at(".", "550 5.1.1 unknown"), channel.HardBounce},
		"mailbox is unknown for now":  {at("RCPT", "450 4.1.1 unknown"), ""},
		"mailbox is unknown, in old":  {at("RCPT", "550 unknown"), ""},
		"mailbox is full":             {at("RCPT", "552 5.2.2 full"), ""},
		"mailbox is switched off":     {at("RCPT", "550 5.2.1 disabled"), ""},
		"sender is not let through":   {at("RCPT", "550 5.7.1 blocked"), ""},
		"sender's mailbox is unknown": {at("MAIL", "550 5.1.1 who"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{script: c.script})
			if err := refuse(t.Context(), t, open(t, s.addr, nil), message()); err.Suppress != c.want {
				t.Errorf("%v suppresses for %q, want %q", err, err.Suppress, c.want)
			}
		})
	}
}
