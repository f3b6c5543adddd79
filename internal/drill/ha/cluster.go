package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq" // looks on
)

// cluster is three PostgreSQL under Patroni, with etcd as the lock service, and HAProxy and
// PgBouncer in front, all on loopback and in one folder.
type cluster struct {
	dir, bin         string
	as               *syscall.Credential // whom servers run as; nil: this process's user
	log              *os.File
	etcd             *process
	haproxy, bouncer *process
	etcdPort         int
	proxyPort        int
	bouncerPort      int
	nodes            []*node
}

// node is one PostgreSQL and its Patroni.
type node struct {
	name       string
	port, rest int
	dir        string
	patroni    *process
}

// programs are what a cluster is made of, and Debian's packages of them.
var programs = map[string]string{
	"patroni": "patroni", "etcd": "etcd-server", "/usr/sbin/haproxy": "haproxy", "/usr/sbin/pgbouncer": "pgbouncer",
}

// missing names the packages that are not installed.
func missing() (packages []string) {
	for program, of := range programs {
		if _, err := exec.LookPath(program); err != nil {
			packages = append(packages, of)
		}
	}
	slices.Sort(packages)
	return packages
}

// settings are Patroni's in every series; the documentation recommends them.
const settings = `
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    failsafe_mode: true
    synchronous_mode: %[1]t
    synchronous_mode_strict: %[1]t
    postgresql:
      use_pg_rewind: true
      parameters: {wal_log_hints: "on", max_connections: 100, max_wal_senders: 10, shared_buffers: 32MB}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}]
`

// start makes a cluster, and returns when it takes writes.
func start(ctx context.Context, synchronous bool) (_ *cluster, err error) {
	c := &cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if c.as, err = account(); err != nil {
		return nil, err
	}
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		return nil, errors.New("no PostgreSQL in /usr/lib/postgresql")
	}
	c.bin = bins[len(bins)-1]
	if c.dir, err = os.MkdirTemp("/tmp", "belfry-ha-"); err == nil {
		err = c.own(c.dir)
	}
	if err != nil {
		return nil, err
	}
	if c.log, err = os.CreateTemp("", "belfry-ha-*.log"); err != nil {
		return nil, err
	}
	if c.etcdPort, err = freePort(); err != nil {
		return nil, err
	}
	peer, err := freePort()
	if err != nil {
		return nil, err
	}
	at := fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort)
	// By etcd's API of version 3, Patroni before 3.0.3 writes the leader key without looking
	// who has it: a primary that was stopped takes it back from its successor, whose commits
	// are lost.
	if c.etcd, err = c.run("etcd", "--enable-v2", "--data-dir", c.path("etcd"), "--listen-client-urls", at, "--advertise-client-urls", at,
		"--listen-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", peer), "--initial-cluster", fmt.Sprintf("default=http://127.0.0.1:%d", peer),
		"--initial-advertise-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", peer)); err != nil {
		return nil, err
	}
	for i := range 3 {
		if err := c.add(fmt.Sprint("n", i+1), synchronous); err != nil {
			return nil, err
		}
	}
	if err := c.await(ctx, "a primary with two standbys", func() bool { return c.healthy(ctx, synchronous) }); err != nil {
		return nil, err
	}
	if err := c.front(); err != nil {
		return nil, err
	}
	return c, c.await(ctx, "HAProxy that leads to the primary alone", func() bool { return c.led(ctx) })
}

// led says that HAProxy, which believes each server until it has asked it, leads to the
// primary in each of its turns.
func (c *cluster) led(ctx context.Context) bool {
	for range c.nodes {
		var standby bool
		if err := ask(ctx, c.proxyPort, "SELECT pg_is_in_recovery()", &standby); err != nil || standby {
			return false
		}
	}
	return true
}

// ask reads one value on a connection of its own.
func ask(ctx context.Context, port int, query string, value any) error {
	db, err := sql.Open("postgres", dsn(port))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return errors.Join(db.QueryRowContext(ctx, query).Scan(value), db.Close())
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) own(path string) error {
	if c.as == nil {
		return nil
	}
	return os.Chown(path, int(c.as.Uid), int(c.as.Gid))
}

func (c *cluster) write(name, text string) (path string, err error) {
	path = c.path(name)
	return path, errors.Join(os.WriteFile(path, []byte(text), 0o644), c.own(path))
}

// add makes a node and starts its Patroni.
func (c *cluster) add(name string, synchronous bool) (err error) {
	n := &node{name: name, dir: c.path(name)}
	if n.port, err = freePort(); err == nil {
		n.rest, err = freePort()
	}
	if err != nil {
		return err
	}
	config := fmt.Sprintf("scope: belfry\nname: %s\nlog: {format: '%%(asctime)s %[1]s %%(levelname)s: %%(message)s'}\nrestapi: {listen: '127.0.0.1:%[2]d', connect_address: '127.0.0.1:%[2]d'}\netcd: {host: '127.0.0.1:%[3]d'}\n",
		name, n.rest, c.etcdPort) + fmt.Sprintf(settings, synchronous) + fmt.Sprintf(`
postgresql:
  listen: 127.0.0.1:%d
  connect_address: 127.0.0.1:%d
  data_dir: %s
  bin_dir: %s
  pgpass: %s.pgpass
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  authentication: {superuser: {username: postgres, password: x}, replication: {username: postgres, password: x}, rewind: {username: postgres, password: x}}
  parameters: {unix_socket_directories: %s, log_line_prefix: '%%m %s [%%p] '}
`, n.port, n.port, n.dir, c.bin, n.dir, c.dir, name)
	if _, err := c.write(name+".yml", config); err != nil {
		return err
	}
	c.nodes = append(c.nodes, n)
	return c.begin(n)
}

