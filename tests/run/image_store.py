#!/usr/bin/env -S python3 -SE
"""image_store.py CASE ARG...: reads the output of `hutch image` on stdin, and
makes an invalid layout, for image_store.bats."""
import hashlib
import json
import sys


def field(key):
    value = json.load(sys.stdin)[0][key]
    print(value if isinstance(value, str) else json.dumps(value))


def rows():
    told = json.load(sys.stdin)
    assert [r["repository"] for r in told] == ["b/one", "a", "localhost:5000/a/b"], told
    assert told[1]["tag"] == "latest" and told[0]["size"] > 1000000, told
    assert told[1]["digest"] == told[2]["digest"], told


def blob(digest):
    return "bad/blobs/sha256/" + digest.split(":")[1]


def load(path):
    with open(path) as file:
        return json.load(file)


def put(document):
    data = json.dumps(document).encode()
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    with open(blob(digest), "wb") as file:
        file.write(data)
    return digest, len(data)


def mismatch():
    """Changes the layout `bad`: image "one" has a manifest without layers,
    "two" a configuration with its layers in reverse order."""
    index = load("bad/index.json")
    for entry in index["manifests"]:
        manifest = load(blob(entry["digest"]))
        if entry["annotations"]["org.opencontainers.image.ref.name"] == "one":
            manifest["layers"] = []
        else:
            config = load(blob(manifest["config"]["digest"]))
            config["rootfs"]["diff_ids"].reverse()
            manifest["config"]["digest"], manifest["config"]["size"] = put(config)
        entry["digest"], entry["size"] = put(manifest)
    with open("bad/index.json", "w") as file:
        json.dump(index, file)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
