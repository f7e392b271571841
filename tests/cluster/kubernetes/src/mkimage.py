#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mkimage.py OUT.tar ROOTFS(dir or .tar) NAME[,NAME...] [JSON of extra config] : a docker-archive that `ctr images
import` takes."""
import hashlib, io, json, os, subprocess, sys, tarfile
out, rootfs, names = sys.argv[1:4]
extra = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
if os.path.isdir(rootfs):
    layer = subprocess.run(["tar", "-C", rootfs, "--numeric-owner", "--owner=0", "--group=0", "--sort=name",
                            "--mtime=2026-01-01", "-cf", "-", "."], check=True, stdout=subprocess.PIPE).stdout
else:
    layer = open(rootfs, "rb").read()
digest = hashlib.sha256(layer).hexdigest()
conf = {"architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z",
        "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], **extra},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]}, "history": [{"created_by": "mkimage.py"}]}
conf = json.dumps(conf).encode()
cname = hashlib.sha256(conf).hexdigest() + ".json"
man = json.dumps([{"Config": cname, "RepoTags": names.split(","), "Layers": [digest + "/layer.tar"]}]).encode()
with tarfile.open(out, "w") as t:
    for n, b in ((digest + "/layer.tar", layer), (cname, conf), ("manifest.json", man)):
        i = tarfile.TarInfo(n); i.size = len(b); t.addfile(i, io.BytesIO(b))
print(out, names, len(layer))
