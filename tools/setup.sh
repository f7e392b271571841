# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What ./quickstart and ./check have in common. Source it from the root of the tree.

logs=build/logs

# What a build needs; ./quickstart adds what its example needs, ./check what tests and gates need.
packages_build=(gcc libc6-dev binutils cmake ninja-build pkg-config
	libuv1-dev libyaml-dev libinih-dev libcjson-dev libcurl4-openssl-dev libmicrohttpd-dev libssl-dev)

say() {
	printf '==> %s\n' "$*"
}

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# quietly NAME COMMAND...: keep the output in build/logs/NAME.log, show its end only when the command fails.
quietly() {
	local log=$logs/$1.log
	shift
	mkdir -p "$logs"
	"$@" >"$log" 2>&1 </dev/null && return 0
	# without ninja's lines of progress
	{ grep -v '^\[[0-9]*/[0-9]*\] ' "$log" || true; } | tail -n 60 >&2
	printf 'error: "%s" failed; all of its output is in %s\n' "$*" "$log" >&2
	return 1
}

missing_packages() {
	local package
	for package in $(printf '%s\n' "$@" | sort -u); do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
	done
}

# Nothing of debconf may ask, and another apt that runs at the moment is waited for.
apt() {
	local as_root=()
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 "$@"
}

# install_packages NAME...: install those that are missing. Does nothing, and needs no network, when all are there.
install_packages() {
	local missing
	if ! command -v dpkg-query >/dev/null; then
		say "this is no Debian: please see yourself that these are there: $*"
		return 0
	fi
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		die "packages are missing and there is no sudo; run this as root, then start again:
    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
	fi
	say "installing ${#missing[@]} packages with apt-get: ${missing[*]}"
	# sudo asks for its password here, where one can see it
	[ "$(id -u)" = 0 ] || sudo -v || die "sudo refused; install the packages above yourself, then start again"
	quietly apt-update apt update
	quietly apt-install apt install --no-install-recommends "${missing[@]}"
}

# build PRESET [TARGET...]: configure and build it, or only some of it, below build/PRESET.
build() {
	local preset=$1 targets=()
	shift
	[ $# = 0 ] || targets=(--target "$@")
	say "building: preset $preset, into build/$preset"
	quietly "configure-$preset" cmake --preset "$preset"
	quietly "build-$preset" cmake --build --preset "$preset" "${targets[@]}"
}
