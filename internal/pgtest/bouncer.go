package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Bouncer starts a real PgBouncer in transaction mode in front of the server of
// dsn, and returns the URL of the same database through it. It stops when t
// ends. It is set up as operators do it, ignore_startup_parameters for
// extra_float_digits included; settings are pgbouncer.ini parameters, such as
// pool_mode or default_pool_size, that win over that. Where PgBouncer is
// missing the test is skipped, or fails as the package comment says.
func Bouncer(t testing.TB, dsn string, settings map[string]string) string {
	t.Helper()
	b := &bouncer{path: requireBouncer(t), target: target(t, dsn), settings: settings}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.service.end(syscall.SIGTERM), b.dir.remove()); err != nil {
			t.Error(err)
		}
	})
	return Via(t, With(t, dsn, "sslmode", "disable"), b.addr)
}

// bouncer is one PgBouncer.
type bouncer struct {
	path     string
	target   string // where every database is, in pgbouncer.ini's words
	settings map[string]string
	dir      *workdir
	service  *service
	addr     string
}

// target says where PgBouncer finds the server of dsn, and as whom.
func target(t testing.TB, dsn string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(Addr(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, dsn)
	password, _ := u.User.Password()
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	where := fmt.Sprintf("host=%s port=%s user=%s", host, port, quote(u.User.Username()))
	if password != "" { // PgBouncer takes an empty one for a syntax error
		where += " password=" + quote(password)
	}
	return where
}

func (b *bouncer) start() error {
	as, err := serverAccount()
	if err != nil {
		return err
	}
	if b.dir, err = newWorkdir(as); err != nil {
		return err
	}
	if err := onFreePort(func(port int) error { return b.startOn(port, as) }); err != nil {
		return errors.Join(err, b.dir.remove())
	}
	return nil
}

func (b *bouncer) startOn(port int, as *account) error {
	b.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ini := b.dir.file("pgbouncer.ini")
	if err := os.WriteFile(ini, []byte(b.config(port)), 0o644); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.Command(b.path, ini)
	cmd.Dir = b.dir.path
	var err error
	b.service, err = startService(ctx, cmd, as, syscall.SIGTERM, b.dir.file(logName), "process up")
	return err
}

func (b *bouncer) config(port int) string {
	all := map[string]string{
		"listen_addr":               "127.0.0.1",
		"listen_port":               strconv.Itoa(port),
		"unix_socket_dir":           "",
		"auth_type":                 "any",
		"pool_mode":                 "transaction",
		"max_client_conn":           "1000",
		"ignore_startup_parameters": "extra_float_digits",
	}
	maps.Copy(all, b.settings)
	var ini strings.Builder
	fmt.Fprintf(&ini, "[databases]\n* = %s\n[pgbouncer]\n", b.target)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&ini, "%s = %s\n", name, all[name])
	}
	return ini.String()
}
