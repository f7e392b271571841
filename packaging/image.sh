#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh [-t NAME:TAG] [-b BUILD_DIR] [-w WHEEL] [OUT.tar]: a container image of Roundhouse, as an OCI archive,
# without a daemon.
#
# It holds the release build (or the build in BUILD_DIR), the libraries that the programs load, libstdc++ and libgcc_s
# for plugins in C++ and Rust, the certificates of public authorities and an account that is not root; and rh_comm
# twice: for its own programs, and in /usr/share/roundhouse/inject for images of others (`roundhouse inject`). There it
# needs the C library of this machine or a newer one; WHEEL, what the target rhcomm_portable_wheel makes, takes the
# place of the package and its library, and needs 2.28; the two programs beside it stay those of this machine. `ctr -n
# k8s.io images import`, `podman load`, `skopeo copy oci-archive:` and `docker load` (25 and later) take it. The same
# sources, packages and SOURCE_DATE_EPOCH give the same bytes.
set -euo pipefail
from=$PWD
cd "$(dirname "$(readlink -f "$0")")/.."

version=$(sed -n 's/^project(roundhouse VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=localhost/roundhouse:$version build= wheel=
while getopts t:b:w: option; do
	case $option in
	t) name=$OPTARG ;;
	b) build=$(cd "$from" && realpath -m "$OPTARG") ;;
	w) wheel=$(cd "$from" && realpath -m "$OPTARG") ;;
	*) sed -n 's/^# \(image.sh.*\):.*/usage: \1/p' "$0" >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))
out=$(cd "$from" && realpath -m "${1:-roundhouse-$version.oci.tar}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$build" ]; then
	build=build/image
	cmake -S . -B $build -DCMAKE_BUILD_TYPE=Release -DRH_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr >"$work/log" \
		2>&1 &&
		cmake --build $build >>"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
fi
# what users run on a laptop alone is left out
cmake --install "$build" --prefix "$work/all" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
library=$(dirname "$(find "$work/all" -name librhcomm.so.0)")
folder=${library#"$work/all/"}
[ -n "$wheel" ] || wheel=$(find "$work/all" -name 'roundhouse-*.whl')
install=$work/install inject=$work/install/share/roundhouse/inject
mkdir -p "$install"/{bin,libexec/roundhouse,lib/roundhouse/plugins,share/doc/roundhouse} "$install/$folder" \
	"$inject/bin" "$inject/$folder"
cp "$work/all"/bin/roundhouse{,-controller,-comm,-ps} "$install/bin"
cp "$work/all"/libexec/roundhouse/* "$install/libexec/roundhouse"
find "$work/all" -path "*/roundhouse/plugins/*.so" -exec cp {} "$install/lib/roundhouse/plugins" \;
cp -L "$library"/librhcomm.so.0 "$library"/librhcomm_*.so "$install/$folder"
cp LICENSE NOTICE "$install/share/doc/roundhouse"
strip "$install"/bin/* "$install"/libexec/roundhouse/* "$install"/lib/roundhouse/plugins/*.so \
	"$install/$folder"/librhcomm*

# for other images: the Python package, and the programs beside the library that it brings
[ -f "$wheel" ] || { echo "image.sh: there is no wheel; build all of $build (it needs Python), or name one: -w WHEEL" \
	>&2; exit 1; }
python3 -m zipfile -e "$wheel" "$inject"
chmod 755 "$inject"/roundhouse/*.so*
cp "$install"/bin/roundhouse-{comm,ps} "$inject/bin"
for file in "$inject"/roundhouse/librhcomm*; do
	ln -s "$(realpath --relative-to="$inject/$folder" "$file")" "$inject/$folder"
done
ln -s librhcomm.so.0 "$inject/$folder/librhcomm.so"
python3 -B packaging/image.py "$install" "$name" "$folder" "$out"
