#!/usr/bin/env bash
# Runs the adapters' suites, the plans and guards, and stories of each domain on every
# version of PostgreSQL that the project claims, by lib/pq and by pgx, and writes what
# ran into the page. Arguments: major versions; none: all. LEVEL is that of the tests.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(14 15 16 17 18)

level=${LEVEL:-nightly}
unset BELFRY_TEST_CLUSTER # a run of make nightly has one, of one version
failed=()
lines=()
for major in "${versions[@]}"; do
	BELFRY_POSTGRES_BIN=$(scripts/setup-postgres.sh "$major")
	export BELFRY_POSTGRES_BIN
	full=$("$BELFRY_POSTGRES_BIN/postgres" -V | sed 's/.*) \([0-9.]*\).*/\1/')
	echo "== PostgreSQL $full"
	line="| $full |"
	for run in "lib/pq:./storage/postgres ./internal/storytest:." "pgx:./...:storage/pgx"; do
		IFS=: read -r driver packages folder <<<"$run"
		# shellcheck disable=SC2086 # several packages
		if (cd "$folder" && BELFRY_TEST="$level" go test -count 1 -timeout 20m $packages); then
			line+=" $level |"
		else
			failed+=("$full with $driver")
		fi
	done
	lines+=("$line")
done
if [ ${#failed[@]} -gt 0 ]; then
	printf 'Failed: %s\n' "${failed[@]}"
	exit 1
fi
# Rows of versions that did not run this time stay.
page=docs/drivers.md
{
	sed '/<!-- versions -->/q' "$page"
	printf '| PostgreSQL | lib/pq | pgx |\n| --- | --- | --- |\n'
	{
		printf '%s\n' "${lines[@]}"
		sed -n '/<!-- versions -->/,/<!-- end of versions -->/s/^| [0-9]/&/p' "$page"
	} | sort -V -s -t. -k1,1 -u
	sed -n '/<!-- end of versions -->/,$p' "$page"
} >"$page.new"
mv "$page.new" "$page"
