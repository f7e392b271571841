#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a real Kubernetes + etcd from the Go module proxy alone, into $K8S_ROOT/bin (default
# ~/.cache/roundhouse-cluster/bin).
# usage: build.sh [names...]   default: all. Idempotent (go's build cache).
set -euo pipefail
ROOT=${K8S_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/roundhouse-cluster}; V=${K8S_VERSION:-v1.34.4}; M=${V#v1.}
export GOMODCACHE=${GOMODCACHE_K8S:-$ROOT/gomod} GOCACHE=${GOCACHE_K8S:-$ROOT/gocache} CGO_ENABLED=0 \
  GOFLAGS=-buildvcs=false
mkdir -p $ROOT/bin $ROOT/build/k8s; cd $ROOT/build/k8s
if ! grep -qs "k8s.io/kubernetes $V" go.mod; then
  # upstream's own go.mod, with each ./staging/src/k8s.io/X replaced by the published k8s.io/X v0.$M
  up=$(cd /; go mod download -json k8s.io/kubernetes@$V | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  sed -E -e "s#=> \./staging/src/(k8s\.io/[a-z0-9-]+)#=> \1 v0.$M#" -e 's#^module .*#module k8sbuild#' $up > go.mod
  chmod 644 go.mod
  go mod edit -require=k8s.io/kubernetes@$V
fi
L="-s -w"
for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  L+=" -X $p.gitVersion=$V -X $p.gitMajor=1 -X $p.gitMinor=${M%%.*} -X $p.gitTreeState=archive"
  L+=" -X $p.buildDate=2026-01-01T00:00:00Z"
done
[ $# -gt 0 ] || set -- etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet
for n; do
  case $n in
    etcd) pkg=go.etcd.io/etcd/server/v3;;      # already in upstream's module graph (v3.6.4 for 1.34)
    *)    pkg=k8s.io/kubernetes/cmd/$n;;
  esac
  t=$SECONDS
  go build -mod=mod -trimpath -p ${P:-2} -ldflags "$L" -o $ROOT/bin/$n $pkg
  echo "$(date +%T) built $n in $((SECONDS-t)) s, $(stat -c %s $ROOT/bin/$n) bytes"
done
