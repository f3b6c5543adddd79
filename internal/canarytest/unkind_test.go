package canarytest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// unkind is a provider of every kind that refuses in turn in all ways, and says in
// its answers what it was told.
type unkind struct {
	*httptest.Server
	apple *httptest.Server // the same, over HTTP/2
	mu    sync.Mutex
	asked map[string]int // by path
	told  atomic.Int64   // requests with a canary
}

func newUnkind(t *testing.T) *unkind {
	u := &unkind{asked: map[string]int{}}
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(u.Close)
	u.apple = httptest.NewUnstartedServer(http.HandlerFunc(u.serve))
	u.apple.EnableHTTP2 = true
	u.apple.StartTLS()
	t.Cleanup(u.apple.Close)
	return u
}

func (u *unkind) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	if strings.Contains(strings.ToLower(fmt.Sprint(string(body), r.Header)), canary) {
		u.told.Add(1)
	}
	echo := fmt.Sprintf(`{"errors":[{"message":%q}],"message":%q,"code":21211,"error":{"code":131000,"message":%q}}`, body, body, r.Header)
	if r.URL.Path == "/token" {
		echo = `{"access_token":"zinnober-access-token","expires_in":3599}`
	}
	code := u.next(r.URL.Path)
	if code == 0 {
		panic(http.ErrAbortHandler) // the connection is cut
	}
	w.Header().Set("Location", u.URL+"/"+canary)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, echo)
}

// next is how a path answers this time; 0: not at all.
func (u *unkind) next(path string) int {
	codes := []int{0, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusOK, http.StatusUnauthorized, http.StatusServiceUnavailable, http.StatusBadRequest}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked[path]++
	return codes[(u.asked[path]-1)%len(codes)]
}

// newPostOffice is a mail server that refuses recipients by their address, and
// returns its own.
func newPostOffice(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			refuseMail(c)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func refuseMail(c net.Conn) {
	defer c.Close()
	_, _ = io.WriteString(c, "220 ready\r\n")
	for in := bufio.NewScanner(c); in.Scan(); {
		answer := "250 fine"
		switch verb, rest, _ := strings.Cut(strings.ToUpper(in.Text()), " "); verb {
		case "RCPT":
			answer = "451 4.1.1 " + rest + " unknown"
		case "QUIT":
			answer = "221 bye"
		}
		_, _ = io.WriteString(c, answer+"\r\n")
		if strings.HasPrefix(answer, "221") {
			return
		}
	}
}
