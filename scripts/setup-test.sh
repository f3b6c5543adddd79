#!/usr/bin/env bash
# Makes sure that what the tests run against is here: a C compiler (SQLite),
# the PostgreSQL server programs, PgBouncer, and Exim as a mail server. What is missing it installs
# where apt-get is there and it may (root, or sudo without a password), and says
# so; else it says what to run and exits 1. No server is started or left running.
# With BELFRY_POSTGRES_DSN set, the tests use that server and need no other. With the
# argument ha, what `make drill-ha` plays on is made sure of as well.
set -euo pipefail

oldest=15 # of PostgreSQL
wanted=${1:-}

new_enough() { # directory: does it hold the server programs, not too old?
	local version
	[ -x "$1/postgres" ] && [ -x "$1/initdb" ] || return 1
	version=$("$1/postgres" -V) && version=${version##*) } && version=${version%%[!0-9]*}
	[ "${version:-0}" -ge "$oldest" ]
}

have_postgres() { # looks where internal/pgtest looks
	local dir
	for dir in "$(dirname "$(command -v postgres || echo /none)")" /usr/lib/postgresql/*/bin; do
		new_enough "$dir" && return 0
	done
	command -v pg_config >/dev/null && new_enough "$(pg_config --bindir)"
}

have_pgbouncer() { command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]; }

# Another mail server is left alone; the test against a real one is skipped then.
have_mail_server() { [ -x /usr/sbin/exim4 ] || [ -e /usr/sbin/sendmail ]; }

have_cluster() { command -v patroni >/dev/null && command -v etcd >/dev/null && [ -x /usr/sbin/haproxy ]; }

have_compiler() { command -v "${CC:-gcc}" >/dev/null; }

find_missing() { # sets missing: Debian package names
	missing=()
	have_compiler || missing+=(gcc libc6-dev)
	have_mail_server || missing+=(exim4-daemon-light)
	[ "$wanted" != ha ] || have_cluster || missing+=(patroni python3-etcd etcd-server haproxy)
	[ -n "${BELFRY_POSTGRES_DSN:-}" ] && return 0
	have_postgres || missing+=(postgresql)
	have_pgbouncer || missing+=(pgbouncer)
}

find_root() { # sets root: how to run a command as root
	root=()
	[ "$(id -u)" -eq 0 ] && return 0
	root=(sudo -n)
	sudo -n true 2>/dev/null
}

give_up() {
	{
		echo "The tests need what is not on this machine: ${missing[*]}"
		if command -v apt-get >/dev/null; then
			echo "Run: sudo apt-get update && sudo apt-get install --yes ${missing[*]}"
		elif command -v dnf >/dev/null; then
			echo "Run: sudo dnf install gcc postgresql-server pgbouncer"
		elif command -v brew >/dev/null; then
			echo "Run: brew install postgresql@17 pgbouncer && export PATH=\"\$(brew --prefix postgresql@17)/bin:\$PATH\""
		else
			echo "Install a C compiler, PostgreSQL $oldest or later and PgBouncer with your package manager."
		fi
		echo "PostgreSQL must be version $oldest or later. To use a server that runs elsewhere instead, set BELFRY_POSTGRES_DSN to its URL."
	} >&2
	exit 1
}

# The packages would start servers, now and after the next boot. The tests start
# their own, so nothing of that is wanted.
install_missing() {
	local policy=/usr/sbin/policy-rc.d clusters=/etc/postgresql-common/createcluster.conf
	echo "Installing for the tests: ${missing[*]} (no server is started)"
	if [ ! -e "$policy" ]; then
		trap '"${root[@]}" rm -f '"$policy" EXIT
		printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
		"${root[@]}" chmod 755 "$policy"
	fi
	if [ ! -e "$clusters" ]; then
		"${root[@]}" mkdir -p "$(dirname "$clusters")"
		echo 'create_main_cluster = false' | "${root[@]}" tee "$clusters" >/dev/null
	fi
	"${root[@]}" apt-get update -qq
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends \
		-o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "${missing[@]}"
	if command -v systemctl >/dev/null; then # fails where systemd does not run, and where a unit is not there
		"${root[@]}" systemctl disable --quiet pgbouncer exim4 exim4-base.timer patroni etcd haproxy 2>/dev/null || true
	fi
}

if ! command -v go >/dev/null; then
	echo "The tests need Go: install the version that go.mod names, or a later one, and put it on PATH." >&2
	exit 1
fi
find_missing
[ ${#missing[@]} -eq 0 ] && exit 0
if command -v apt-get >/dev/null && find_root; then
	install_missing
	find_missing
fi
[ ${#missing[@]} -eq 0 ] || give_up
