#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ./quickstart and ./check as a new machine sees them: in a fresh Debian 12 that has git and nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/setup.sh

usage() {
	cat <<'USAGE'
usage: tools/bare.sh [option...] [-- command...]

Makes a minimal Debian 12 (debootstrap's minbase, and git) in a folder of its own, clones HEAD into its empty home
folder and runs "./quickstart" and then "./check" there, in namespaces of their own for mounts, processes, IPC and host
name; the network is this machine's. Needs root, 25 GB of disk and the package registries. Uncommitted changes do not
count. The last lines say how long each command took; the exit status is that of the first command that failed.

  --times N      do all of it N times, each time from nothing (default 1)
  --cgroup 1|2   mount control groups of this version only; which controllers the kernel gives them is printed
  --cluster DIR  take etcd, kube-apiserver and the other programs of a cluster from DIR, where they are built from
                 source otherwise; saves a quarter of an hour, and is then not quite bare
  --root DIR     the folder of the new root (default: a new one below ${TMPDIR:-/var/tmp})
  --keep         leave the root where it is, for a look
  -- command...  run this line of shell in the clone in place of the two commands

What belongs to the site and not to the machine is passed on: apt's sources, certificates of
/usr/local/share/ca-certificates, /etc/pip.conf, the resolver, and the variables of proxies, GOPROXY, GOSUMDB and
GOFLAGS.
USAGE
}

times=1
cgroup=
cluster=
root=
keep=0
commands=(./quickstart ./check)
site=()

read_arguments() {
	while [ $# -gt 0 ]; do
		case $1 in
		--times | --cgroup | --cluster | --root)
			[ $# -gt 1 ] || die "$1 needs a value"
			printf -v "${1#--}" '%s' "$2"
			shift
			;;
		--keep) keep=1 ;;
		-h | --help) usage && exit 0 ;;
		--)
			shift
			[ $# -gt 0 ] || die "-- needs a command"
			commands=("$*")
			return
			;;
		*) usage >&2 && die "unknown argument \"$1\"" ;;
		esac
		shift
	done
	case $times in '' | *[!0-9]* | 0) die "--times \"$times\" is no count" ;; esac
	case $cgroup in '' | 1 | 2) ;; *) die "--cgroup \"$cgroup\" is neither 1 nor 2" ;; esac
	[ -z "$cluster" ] || [ -x "$cluster/kube-apiserver" ] || die "--cluster \"$cluster\" has no kube-apiserver"
	[ -z "$root" ] || [ ! -e "$root" ] || die "--root \"$root\" exists; name a new folder"
}

# Files and variables that a machine at this site has from its first day.
copy_site() {
	local file name
	for file in /etc/resolv.conf /etc/pip.conf /usr/local/share/ca-certificates/*.crt; do
		[ ! -e "$file" ] || install -D -m 644 "$file" "$root$file"
	done
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY GOPROXY GOSUMDB GOFLAGS PIP_INDEX_URL;
		do
		[ -z "${!name:-}" ] || site+=("$name=${!name}")
	done
}

make_root() {
	say "making a minimal Debian 12 in $root"
	mkdir -p "$root"
	quietly bare-root mmdebstrap --variant=minbase --include=git,ca-certificates bookworm "$root"
	copy_site
	[ ! -d "$root/usr/local/share/ca-certificates" ] || quietly bare-certificates chroot "$root" update-ca-certificates
	quietly bare-clone git clone --quiet --no-local "$PWD" "$root/root/roundhouse"
	if [ -n "$cluster" ]; then
		mkdir -p "$root/root/.cache/roundhouse-cluster"
		cp -a "$cluster" "$root/root/.cache/roundhouse-cluster/bin"
	fi
}

# The first process of the namespaces; $1 is the root, $2 the version of control groups or "", the rest goes to env(1).
inside() {
	local root=$1 cgroup=$2
	shift 2
	mount --make-rprivate /
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount -t tmpfs tmpfs "$root/run"
	if [ -n "$cgroup" ]; then
		inside_cgroup "$root/sys/fs/cgroup" "$cgroup"
	fi
	hostname bare
	# not chroot(8) alone: what looks at /proc/self/mountinfo must see a root
	cd "$root"
	mkdir -p .old
	pivot_root . .old
	umount -l /.old
	rmdir /.old
	exec env -i "$@"
}

inside_cgroup() {
	local folder=$1 version=$2 name
	umount -R -l "$folder"
	mount -t tmpfs -o mode=755 tmpfs "$folder"
	if [ "$version" = 2 ]; then
		umount "$folder"
		mount -t cgroup2 cgroup2 "$folder"
		echo "control groups of version 2: $(cat "$folder/cgroup.controllers")"
		return
	fi
	for name in cpu cpuacct cpuset memory devices freezer blkio pids; do
		mkdir "$folder/$name"
		mount -t cgroup -o "$name" cgroup "$folder/$name" 2>/dev/null || rmdir "$folder/$name"
	done
	echo "control groups of version 1: $(ls "$folder" | tr '\n' ' ')"
}

# run COMMAND: run it in the clone, and say how long it took.
run() {
	local begin=$SECONDS status=0
	say "bare: $1"
	unshare --mount --pid --ipc --uts --fork --kill-child "${BASH_SOURCE[0]}" --inside "$root" "$cgroup" HOME=/root \
		LANG=C.UTF-8 TERM="${TERM:-dumb}" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${site[@]}" \
		bash -c "cd /root/roundhouse && $1" </dev/null || status=$?
	took+=("$(printf '%s: %d min %02d s, status %d' \
		"$1" $(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60)) $status)")
	return $status
}

finish() {
	local status=$? line
	for line in "${took[@]}"; do
		say "$line"
	done
	if [ $keep = 1 ]; then
		say "the root is left in $root"
	elif [ -n "${made:-}" ]; then
		rm -rf --one-file-system "$made"
	fi
	exit $status
}

if [ "${1:-}" = --inside ]; then
	shift
	inside "$@"
fi
read_arguments "$@"
[ "$(id -u)" = 0 ] || die "making a root needs root"
install_packages mmdebstrap git util-linux
took=()
trap finish EXIT
given=$root
for ((round = 1; round <= times; round++)); do
	root=$given
	[ -n "$root" ] || root=$(mktemp -d "${TMPDIR:-/var/tmp}/roundhouse-bare.XXXXXX")
	made=$root
	site=()
	make_root
	for command in "${commands[@]}"; do
		run "$command"
	done
	[ $keep = 1 ] || rm -rf --one-file-system "$root"
done
