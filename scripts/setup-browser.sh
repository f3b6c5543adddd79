#!/usr/bin/env bash
# Makes sure that the browser tests have a Chromium. Debian's is installed where
# apt-get is there and it may (root, or sudo without a password); else the script
# says what to run and exits 1.
set -euo pipefail

have_chromium() { # looks where the tests look
	local name
	for name in chromium chromium-browser google-chrome-stable google-chrome; do
		command -v "$name" >/dev/null && return 0
	done
	return 1
}

# Arabic needs letters to be drawn with.
packages=(chromium fonts-dejavu-core)

give_up() {
	{
		echo "The browser tests need Chromium, which is not on this machine."
		if command -v apt-get >/dev/null; then
			echo "Run: sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${packages[*]}"
		else
			echo "Install it with your package manager, so that chromium, chromium-browser or google-chrome is on PATH."
		fi
	} >&2
	exit 1
}

have_chromium && exit 0
command -v apt-get >/dev/null || give_up
root=()
if [ "$(id -u)" -ne 0 ]; then
	root=(sudo -n)
	sudo -n true 2>/dev/null || give_up
fi
echo "Installing for the browser tests: ${packages[*]}"
if ! "${root[@]}" apt-get update -qq || ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
	--no-install-recommends -o Dpkg::Use-Pty=0 "${packages[@]}"; then
	echo "apt-get could not install it." >&2
	give_up
fi
have_chromium || give_up
