"""pull -- fetches the image of unpack.py from a registry on loopback, Debian's
docker-registry, and unpacks it: by hutch, and by skopeo and then umoci, in
turns.

Each begins with nothing and checks digests.  hutch unpacks while it fetches.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import threading

import unpack

NEEDED = ("docker-registry", "skopeo", "umoci")
TWO_STEPS = """
skopeo copy -q --src-tls-verify=false "docker://$1" "oci:$2/oci:t" &&
umoci unpack --rootless --image "$2/oci:t" "$2/bundle"
"""


@contextlib.contextmanager
def registry(work):
    """Starts a registry; returns its HOST:PORT, with a port that the kernel chose."""
    config = os.path.join(work, "registry.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\n"
                   f"storage: {{filesystem: {{rootdirectory: {work}/registry}}}}\n"
                   "http: {addr: '127.0.0.1:0'}\n")
    with subprocess.Popen(["docker-registry", "serve", config], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as server:
        try:
            for line in server.stderr:
                found = re.search(r"listening on (127\.0\.0\.1:\d+)", line)
                if found:
                    break
            else:
                raise RuntimeError("docker-registry does not start")
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield found.group(1)
        finally:
            server.kill()


def turns(hutch, source, place):
    samples = {"hutch image pull": [], "skopeo copy, umoci unpack": []}
    with tempfile.TemporaryDirectory(prefix="hutch-bench-pull-", dir=place) as top:
        folder = os.path.join(top, "to")
        for _ in range(unpack.ROUNDS):
            samples["hutch image pull"].append(
                unpack.take([hutch, "image", "pull", "-q", source], folder,
                            env={**os.environ, "XDG_DATA_HOME": folder}))
            samples["skopeo copy, umoci unpack"].append(
                unpack.take(["/bin/sh", "-c", TWO_STEPS, "sh", source, folder], folder))
    return {name: unpack.middle(took) for name, took in samples.items()}


def measure_pull(hutch, image, places, work):
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        return {"why_not": f"{missing[0]} is not here"}
    layout = image[0]
    with registry(work) as host:
        source = f"{host}/bench:t"
        subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false", f"oci:{layout}:t",
                        f"docker://{source}"], check=True)
        return {name: turns(hutch, source, place) for name, place in places.items()}
