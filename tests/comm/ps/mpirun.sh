#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpirun.sh MPIRUN ROUNDHOUSE_PS TRAIN MODULES: servers and workers that one mpirun starts find each other, and train
# over MPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export RH_COMM_PATH="$4" RH_PS_BACKEND=mpi RH_PS_RULE=adam RH_PS_RATE=0.02
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

fail() {
	echo "FAIL: $1" >&2
	cat "$folder/out" >&2
	exit 1
}

"$1" -n 2 "$2" : -n 3 "$3" > "$folder/out" 2>&1 || fail "the training did not end well"
for worker in 0 1 2; do
	grep -q "worker $worker of 3: mean error" "$folder/out" || fail "worker $worker says nothing"
done
if "$1" -n 2 "$3" > "$folder/out" 2>&1; then
	fail "workers without a server"
fi
grep -q "mpirun has started 0 servers and 2 workers: both are needed" "$folder/out" || fail "no reason"
if "$2" > "$folder/out" 2>&1; then
	fail "MPI without a launcher"
fi
grep -q "or start the program with mpirun" "$folder/out" || fail "no reason without a launcher"
