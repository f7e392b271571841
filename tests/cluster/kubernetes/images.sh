#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the three local images (no registry exists here): pause, busybox, python. Needs apt busybox-static mmdebstrap, gcc.
set -eu; HERE=$(dirname "$(readlink -f "$0")"); ROOT=${K8S_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/roundhouse-cluster}; I=$ROOT/images; M=$HERE/src/mkimage.py; mkdir -p $I; cd $I
[ -s pause.tar ] || { mkdir -p pz; gcc -static -Os -s -o pz/pause $HERE/src/pause.c
  python3 $M pause.tar pz localhost/pause:1 '{"Entrypoint":["/pause"],"User":"65535:65535"}'; }
[ -s busybox.tar ] || { rm -rf bb; mkdir -p bb/{bin,tmp,etc,root,proc,sys,dev,var/run,usr,home}; chmod 1777 bb/tmp
  cp /bin/busybox bb/bin/; for a in $(/bin/busybox --list); do [ $a = busybox ] || ln -s busybox bb/bin/$a; done
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' > bb/etc/passwd
  printf 'root:x:0:\nnogroup:x:65534:\n' > bb/etc/group; ln -s ../bin bb/usr/bin
  python3 $M busybox.tar bb localhost/busybox:1,docker.io/library/busybox:latest,docker.io/library/busybox:1.36 '{"Cmd":["sh"]}'; }
# alpine:3.10, which V1's init container asks for, is the python image here: busybox 1.35's nslookup fails where alpine's succeeds
[ -s python.tar ] || { mmdebstrap --quiet --variant=essential --include=python3,iproute2,iputils-ping,dnsutils,curl,netcat-openbsd,procps bookworm rootfs.tar
  python3 $M python.tar rootfs.tar localhost/python:1,docker.io/library/python:3.11,docker.io/library/alpine:3.10,docker.io/library/debian:bookworm '{"Cmd":["bash"]}'; rm -f rootfs.tar; }
ls -l $I/*.tar
