#!/usr/bin/env bash
# Lets the nested modules that are published require one version of the library, and
# checks that they build. docs/releasing.md says when. Argument: the version.
set -euo pipefail

version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$ ]] || { echo "usage: scripts/release.sh v0.1.0" >&2; exit 2; }
cd "$(dirname "$0")/.."
grep -q "^## \[${version#v}\]" CHANGELOG.md || { echo "CHANGELOG.md has no entry for ${version#v}." >&2; exit 1; }
modules=(notify/channel/ses storage/pgx survey/subscriber/watermill)
for module in "${modules[@]}"; do
	(cd "$module" && go mod edit -require="github.com/belfry-go/belfry@$version" && go build ./...)
done
# Who uses those modules here has to name the same versions.
for file in $(git ls-files '*/go.mod'); do
	for module in "" "${modules[@]/#//}"; do
		name=github.com/belfry-go/belfry$module
		if grep -q "^\(require \)\?[[:space:]]*$name v" "$file"; then
			(cd "$(dirname "$file")" && go mod edit -require="$name@$version")
		fi
	done
done
echo "Commit, then: git tag --sign for $version ${modules[*]/%//$version}"
