#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image.py FOLDER NAME:TAG LIB OUT.tar: an OCI archive of the installation in FOLDER, whose libraries lie in its LIB;
called by image.sh.

Every file of the image gets the owner root and the time SOURCE_DATE_EPOCH (default: that of the last commit, or
2026-01-01), and they stand in the order of their names, so that the same input gives the same bytes.
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile

USER = 65532
PASSWD = f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/tmp:/sbin/nologin\n"
GROUP = f"root:x:0:\nnonroot:x:{USER}:\n"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
# What plugins in C++ and Rust load; no program of ours does.
FOR_PLUGINS = ("libgcc_s.so.1", "libstdc++.so.6")
# For images of others: what these load comes from there.
INJECTED = "share/roundhouse/inject/"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def source_time():
    stated = os.environ.get("SOURCE_DATE_EPOCH")
    if stated:
        return int(stated)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else 1767225600


def libraries(files):
    """-> {name that a program asks for: path}, the loader included; a vdso has no file."""
    found = {}
    for file in files:
        done = subprocess.run(["ldd", file], check=True, capture_output=True, text=True)
        if "not found" in done.stdout:
            sys.exit(f"{file}: a library is not found:\n{done.stdout}")
        for match in re.finditer(r"(?m)^\s*(?:(\S+) => )?(/.+) \(0x", done.stdout):
            found[match.group(1) or match.group(2)] = match.group(2)
    return found


def library_of_plugins(name, beside):
    """Where a library lies that no program of ours needs, but plugins in other languages do: in the folder of the C
    library."""
    path = pathlib.Path(beside).parent / name
    if not path.exists():
        sys.exit(f"{path} is missing, which plugins in C++ and Rust need; apt-get install libstdc++6 libgcc-s1")
    return str(path)


class Layer:
    """Files of the image by path, each as a TarInfo and its bytes."""

    def __init__(self, time):
        self.time, self.entries = time, {}

    def add(self, path, kind=tarfile.REGTYPE, data=b"", mode=0o644, link=""):
        info = tarfile.TarInfo(path)
        info.type, info.size, info.mode, info.mtime, info.linkname = kind, len(data), mode, self.time, link
        self.entries[path] = (info, data)
        for parent in pathlib.PurePosixPath(path).parents:
            if str(parent) not in (".", *self.entries):
                self.add(str(parent), tarfile.DIRTYPE, mode=0o755)

    def add_file(self, path, source):
        data = pathlib.Path(source).read_bytes()
        self.add(path, data=data, mode=0o755 if os.access(source, os.X_OK) else 0o644)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(self.entries):
                info, data = self.entries[path]
                archive.addfile(info, io.BytesIO(data))
        return out.getvalue()


def fill(layer, install, folder):
    programs = []
    for source in sorted(path for path in install.rglob("*") if path.is_symlink() or path.is_file()):
        name = str(source.relative_to(install))
        if source.is_symlink():
            layer.add("usr/" + name, tarfile.SYMTYPE, mode=0o777, link=os.readlink(source))
            continue
        layer.add_file("usr/" + name, source)
        # backends load what is there, and are left out by those who choose one where it is not
        backend = source.name.startswith("librhcomm_")
        if not name.startswith(INJECTED) and not backend and name.startswith(("bin/", "lib/", "libexec/",
                                                                              f"{folder}/")):
            programs.append(source)
    found = libraries(programs)
    beside = [library_of_plugins(name, found["libc.so.6"]) for name in FOR_PLUGINS]
    found |= libraries(beside) | {os.path.basename(path): path for path in beside}
    # programs look for libraries under the names of their loader's own folders
    for name, path in sorted(found.items()):
        if pathlib.Path(path).resolve().is_relative_to(install.resolve()):
            continue
        layer.add_file(name[1:] if name.startswith("/") else "lib/" + os.path.basename(name), os.path.realpath(path))
    layer.add("manager", tarfile.SYMTYPE, mode=0o777, link="usr/bin/roundhouse-controller")
    layer.add("etc/passwd", data=PASSWD.encode())
    layer.add("etc/group", data=GROUP.encode())
    layer.add("tmp", tarfile.DIRTYPE, mode=0o1777)
    if os.path.exists(AUTHORITIES):
        layer.add_file(AUTHORITIES[1:], AUTHORITIES)


def blob(archive, data, time):
    digest = hashlib.sha256(data).hexdigest()
    put(archive, f"blobs/sha256/{digest}", data, time)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def put(archive, path, data, time):
    info = tarfile.TarInfo(path)
    info.size, info.mtime, info.mode = len(data), time, 0o644
    archive.addfile(info, io.BytesIO(data))


def document(data):
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def write(out, name, tar, time):
    machine = MACHINES.get(platform.machine(), platform.machine())
    layer = gzip.compress(tar, compresslevel=6, mtime=0)
    config = {"architecture": machine, "os": "linux",
              "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/usr/bin/roundhouse"], "Cmd": ["controller"],
                         "Env": ["PATH=/usr/bin", f"SSL_CERT_FILE={AUTHORITIES}",
                                                            "ROUNDHOUSE_PLUGIN_PATH=/usr/lib/roundhouse/plugins"],
                         "WorkingDir": "/", "Labels": {"org.opencontainers.image.title": "roundhouse",
                                    "org.opencontainers.image.licenses": "Apache-2.0"}},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest()]}}
    oci = "application/vnd.oci.image"
    with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as archive:
        manifest = {"schemaVersion": 2, "mediaType": f"{oci}.manifest.v1+json",
                    "config": {"mediaType": f"{oci}.config.v1+json", **blob(archive, document(config), time)},
                    "layers": [{"mediaType": f"{oci}.layer.v1.tar+gzip", **blob(archive, layer, time)}]}
        entry = {"mediaType": f"{oci}.manifest.v1+json", **blob(archive, document(manifest), time),
                 "annotations": {"io.containerd.image.name": name,
                                 "org.opencontainers.image.ref.name": name.rpartition(":")[2]}}
        put(archive, "oci-layout", document({"imageLayoutVersion": "1.0.0"}), time)
        put(archive, "index.json", document({"schemaVersion": 2, "mediaType": f"{oci}.index.v1+json",
                                             "manifests": [entry]}), time)
    return len(layer), entry["digest"]


def main():
    if len(sys.argv) != 5 or ":" not in sys.argv[2]:
        sys.exit(__doc__.split("\n", 1)[0])
    install, name, folder, out = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
    time = source_time()
    layer = Layer(time)
    fill(layer, install, folder)
    tar = layer.tar()
    size, digest = write(out, name, tar, time)
    own = sum(len(data) for path, (_, data) in layer.entries.items() if "roundhouse" in path)
    print(f"{out}: {name}\n{digest}\n{len(tar) / 1e6:.1f} MB unpacked, {own / 1e6:.1f} MB of it roundhouse; "
          f"{size / 1e6:.1f} MB packed")


if __name__ == "__main__":
    main()
