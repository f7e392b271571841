#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds local images (no registry exists here) into $K8S_ROOT/images: images.sh [NAME...], default pause busybox
# python.
#   train    Debian's PyTorch and Open MPI; 850 MB
#   kubectl  what V1's init container brings to a launcher of MPI, under the name that V1 knows
# Needs apt busybox-static mmdebstrap, gcc. A file is renamed into its place when it is whole.
set -eu
HERE=$(dirname "$(readlink -f "$0")")
ROOT=${K8S_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/roundhouse-cluster}
I=$ROOT/images; M=$HERE/src/mkimage.py; mkdir -p $I; cd $I
T=$(mktemp -d $I/.new-XXXXXX); trap 'rm -rf $T' EXIT
done_() { mv $T/$1.tar $I/$1.tar; }
for image in ${*:-pause busybox python}; do [ -s $image.tar ] || case $image in
pause) mkdir -p $T/pz; gcc -static -Os -s -o $T/pz/pause $HERE/src/pause.c
  python3 $M $T/pause.tar $T/pz localhost/pause:1 '{"Entrypoint":["/pause"],"User":"65535:65535"}'; done_ pause;;
busybox) mkdir -p $T/bb/{bin,tmp,etc,root,proc,sys,dev,var/run,usr,home}; chmod 1777 $T/bb/tmp
  cp /bin/busybox $T/bb/bin/; for a in $(/bin/busybox --list); do [ $a = busybox ] || ln -s busybox $T/bb/bin/$a; done
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' > $T/bb/etc/passwd
  printf 'root:x:0:\nnogroup:x:65534:\n' > $T/bb/etc/group; ln -s ../bin $T/bb/usr/bin
  python3 $M $T/busybox.tar $T/bb localhost/busybox:1,docker.io/library/busybox:latest,docker.io/library/busybox:1.36 \
    '{"Cmd":["sh"]}'; done_ busybox;;
# alpine:3.10, which V1's init container asks for, is the python image here: busybox 1.35's nslookup fails where
# alpine's succeeds
python) mmdebstrap --quiet --variant=essential \
  --include=python3,iproute2,iputils-ping,dnsutils,curl,netcat-openbsd,procps bookworm $T/rootfs.tar
  python3 $M $T/python.tar $T/rootfs.tar \
    localhost/python:1,docker.io/library/python:3.11,docker.io/library/alpine:3.10,docker.io/library/debian:bookworm \
    '{"Cmd":["bash"]}'; done_ python;;
# without what PyTorch does not need to train: graphics, compilers, tests, documents
train) mkdir -p $T/rootfs; mmdebstrap --quiet --variant=essential \
  --include=python3-torch,openmpi-bin,python3-mpi4py,hostname \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/include/*' bookworm $T/rootfs.tar
  tar -C $T/rootfs -xf $T/rootfs.tar --exclude='./dev/*'; rm $T/rootfs.tar; L=$T/rootfs/usr/lib/x86_64-linux-gnu
  P=$T/rootfs/usr/lib/python3/dist-packages
  rm -rf $L/{dri,mfx,perl/5.36.0/CORE} $L/lib{LLVM-15,z3}* $P/{sympy,torch/test,hypothesis} $P/numpy/*/tests
  rm -rf $T/rootfs/usr/share/{proj,perl,gdal,icons,fonts,zoneinfo,mime,poppler} $T/rootfs/var/{lib/apt/lists,cache}/* \
    $T/rootfs/var/lib/dpkg/info
  find $P/torch/bin -type f ! -name torch_shm_manager -delete
  ln -s python3 $T/rootfs/usr/bin/python
  # with Python 3.11 this PyTorch takes its own default, no redirection, for nothing at all; that of a process that is
  # not there will do
  printf '#!/bin/sh\nexec python3 -m torch.distributed.run -r 9:1 -t 9:1 "$@"\n' > $T/rootfs/usr/bin/torchrun
  chmod 755 $T/rootfs/usr/bin/torchrun
  python3 $M $T/train.tar $T/rootfs localhost/train:1 '{"Cmd":["bash"]}'; done_ train;;
kubectl) mkdir -p $T/kc/bin; cp /bin/busybox $ROOT/bin/kubectl $T/kc/bin/
  printf '#!/bin/busybox sh\nexec /bin/busybox cp /bin/kubectl "$TARGET_DIR/kubectl"\n' > $T/kc/bin/deliver
  chmod 755 $T/kc/bin/deliver
  python3 $M $T/kubectl.tar $T/kc localhost/kubectl-delivery:1,docker.io/kubeflow/kubectl-delivery:latest \
    '{"Entrypoint":["/bin/deliver"]}'; done_ kubectl;;
*) echo "unknown image $image"; exit 2;; esac; done
ls -l $I/*.tar
