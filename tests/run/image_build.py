#!/usr/bin/env -S python3 -SE
"""image_build.py CASE: makes archives for a context, and reads the
configuration of an image, for image_build.bats."""
import bz2
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
