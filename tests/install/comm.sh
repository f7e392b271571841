#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# comm.sh CMAKE BUILD_DIR SOURCE_DIR CC: install the build, then do what the author of a program that uses rh_comm, and
# of a backend for it, does.
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

# Two ranks of the program sum over the backend.
check_sum() {
	local program=$1 folder=$2 port rank
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	for rank in 0 1; do
		RH_COMM_PATH=$folder RH_COMM_BACKEND=mailbox RH_COMM_RANK=$rank RH_COMM_WORLD=2 RH_COMM_HOST=127.0.0.1 \
			RH_COMM_PORT=$port \
			LD_LIBRARY_PATH=$prefix/lib "$program" >"$work/rank$rank" 2>&1 &
	done
	wait
	for rank in 0 1; do
		grep -qx "mailbox: 3" "$work/rank$rank" || fail "rank $rank: $(cat "$work/rank$rank")"
	done
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"
cp -r "$source/examples/comm_backend" "$work/backend"
cat >"$work/sum.c" <<'EOF'
#include <stdio.h>

#include <roundhouse/comm.h>

int main(void)
{
	struct rh_comm_error err;
	struct rh_comm *comm;
	float value;

	if (rh_comm_init(NULL, &comm, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	value = (float)(rh_comm_rank(comm) + 1);
	if (rh_comm_all_reduce(comm, &value, 1, RH_COMM_F32, RH_COMM_SUM, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	printf("%s: %g\n", rh_comm_backend_name(comm), (double)value);
	rh_comm_free(comm);
	return 0;
}
EOF

echo "== with find_package(roundhouse)"
cat >>"$work/backend/CMakeLists.txt" <<'EOF'
add_executable(sum ../sum.c)
target_link_libraries(sum PRIVATE roundhouse::comm)
EOF
"$cmake" -S "$work/backend" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
	-DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$work/configure.log"
"$cmake" --build "$work/cmake"
check_sum "$work/cmake/sum" "$work/cmake"

echo "== with pkg-config"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags roundhouse-comm)"
read -ra libraries <<<"$(pkg-config --libs roundhouse-comm)"
mkdir "$work/byhand"
"$cc" -fPIC -shared -fvisibility=hidden "${flags[@]}" -o "$work/byhand/librhcomm_mailbox.so" "$work/backend/mailbox.c"
"$cc" "${flags[@]}" -o "$work/byhand/sum" "$work/sum.c" "${libraries[@]}"
check_sum "$work/byhand/sum" "$work/byhand"

echo "== beside the library it is found by its name"
cp "$work/byhand/librhcomm_mailbox.so" "$(pkg-config --variable=backenddir roundhouse-comm)"
RH_COMM_BACKEND=mailbox "$prefix/bin/roundhouse" comm check --local 3 | tee "$work/check"
grep -q "backend mailbox" "$work/check" || fail "roundhouse comm check took another backend"

echo "== one of another ABI is refused with both sides"
{
	echo '#include "roundhouse/comm_backend.h"'
	printf '#undef RH_COMM_BACKEND_MINOR\n#define RH_COMM_BACKEND_MINOR 99\n'
	cat "$work/backend/mailbox.c"
} >"$work/other.c"
"$cc" -fPIC -shared "${flags[@]}" -o "$work/byhand/librhcomm_mailbox.so" "$work/other.c"
RH_COMM_PATH=$work/byhand RH_COMM_BACKEND=mailbox "$prefix/bin/roundhouse" comm check --local 2 2>"$work/refusal" &&
	fail "a backend of ABI 0.99 was taken"
grep -q "built for ABI 0.99, this library has 0" "$work/refusal" || fail "$(cat "$work/refusal")"
