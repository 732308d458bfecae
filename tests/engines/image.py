#!/usr/bin/env -S python3 -SE
"""image.py BUSYBOX NAME COMMAND...: writes an image to standard output, as an archive that ctr and
podman load.  It is called NAME, holds a static busybox, and runs COMMAND.
"""
import hashlib
import io
import json
import subprocess
import sys
import tarfile


def member(tar, name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))


def layer(busybox):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar, open(busybox, "rb") as file:
        for name in ("bin", "etc", "root", "tmp", "usr", "usr/bin", "usr/sbin", "www"):
            member(tar, name, type=tarfile.DIRTYPE, mode=0o1777 if name == "tmp" else 0o755)
        member(tar, "bin/busybox", file.read(), mode=0o755)
        names = subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, check=True, text=True)
        for name in set(names.stdout.split()) - {"busybox"}:
            member(tar, f"bin/{name}", type=tarfile.SYMTYPE, linkname="busybox")
        member(tar, "usr/bin/env", type=tarfile.SYMTYPE, linkname="/bin/busybox")
        member(tar, "etc/passwd", b"root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/www:/bin/sh\n"
                                  b"nobody:x:65534:65534::/:/bin/sh\ndefault-user:x:1002:1002::/:/bin/sh\n")
        member(tar, "etc/group", b"root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\ndefault-user:x:1002:\n")
        member(tar, "www/index.html", b"small\n")
    return out.getvalue()


def main():
    busybox, name, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    data = layer(busybox)
    digest = hashlib.sha256(data).hexdigest()
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Cmd": command, "Env": ["PATH=/bin:/usr/bin:/usr/sbin"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]}}).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [digest + "/layer.tar"]}]
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        member(tar, config_name, config)
        member(tar, digest + "/layer.tar", data)
        member(tar, "manifest.json", json.dumps(manifest).encode())


main()
