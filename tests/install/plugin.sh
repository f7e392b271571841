#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# plugin.sh CMAKE BUILD_DIR SOURCE_DIR CC: install the build, then do what the author of a plugin does.
set -euo pipefail
cmake=$1 build=$2 source=$3 cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR
prefix=$work/prefix

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# A plugin exports its entry function and nothing else, and needs no library but the C library.
check_symbols() {
	local file=$1 defined needed
	[ "${RH_INSTRUMENTED:-0}" = 0 ] || return 0
	defined=$(nm -D --defined-only "$file" | awk '{print $NF}')
	[ "$defined" = rh_plugin_entry_v1 ] || fail "$file exports: $defined"
	needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^libc\.so' || true)
	[ -z "$needed" ] || fail "$file needs: $needed"
}

# The installed program, not the one of the build tree, must accept the file.
check_loads() {
	"$prefix/bin/roundhouse" plugins check "$1" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		fail "roundhouse plugins check $1"
	}
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"
for file in bin/roundhouse libexec/roundhouse/roundhouse-progress.so libexec/roundhouse/roundhouse-shim \
	include/roundhouse/plugin.h include/roundhouse/status.h include/roundhouse/version.h \
	lib/roundhouse/plugins/pytorch.so etc/roundhouse/roundhouse.ini share/man/man1/roundhouse.1 \
	share/bash-completion/completions/roundhouse share/zsh/site-functions/_roundhouse \
	share/fish/vendor_completions.d/roundhouse.fish share/doc/roundhouse/docs/plugin-abi.md \
	share/doc/roundhouse/plugins/README.md \
	share/roundhouse/pod-template.openapi.json \
	share/roundhouse/crds/kustomization.yaml share/roundhouse/deploy/base/kustomization.yaml; do
	[ -s "$prefix/$file" ] || fail "$file was not installed, or is empty"
done
for file in "$prefix"/lib/roundhouse/plugins/*.so; do
	check_symbols "$file"
done

echo "== with find_package(roundhouse)"
cp -r "$source/examples/plugin" "$work/plugin"
"$cmake" -S "$work/plugin" -B "$work/plugin/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
	-DCMAKE_C_FLAGS="-std=c11 -Wall -Wextra -Wpedantic -Werror" >"$work/configure.log"
"$cmake" --build "$work/plugin/build"
check_symbols "$work/plugin/build/echo.so"
check_loads "$work/plugin/build/echo.so"

echo "== with pkg-config"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags roundhouse-plugin)"
"$cc" -std=c11 -fPIC -shared -fvisibility=hidden -Wl,--no-undefined "${flags[@]}" -o "$work/echo.so" \
	"$work/plugin/echo.c"
check_symbols "$work/echo.so"
check_loads "$work/echo.so"

echo "== installed beside the others, the program serves its kind"
cp "$work/echo.so" "$(pkg-config --variable=plugindir roundhouse-plugin)"
"$prefix/bin/roundhouse" plugins list | tee "$work/list"
grep -q EchoJob "$work/list" || fail "plugins list does not name EchoJob"
grep -q PyTorchJob "$work/list" || fail "plugins list does not name PyTorchJob"

echo "== and runs it"
"$prefix/bin/roundhouse" run "$work/plugin/echo.yaml" >"$work/log" 2>&1 || {
	cat "$work/log" >&2
	fail "roundhouse run echo.yaml"
}
for peer in 0 1; do
	grep -q "peer $peer of 2, first is at [0-9]" "$work/log" || fail "no line of peer $peer: $(cat "$work/log")"
done

echo "== replicas can report their progress: its module is found from the installed program"
cat >"$work/report.yaml" <<'END'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: report}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: none,
        command: [sh, -c, 'echo "python reports to ${KUBEFLOW_TRAINER_SERVER_URL-nobody}"']}]}}
END
"$prefix/bin/roundhouse" run --no-keep "$work/report.yaml" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
grep -q "python reports to https://127.0.0.1:[0-9]*/apis/trainer" "$work/log" || fail "$(cat "$work/log")"

echo "== the configuration that was installed counts"
if [ ! -e /etc/roundhouse/roundhouse.ini ]; then
	printf '[local]\nnonsense = 1\n' >"$prefix/etc/roundhouse/roundhouse.ini"
	ROUNDHOUSE_CONFIG='' "$prefix/bin/roundhouse" plugins list 2>"$work/refusal" &&
		fail "etc/roundhouse/roundhouse.ini is not read"
	grep -q 'etc/roundhouse/roundhouse.ini:2: unknown key "nonsense"' "$work/refusal" || fail "$(cat "$work/refusal")"
fi

echo "== and stays when a newer one is installed"
echo '; mine' >"$prefix/etc/roundhouse/roundhouse.ini"
"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"
[ "$(cat "$prefix/etc/roundhouse/roundhouse.ini")" = '; mine' ] || fail "roundhouse.ini was written over"
cmp "$source/conf/roundhouse.ini" "$prefix/share/roundhouse/roundhouse.ini"
DESTDIR=$work/staged "$cmake" --install "$build" --prefix /opt/rh >"$work/install.log"
[ -s "$work/staged/opt/rh/etc/roundhouse/roundhouse.ini" ] || fail "DESTDIR is not honoured"
