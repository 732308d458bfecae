#!/usr/bin/env -S python3 -SE
"""store.py REFERENCE [LAYER...] [KEY=VALUE...]

Makes an image in the store, with the layout of store/store.h, from folders that
are layers already: the lowest first.  KEY is a key of a recipe
(store/launch_config.h).  Prints the digest.
"""

import hashlib
import os
import shutil
import sys


def digest(data):
    return hashlib.sha256(data).hexdigest()


def make(path, data):
    with open(path, "xb") as f:
        f.write(data)


def begin():
    store = os.path.join(os.environ["HOME"], ".local/share/hutch/store")
    for name in "blobs", "layers", "images", "names", "tmp":
        os.makedirs(os.path.join(store, name), mode=0o700, exist_ok=True)
    if not os.path.exists(os.path.join(store, "version")):
        make(os.path.join(store, "version"), b"1\n")
    at = store
    for _ in range(4):
        os.chmod(at, 0o700)
        at = os.path.dirname(at)
    return store


def add_layer(store, folder):
    hex_digest = digest(os.path.abspath(folder).encode())
    to = os.path.join(store, "layers", hex_digest)
    if not os.path.exists(to):
        os.mkdir(to, 0o700)
        shutil.move(folder, os.path.join(to, "fs"))
        make(os.path.join(to, "about"), b"")
    return hex_digest


def whole(reference):
    first = reference.split("/")[0]
    if "/" not in reference:
        reference = "docker.io/library/" + reference
    elif not any(c in first for c in ".:") and first != "localhost":
        reference = "docker.io/" + reference
    if ":" not in reference.rsplit("/", 1)[1]:
        reference += ":latest"
    return reference


def main():
    reference, *rest = sys.argv[1:]
    store = begin()
    texts = ["hutch-image 1"]
    for word in rest:
        is_pair = "=" in word and not os.path.isdir(word)
        texts.append(word if is_pair else "layer=" + add_layer(store, word))
    data = b"".join(t.encode() + b"\0" for t in texts)
    image = digest(data)
    at = os.path.join(store, "images", image)
    if not os.path.exists(at):
        make(at, data)
    name = os.path.join(store, "names", whole(reference).replace("/", "%2F"))
    if os.path.lexists(name):
        os.unlink(name)
    os.symlink(image, name)
    print(image)


main()
