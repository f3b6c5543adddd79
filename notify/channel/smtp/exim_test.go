//go:build linux

package smtp

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// exim is a real mail server that delivers into a folder. It runs as inetd
// would run it, one process for each connection on its standard input, so that
// it needs no port of its own and ends with its connection.
type exim struct {
	addr, dir, program string
	as                 *syscall.Credential // nil: the user of this process
	listener           net.Listener
	sessions           sync.WaitGroup

	mu  sync.Mutex
	log bytes.Buffer
}

const eximConfig = `
primary_hostname = mail.example
exim_user = %[2]d
exim_group = %[3]d
trusted_users = %[2]d
spool_directory = %[1]s/spool
log_file_path = %[1]s/%%slog
tls_advertise_hosts = *
tls_certificate = %[1]s/cert.pem
tls_privatekey = %[1]s/key.pem
smtputf8_advertise_hosts = *
deliver_drop_privilege
keep_environment =
host_lookup =
acl_smtp_rcpt = rcpt

begin acl
rcpt:
  deny    message = 5.1.1 $local_part@$domain is unknown
          local_parts = unknown
  accept  authenticated = *
          domains = example.com
  deny    message = 5.7.1 relay access denied

begin routers
all:
  driver = accept
  transport = folder

begin transports
folder:
  driver = appendfile
  maildir_format
  directory = %[1]s/mail
  user = %[2]d
  group = %[3]d
  envelope_to_add
  return_path_add

begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_advertise_condition = ${if def:tls_in_cipher}
  server_condition = ${if and{{eq{$auth2}{school}}{eq{$auth3}{secret}}}}
`

// startExim returns a server and who trusts it. A test without the program is
// skipped, but not where nobody would notice.
func startExim(t *testing.T) (*exim, *x509.CertPool) {
	t.Helper()
	s := &exim{program: findExim(t)}
	dir, err := os.MkdirTemp("", "belfry-exim-*") // not t.TempDir, which another user cannot enter
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	uid, gid := s.account(t)
	roots := s.writeCertificate(t)
	s.write(t, "exim.conf", fmt.Appendf(nil, eximConfig, dir, uid, gid))
	if s.as != nil {
		for _, name := range []string{".", "cert.pem", "key.pem", "exim.conf"} {
			if err := os.Chown(filepath.Join(dir, name), uid, gid); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.listen(t)
	return s, roots
}

func findExim(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"exim4", "exim", "/usr/sbin/exim4", "/usr/sbin/exim"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testlevel.Lacks(t, "no Exim on this machine, which the test of the SMTP channel needs (Debian: exim4-daemon-light)")
	return ""
}

// account decides whom Exim runs as, since it delivers to nobody as root.
func (s *exim) account(t *testing.T) (uid, gid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		return os.Getuid(), os.Getgid()
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.Atoi(nobody.Uid)
	gid, gidErr := strconv.Atoi(nobody.Gid)
	if uidErr != nil || gidErr != nil {
		t.Fatal(uidErr, gidErr)
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return uid, gid
}

func (s *exim) writeCertificate(t *testing.T) *x509.CertPool {
	t.Helper()
	cert, roots := certificate(t)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
	s.write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return roots
}

func (s *exim) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *exim) listen(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.addr = listener, listener.Addr().String()
	s.sessions.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.sessions.Go(func() { s.serve(c.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		s.finish()
		if t.Failed() {
			s.report(t)
		}
	})
}

// serve runs one session. Messages are delivered before it goes on (-odf).
func (s *exim) serve(c *net.TCPConn) {
	f, err := c.File()
	_ = c.Close()
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	cmd := exec.Command(s.program, "-C", filepath.Join(s.dir, "exim.conf"), "-oMa", "127.0.0.1", "-odf", "-bs")
	cmd.Stdin, cmd.Stdout, cmd.Dir = f, f, s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	err = cmd.Run()
	s.mu.Lock()
	fmt.Fprintf(&s.log, "session: %v %s\n", err, complaints.Bytes())
	s.mu.Unlock()
}

// finish waits until all sessions have ended, whose connections must be closed.
func (s *exim) finish() {
	_ = s.listener.Close()
	s.sessions.Wait()
}

func (s *exim) report(t *testing.T) {
	t.Helper()
	t.Log(s.log.String())
	for _, name := range []string{"mainlog", "rejectlog", "paniclog"} {
		if text, err := os.ReadFile(filepath.Join(s.dir, name)); err == nil {
			t.Logf("%s:\n%s", name, text)
		}
	}
}

// delivered returns the mails in the folder, by their recipient's address.
func (s *exim) delivered(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.dir, "mail", "new", "*"))
	if err != nil {
		t.Fatal(err)
	}
	mails := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mails[envelopeTo(t, text)] = string(text)
	}
	return mails
}
