#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CoreDNS and kwok: own go.mods without replaces, so plain `go install pkg@version` works.
set -u; ROOT=${K8S_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/roundhouse-cluster}; mkdir -p $ROOT/bin
export GOMODCACHE=${GOMODCACHE_K8S:-$ROOT/gomod} GOCACHE=${GOCACHE_K8S:-$ROOT/gocache} CGO_ENABLED=0 \
  GOFLAGS=-buildvcs=false GOBIN=$ROOT/bin
KWOK=sigs.k8s.io/kwok/cmd/kwok@${KWOK_VERSION:-v0.7.0} COREDNS=github.com/coredns/coredns@${COREDNS_VERSION:-v1.12.4}
for p in ${*:-$KWOK $COREDNS}; do
  t=$SECONDS; go install -p ${P:-2} -trimpath -ldflags '-s -w' $p && echo "$(date +%T) built $p in $((SECONDS-t)) s"
done
ls -l $GOBIN
