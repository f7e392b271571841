#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stops what up.sh, node.sh and kwok.sh started (only the pids they wrote down). down.sh wipe also drops the state.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
[ -e $PID/kubelet.pid -o -e $PID/containerd.pid ] && $HERE/node.sh down
for n in kwok kube-scheduler kube-controller-manager kube-apiserver etcd; do stop $n; done
if [ "${1:-}" = wipe ]; then
  if grep -q " $RUN/" /proc/mounts; then echo "not wiping $RUN, still mounted there:";
    grep -o " $RUN/[^ ]*" /proc/mounts; exit 1; fi
  rm -rf $RUN
fi
echo down