func (c *cluster) begin(n *node) (err error) {
	n.patroni, err = c.run("patroni", c.path(n.name+".yml"))
	return err
}

// front starts HAProxy, which asks Patroni who the primary is, and PgBouncer before it.
func (c *cluster) front() (err error) {
	if c.proxyPort, err = freePort(); err == nil {
		c.bouncerPort, err = freePort()
	}
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  timeout check 2s
  timeout client 30m
  timeout server 30m
listen primary
  bind 127.0.0.1:%d
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
`, c.proxyPort)
	for _, n := range c.nodes {
		config += fmt.Sprintf("  server %s 127.0.0.1:%d check port %d\n", n.name, n.port, n.rest)
	}
	path, err := c.write("haproxy.cfg", config)
	if err != nil {
		return err
	}
	if c.haproxy, err = c.run("/usr/sbin/haproxy", "-db", "-f", path); err != nil {
		return err
	}
	path, err = c.write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 30
server_connect_timeout = 2
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`, c.proxyPort, c.bouncerPort))
	if err == nil {
		c.bouncer, err = c.run("/usr/sbin/pgbouncer", path)
	}
	return err
}

// all are the processes of a node: its Patroni, its PostgreSQL and the backends.
func (n *node) all() (pids []int) {
	select {
	case <-n.patroni.done:
	default:
		pids = append(pids, n.patroni.cmd.Process.Pid)
	}
	text, err := os.ReadFile(filepath.Join(n.dir, "postmaster.pid"))
	if err != nil {
		return pids
	}
	line, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(line)
	if err != nil {
		return pids
	}
	pids = append(pids, postmaster)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == line {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// signal is sent to all processes of a node.
func (n *node) signal(s syscall.Signal) {
	for _, pid := range n.all() {
		_ = syscall.Kill(pid, s) // some have ended
	}
}

// dsn names the database on some ports, with the settings that the documentation
// recommends.
func dsn(ports ...int) string {
	hosts, list := strings.Repeat(",127.0.0.1", len(ports))[1:], strings.Trim(fmt.Sprint(ports), "[]")
	return "host=" + hosts + " port=" + strings.ReplaceAll(list, " ", ",") + " user=postgres dbname=postgres sslmode=disable connect_timeout=2"
}

// direct is the database by all its hosts.
func (c *cluster) direct() string {
	var ports []int
	for _, n := range c.nodes {
		ports = append(ports, n.port)
	}
	return dsn(ports...)
}

// primary is the node that takes writes, by its own word; nil: none does.
func (c *cluster) primary(ctx context.Context) *node {
	for _, n := range c.nodes {
		if n.asks(ctx, "/primary") {
			return n
		}
	}
	return nil
}

// asks whether Patroni's answer is yes.
func (n *node) asks(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", n.rest, path), http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// switchover asks Patroni for another primary.
func (n *node) switchover(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/switchover", n.rest), strings.NewReader(`{"leader":"`+n.name+`"}`))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("switchover: %s: %s", resp.Status, text)
	}
	return errors.Join(err, resp.Body.Close())
}

// healthy says that one node takes writes, and the others follow it. Patroni has to know
// the synchronous one: in strict mode PostgreSQL calls a standby synchronous before.
func (c *cluster) healthy(ctx context.Context, synchronous bool) bool {
	p := c.primary(ctx)
	if p == nil {
		return false
	}
	var streaming int
	err := ask(ctx, p.port, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", &streaming)
	return err == nil && streaming == len(c.nodes)-1 &&
		(!synchronous || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.asks(ctx, "/synchronous") }))
}

// patience is how long the drill waits for the cluster.
const patience = 3 * time.Minute

// await asks until it is so.
func (c *cluster) await(ctx context.Context, what string, so func() bool) error {
	late := wall.Timer(patience)
	defer late.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			text, _ := os.ReadFile(c.log.Name())
			return fmt.Errorf("not within %v: %s; the end of the log:\n%s", patience, what, text[max(0, len(text)-4000):])
		case <-wall.After(200 * time.Millisecond):
		}
	}
	return nil
}

// stop ends all, and removes the folder. The log stays.
func (c *cluster) stop() error {
	c.bouncer.end()
	c.haproxy.end()
	for _, n := range c.nodes {
		if n.patroni != nil {
			n.signal(syscall.SIGCONT)
			n.patroni.end()
			n.signal(syscall.SIGKILL)
		}
	}
	c.etcd.end()
	if c.log != nil {
		_ = c.log.Close()
	}
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}
