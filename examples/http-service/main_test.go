package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// The replicas of the test are this binary again.
func TestMain(m *testing.M) {
	if os.Getenv("BELFRY_EXAMPLE") != "" {
		main()
		return
	}
	pgtest.Main(m)
}

// mailer stands for the mail provider: it takes mails as JSON and counts them.
type mailer struct {
	came chan struct{} // has something after a mail
	mu   sync.Mutex
	got  map[string]int // by address
}

func (m *mailer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var mail struct{ To string }
	if err := json.NewDecoder(r.Body).Decode(&mail); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.got[mail.To]++
	w.Header().Set("Message-Id", fmt.Sprintf("%s-%d", mail.To, m.got[mail.To]))
	m.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	select {
	case m.came <- struct{}{}:
	default:
	}
}

func (m *mailer) mails() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.got)
}

// replica is the program in a process of its own.
type replica struct {
	url string
	cmd *exec.Cmd
}

// hotel is the service, and those who call it.
type hotel struct {
	*testing.T
	dsn, mailer string
	live        []replica
	want        map[string]int // mails by address
	next        int
}

// up starts a replica, and returns when it listens.
func (h *hotel) up() {
	h.Helper()
	self, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.CommandContext(h.Context(), self, "-dsn", h.dsn, "-addr", "127.0.0.1:0", "-token", "secret", "-mailer", h.mailer)
	cmd.Env, cmd.Stderr = append(os.Environ(), "BELFRY_EXAMPLE=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			h.live = append(h.live, replica{"http://" + addr, cmd})
			return
		}
	}
	h.Fatal("a replica did not start: ", cmd.Wait())
}

// down asks the oldest replica to end, as an orchestrator would, and waits for it.
func (h *hotel) down() {
	h.Helper()
	oldest := h.live[0].cmd
	h.live = h.live[1:]
	if err := oldest.Process.Signal(syscall.SIGTERM); err != nil {
		h.Fatal(err)
	}
	if err := oldest.Wait(); err != nil {
		h.Fatal(err)
	}
}

// call sends a request to a replica, and expects a status.
func (h *hotel) call(r replica, method, path string, body any, status int) string {
	h.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.Error(err)
	}
	req, err := http.NewRequestWithContext(h.Context(), method, r.url+path, bytes.NewReader(text))
	if err != nil {
		h.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Error(err)
		return ""
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		h.Errorf("%s %s: %s: %s %v", method, path, resp.Status, answer, err)
	}
	return string(answer)
}

// book makes bookings whose reminders are due in some seconds, those of the first two in an
// hour: one is cancelled and one is moved before it is reminded of. An impatient client
// says each of them to all replicas at once.
func (h *hotel) book(n int) {
	h.Helper()
	for range n {
		h.next++
		in := time.Duration(4+h.next%3) * time.Second
		if h.next <= 2 {
			in = time.Hour
		}
		b := booking{
			ID: fmt.Sprintf("b%02d", h.next), Email: fmt.Sprintf("guest%02d@example.com", h.next), Seats: 1,
			StartsOn: time.Now().Add(remindBefore + in),
		}
		h.want[b.Email] = 1
		var calls sync.WaitGroup
		for _, r := range h.live {
			calls.Go(func() { h.call(r, http.MethodPut, "/bookings/"+b.ID, b, http.StatusOK) })
		}
		calls.Wait()
	}
}

// wait returns when everybody has the mails that they should.
func (h *hotel) wait(m *mailer) {
	h.Helper()
	missing := func(to string) bool { return m.mails()[to] < h.want[to] }
	for slices.ContainsFunc(slices.Collect(maps.Keys(h.want)), missing) {
		select {
		case <-m.came:
		case <-time.After(10 * time.Minute):
			h.Fatalf("%v, and not %v", m.mails(), h.want)
		}
	}
}

// A booking that moves within its day, after its reminder went out, is reminded of
// again; one that is saved as it was is not.
func TestABookingThatMovesIsRemindedOfAgain(t *testing.T) {
	t.Parallel()
	m := &mailer{came: make(chan struct{}, 1), got: map[string]int{}}
	provider := httptest.NewServer(m)
	defer provider.Close()
	h := &hotel{T: t, dsn: pgtest.DSN(t), mailer: provider.URL, want: map[string]int{}}
	h.up()
	b := booking{ID: "b01", Email: "guest01@example.com", Seats: 1}
	for n := range 2 {
		b.StartsOn = time.Now().Add(remindBefore + 3*time.Second)
		h.call(h.live[0], http.MethodPut, "/bookings/b01", b, http.StatusOK)
		h.call(h.live[0], http.MethodPut, "/bookings/b01", b, http.StatusOK)
		h.want[b.Email] = n + 1
		h.wait(m)
	}
	h.down()
	if got := m.mails(); !maps.Equal(got, h.want) {
		t.Errorf("%v, and not %v", got, h.want)
	}
}

// Two replicas are restarted one after the other while bookings go on and reminders
// come due. Everybody who should have a mail has one.
func TestARollingRestartSendsEachReminderOnce(t *testing.T) {
	t.Parallel()
	m := &mailer{came: make(chan struct{}, 1), got: map[string]int{}}
	provider := httptest.NewServer(m)
	defer provider.Close()
	h := &hotel{T: t, dsn: pgtest.DSN(t), mailer: provider.URL, want: map[string]int{}}
	h.up()
	h.up()
	h.book(12)

	// A party of 80 is refused: its transaction rolls back, and the reminder with it.
	party := booking{Email: "party@example.com", Seats: 80, StartsOn: time.Now().Add(remindBefore + 3*time.Second)}
	h.call(h.live[0], http.MethodPut, "/bookings/party", party, http.StatusConflict)
	delete(h.want, "guest01@example.com") // who cancels
	h.call(h.live[1], http.MethodDelete, "/bookings/b01", nil, http.StatusOK)
	moved := booking{Email: "guest02@example.com", Seats: 1, StartsOn: time.Now().Add(remindBefore + 7*time.Second)}
	h.call(h.live[0], http.MethodPut, "/bookings/b02", moved, http.StatusOK)

	for range 2 {
		h.up()
		h.book(4)
		h.down()
		h.book(4)
	}
	h.wait(m)
	story := h.call(h.live[0], http.MethodGet, "/bookings/b02/reminders", nil, http.StatusOK)
	if !strings.Contains(story, "booking for booking b02, 2h before 2") || !strings.Contains(story, "Completed on") {
		t.Error("the help desk reads: ", story)
	}
	h.down()
	h.down()
	if got := m.mails(); len(got) != 27 || !maps.Equal(got, h.want) {
		t.Errorf("%v, and not %v", got, h.want)
	}
}
