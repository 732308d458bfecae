"""unpack -- a layer of 300 MB, compressed by gzip, unpacked by hutch, by tar and by umoci
into folders of the same file system, in the same turns.

hutch's and umoci's check digests, tar's does not.  On a disk the file system's
share is the same for all three, and may be most of the time; in memory the time
is that of the programs.  The layer consists of the host's own files, so figures
of different machines differ.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time

ROUNDS = 3
BYTES = 300 << 20
SOURCES = ("/usr/lib/python3", "/usr/lib/git-core", "/usr/share", "/usr/lib")


def draw_files():
    """Returns paths of files up to the wanted size, with the folders that they
    need."""
    total, seen = 0, set()
    for source in SOURCES:
        for folder, _, files in os.walk(source):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if path in seen or os.path.islink(path) or not os.access(path, os.R_OK):
                    continue
                seen.add(path)
                total += os.path.getsize(path)
                yield path
                if total > BYTES:
                    return


def make_image(work):
    """Makes an OCI layout with that layer; returns the paths of the layer and
    of its tar's digest."""
    names, tar, layout = (os.path.join(work, name) for name in ("names", "layer.tar", "oci"))
    with open(names, "w", encoding="utf-8") as file:
        file.write("\n".join(draw_files()))
    subprocess.run(["tar", "-C", "/", "-cf", tar, "--owner=0", "--group=0", "-P",
                    "--transform=s,^/,,", "-T", names], check=True, stderr=subprocess.DEVNULL)
    with open(tar, "rb") as file:
        diff_id = hashlib.file_digest(file, "sha256").hexdigest()
    for command in (["init", "--layout", layout], ["new", "--image", layout + ":t"],
                    ["raw", "add-layer", "--image", layout + ":t", tar]):
        subprocess.run(["umoci", *command], check=True, stdout=subprocess.DEVNULL)
    os.remove(tar)
    blobs = os.path.join(layout, "blobs", "sha256")
    largest = max(os.listdir(blobs), key=lambda name: os.path.getsize(os.path.join(blobs, name)))
    return layout, os.path.join(blobs, largest), "sha256:" + diff_id


def take(argv, folder, **more):
    """Returns the seconds that a run took; removes its result."""
    os.makedirs(folder, mode=0o700)
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    took = time.perf_counter() - start
    subprocess.run(["chmod", "-R", "u+rwx", folder], check=True)
    shutil.rmtree(folder)
    return took


def turns(driver, image, place):
    layout, blob, diff_id = image
    samples = {"hutch": [], "tar -xzf": [], "umoci": []}
    with tempfile.TemporaryDirectory(prefix="hutch-bench-unpack-", dir=place) as top:
        folder = os.path.join(top, "to")
        for _ in range(ROUNDS):
            samples["hutch"].append(take([driver, blob, diff_id], folder,
                                         env={**os.environ, "XDG_DATA_HOME": folder}))
            samples["tar -xzf"].append(take(["tar", "-xzf", blob, "-C", folder], folder))
            samples["umoci"].append(take(["umoci", "raw", "unpack", "--rootless", "--image",
                                          layout + ":t", os.path.join(folder, "x")], folder))
    return {name: middle(took) for name, took in samples.items()}


def middle(took):
    return round(sorted(took)[ROUNDS // 2], 2)


def all_places():
    places = {"on the disk": None}
    if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 4 * BYTES:
        places["in memory"] = "/dev/shm"
    return places


def measure_unpack(driver, image, places):
    return {"mib": BYTES >> 20,
            "seconds": {name: turns(driver, image, place) for name, place in places.items()}}
