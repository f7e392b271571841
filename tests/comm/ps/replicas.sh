#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replicas.sh ROUNDHOUSE TRAIN SIGNAL: the example trains through a scheduler, and goes on when one of its servers gets
# a signal that ends it: KILL, or TERM as when a node is drained.
set -eu
folder=$(mktemp -d)
trap 'kill $pids 2> /dev/null || true; rm -rf "$folder"' EXIT
pids=
export DMLC_NUM_SERVER=2 DMLC_NUM_WORKER=2 DMLC_PS_ROOT_URI=127.0.0.1
DMLC_PS_ROOT_PORT=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
export DMLC_PS_ROOT_PORT
DMLC_ROLE=scheduler "$1" comm ps --replicas 2 2> "$folder/scheduler" &
scheduler=$!
pids=$scheduler
servers=
for server in 1 2 3 4; do
	DMLC_ROLE=server "$1" comm ps --mode sync --rule adam --rate 0.02 2> "$folder/server$server" &
	servers="$servers $!"
	pids="$pids $!"
done
until [ "$(grep -c 'it has a backup at' "$folder/scheduler")" = 2 ]; do
	kill -0 $scheduler || { cat "$folder/scheduler"; exit 1; }
	sleep 0.05
done
workers=
for worker in 0 1; do
	DMLC_ROLE=worker "$2" > "$folder/worker$worker" 2>&1 &
	workers="$workers $!"
	pids="$pids $!"
done
signal=$3
set -- $servers
kill -"$signal" "$1"
shift
for process in $workers "$@" $scheduler; do
	wait "$process" || { cat "$folder"/*; exit 1; }
done
cat "$folder"/*
grep -q 'rh_ps: server [01]: it ' "$folder/scheduler"
for worker in 0 1; do
	grep -q "of 2: mean error" "$folder/worker$worker"
done
