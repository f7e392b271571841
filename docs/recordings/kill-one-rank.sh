#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the recording shows: a training of three processes, one of which is killed with SIGKILL. Record it anew with
#   asciinema rec --overwrite --cols 110 --rows 45 -c docs/recordings/kill-one-rank.sh docs/recordings/kill-one-rank.cast
set -euo pipefail
cd "$(dirname "$0")/../.."
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# The process that stands for rank 2 says its number when it is ready; three epochs later it is killed.
kill_worker_1() {
	local log=$logs/restart/worker-1/pytorch.log master=$logs/restart/master-0/pytorch.log
	until grep -qs "epoch 2" "$master"; do sleep 0.1; done
	kill -9 "$(sed -n 's/.*ready, process //p' "$log")"
}

echo '$ roundhouse run examples/pytorch/restart.yaml      # and, elsewhere: kill -9 of the process of worker-1'
kill_worker_1 &
build/release/bin/roundhouse run --log-dir "$logs" examples/pytorch/restart.yaml
