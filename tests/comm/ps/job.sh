#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# job.sh ROUNDHOUSE TRAIN YAML PLUGINS: the example of a parameter-server job trains, on this machine.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$2" "$folder/train"
cp "$3" "$folder/ps.yaml"
PATH=$(dirname "$1"):$PATH
export PATH
roundhouse run --plugins "$4" "$folder/ps.yaml" > "$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
cat "$folder/out"
for worker in 0 1 2; do
	grep -q "worker $worker of 3: mean error" "$folder/out"
done
