#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh [-t NAME:TAG] [-b BUILD_DIR] [OUT.tar]: a container image of the controller, as an OCI archive, without a daemon.
#
# It holds the release build (or the build in BUILD_DIR), the libraries that the programs load, the certificates of public
# authorities and an account that is not root. `ctr -n k8s.io images import`, `podman load`, `skopeo copy oci-archive:` and
# `docker load` (25 and later) take it. The same sources, packages and SOURCE_DATE_EPOCH give the same bytes.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

version=$(sed -n 's/^project(roundhouse VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=localhost/roundhouse:$version build=
while getopts t:b: option; do
	case $option in
	t) name=$OPTARG ;;
	b) build=$OPTARG ;;
	*) sed -n 's/^# \(image.sh.*\):.*/usage: \1/p' "$0" >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))
out=${1:-roundhouse-$version.oci.tar}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$build" ]; then
	build=build/image
	cmake -S . -B $build -DCMAKE_BUILD_TYPE=Release -DRH_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr >"$work/log" 2>&1 &&
		cmake --build $build >>"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
fi
# the build tree has the layout of an installation; what users run on a laptop alone is left out
mkdir -p "$work/install/bin" "$work/install/lib/roundhouse/plugins" "$work/install/share/doc/roundhouse"
cp "$build"/bin/roundhouse "$build"/bin/roundhouse-controller "$work/install/bin"
cp "$build"/lib/roundhouse/plugins/*.so "$work/install/lib/roundhouse/plugins"
cp LICENSE NOTICE "$work/install/share/doc/roundhouse"
strip "$work"/install/bin/* "$work"/install/lib/roundhouse/plugins/*.so
python3 -B packaging/image.py "$work/install" "$name" "$out"
