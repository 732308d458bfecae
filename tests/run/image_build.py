#!/usr/bin/env -S python3 -SE
"""image_build.py CASE: makes archives for a context, and reads the
configuration of an image, for image_build.bats."""
import bz2
import contextlib
import io
import json
import sys
import tarfile


def bzip2():
    with open("ctx/b.tar", "rb") as plain, open("ctx/b.bz2", "wb") as packed:
        packed.write(bz2.compress(plain.read()))


def hostile():
    def add(tar, name, data=b"evil", **attributes):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        for key, value in attributes.items():
            setattr(info, key, value)
        tar.addfile(info, io.BytesIO(data))

    with tarfile.open("ctx/link.tar", "w") as tar:
        add(tar, "l", b"", type=tarfile.SYMTYPE, linkname="/etc")
        add(tar, "l/passwd")
    with tarfile.open("ctx/up.tar", "w") as tar:
        add(tar, "../../../../../../../../tmp/hutch-evil")


def context(case, top):
    """Writes a context that tries to reach files of the host: `secret` and the folder `kept` in `top`."""
    up = "../" * 20
    dockerfile = b"FROM bb:1\nCOPY . /d/\n"
    link = dict(type=tarfile.SYMTYPE)
    entries = {
        "dockerfile_out": [("Dockerfile", b"", dict(link, linkname=top + "/secret"))],
        "ignore_out": [(".dockerignore", b"", dict(link, linkname=up + top + "/secret")),
                       ("Dockerfile", b"FROM bb:1\nRUN exit 3\n", {})],
        "copy_out": [("Dockerfile", b"FROM bb:1\nCOPY l /d/\n", {}), ("l", b"", dict(link, linkname=top + "/secret"))],
        "up": [("Dockerfile", dockerfile, {}), (up + "tmp/hutch-evil", b"evil", {})],
        "absolute": [("Dockerfile", dockerfile, {}), (top + "/kept/evil", b"evil", {})],
        "through_link": [("Dockerfile", dockerfile, {}), ("l", b"", dict(link, linkname=top + "/kept")),
                         ("l/evil", b"evil", {})],
        "hard_out": [("Dockerfile", b"", dict(type=tarfile.LNKTYPE, linkname=up + top + "/secret"))],
        "device": [("Dockerfile", dockerfile, {}), ("null", b"", dict(type=tarfile.CHRTYPE, devmajor=1, devminor=3))],
    }[case]
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for name, data, attributes in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in attributes.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))


def bomb(how):
    """Writes a context of 64 MiB: zeros, which compress well, or its first half."""
    size = 64 << 20
    with io.BytesIO() as out:
        with tarfile.open(fileobj=out, mode="w:gz" if how == "gzip" else "w") as tar:
            for name, data in (("Dockerfile", b"FROM bb:1\n"), ("zeros", b"x" * size)):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        data = out.getvalue()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(data[:10 << 20] if how == "cut" else data)


def config():
    c = json.load(sys.stdin)
    assert c["config"]["Env"] == ["A=b c"], c
    assert c["config"]["User"] == "ada" and c["config"]["Labels"] == {"k": "v"}, c
    assert c["config"]["ExposedPorts"] == {"80/tcp": {}}, c
    assert c["config"]["Entrypoint"] == ["/bin/cat"], c
    assert c["config"]["Cmd"] == ["/bin/sh", "-c", "cat /d/f"], c
    layers = [h for h in c["history"] if not h.get("empty_layer")]
    assert len(layers) == len(c["rootfs"]["diff_ids"]) == 3, c


def tag():
    """Reads the only image in an index."""
    (manifest,) = json.load(sys.stdin)["manifests"]
    print(manifest["annotations"]["org.opencontainers.image.ref.name"])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
