#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# outside.sh CMAKE BUILD_DIR SOURCE_DIR CC PYTHON: install the build; then build the plugins of examples/plugins against
# nothing but the installed files, check them, and render and run their jobs. That in Rust is left out, with a line,
# where there is no cargo.
set -euo pipefail
cmake=$1 build=$2 source=$3 cc=$4 python=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR
prefix=$work/prefix
roundhouse=$prefix/bin/roundhouse

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# A copy outside the tree, so that no path leads back.
build_plugin() {
	local name=$1
	cp -r "$source/examples/$2" "$work/$name"
	"$cmake" -S "$work/$name" -B "$work/$name/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
		-DCMAKE_C_FLAGS="-std=c11 -Wall -Wextra -Wpedantic -Werror" >"$work/configure.log"
	"$cmake" --build "$work/$name/build"
	"$roundhouse" plugins check "$work/$name/build/$name.so" >"$work/log" 2>&1 ||
		fail "plugins check $name.so: $(cat "$work/log")"
	"$cmake" --install "$work/$name/build" --prefix "$prefix" >>"$work/install.log"
	[ -s "$prefix/lib/roundhouse/plugins/$name.so" ] || fail "$name.so was not installed beside the others"
}

# The one in Rust: its Cargo.toml names where the crate is installed.
build_crate() {
	local name=$1
	cp -r "$source/examples/plugins/$name" "$work/$name"
	sed -i "s#/usr/local#$prefix#" "$work/$name/Cargo.toml"
	CARGO_NET_OFFLINE=true make -C "$work/$name" PREFIX="$prefix" test install >"$work/log" 2>&1 ||
		fail "make $name: $(cat "$work/log")"
	[ -s "$prefix/lib/roundhouse/plugins/$name.so" ] || fail "$name.so was not installed beside the others"
}

check_contract() {
	"$python" -B "$source/tests/plugins/test_contract.py" "$roundhouse" "$@"
}

run_job() {
	"$roundhouse" run "$1" >"$work/log" 2>&1 || fail "roundhouse run $1: $(cat "$work/log")"
}

expect_line() {
	grep -Eq "$1" "$work/log" || fail "no line has \"$1\": $(cat "$work/log")"
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"
build_plugin jax plugins/jax
build_plugin mxnet plugins/mxnet
build_plugin echo plugin
build_plugin dask plugins/dask
"$roundhouse" plugins list | tee "$work/list"
for kind in EchoJob JAXJob MXJob MPIJob PaddleJob PyTorchJob TFJob XGBoostJob; do
	grep -q "$kind" "$work/list" || fail "plugins list does not name $kind"
done

echo "== recorded JAXJobs"
"$python" -B "$source/tests/goldens/run_objects.py" "$roundhouse" jax-

echo "== what they say of themselves"
"$python" -B "$source/tests/plugins/test_contract.py" "$roundhouse" JAXJob "$source"/tests/goldens/objects/jax-*.yaml
"$python" -B "$source/tests/plugins/test_contract.py" "$roundhouse" MXJob "$work/mxnet/mxjob.yaml"
"$python" -B "$source/tests/plugins/test_contract.py" "$roundhouse" EchoJob "$work/echo/echo.yaml"

echo "== a JAXJob runs"
run_job "$work/jax/jaxjob.yaml"
for process in 0 1 2; do
	expect_line "process $process of 3, coordinator [0-9.]+:[0-9]+"
done

echo "== an MXJob runs"
run_job "$work/mxnet/mxjob.yaml"
expect_line "server , scheduler [0-9.]+:[0-9]+"
expect_line "worker 0, scheduler [0-9.]+:[0-9]+"

echo "== a DaskJob of C++ runs"
check_contract DaskJob "$work/dask/daskjob.yaml"
run_job "$work/dask/daskjob.yaml"
expect_line "runner of 2 workers, scheduler tcp://[0-9.]+:[0-9]+"
"$cmake" -E chdir "$work/dask/build" ctest --output-on-failure >"$work/log" 2>&1 ||
	fail "ctest of dask: $(cat "$work/log")"
sed '/cleanPodPolicy/d; s/runPolicy:/protocol: udp/' "$work/dask/daskjob.yaml" >"$work/bad.yaml"
"$roundhouse" lint "$work/bad.yaml" >"$work/log" 2>&1 && fail "lint accepts protocol udp"
expect_line "protocol"
expect_line "cleanPodPolicy: the Scheduler and the Workers never end by themselves"

if ! command -v cargo >/dev/null; then
	echo "SKIPPED: cargo is not installed, so RayJob is not built"
	exit 0
fi
echo "== a RayJob of Rust runs"
build_crate ray
check_contract RayJob "$work/ray/rayjob.yaml"
run_job "$work/ray/rayjob.yaml"
expect_line "head of 3 nodes at [0-9.]+:[0-9]+, 2 processors each"
sed 's/restartPolicy: .*//; s/cleanPodPolicy: .*/cleanPodPolicy: None/' "$work/ray/rayjob.yaml" >"$work/bad.yaml"
"$roundhouse" lint "$work/bad.yaml" >"$work/log" 2>&1 || fail "a warning is an error: $(cat "$work/log")"
expect_line "cleanPodPolicy: the Workers never end by themselves"
