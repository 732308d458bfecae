#!/usr/bin/env -S python3 -SE
"""image_pull.py CASE FOLDER: reads or makes manifests in that folder, for
image_pull.bats."""
import hashlib
import json
import sys


def read(folder, name):
    with open(f"{folder}/{name}", "rb") as file:
        return file.read()


def digests(folder):
    """Prints the digests of the manifest and of its layers, the largest first."""
    text = read(folder, "manifest")
    layers = sorted(json.loads(text)["layers"], key=lambda one: -one["size"])
    print(hashlib.sha256(text).hexdigest(), *[one["digest"][7:] for one in layers])


def index(folder):
    def one(name, arch):
        text = read(folder, name)
        return {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": len(text),
                "digest": "sha256:" + hashlib.sha256(text).hexdigest(),
                "platform": {"os": "linux", "architecture": arch}}

    print(json.dumps({"schemaVersion": 2,
                      "mediaType": "application/vnd.oci.image.index.v1+json",
                      "manifests": [one("arm", "arm64"), one("manifest", "amd64")]}))


def quoted():
    """Prints stdin as a JSON string."""
    print(json.dumps(sys.stdin.read()))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
