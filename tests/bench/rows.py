"""rows -- the command lines by which the tools run one command in comparable
surroundings.

Every tool gets the namespaces user, mount, pid, net, ipc, uts and cgroup, a /proc and,
unless it has none of its own to offer, a /dev and a /tmp; the command is bound at
/nothing.  A row that cannot run here says why instead.
"""

import json
import os
import shutil
import subprocess

import goals
import plan

COMMAND = "/nothing"

USR = ["--ro-bind", "/usr", "/usr",
       "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
       "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]

LIMITS = ["--memory", "64m", "--pids-limit", "100"]

BWRAP = ["bwrap", "--unshare-all", "--proc", "/proc", "--dev", "/dev",
         "--tmpfs", "/tmp"] + USR


class Row:
    """A named argv; `why_not` is None, or the reason why it cannot be measured."""

    def __init__(self, name, argv, why_not=None):
        self.name = name
        self.argv = argv
        self.why_not = why_not

    def probe(self):
        """Runs it once; a failure becomes `why_not`."""
        if self.why_not:
            return self
        program = shutil.which(self.argv[0])
        if program is None:
            self.why_not = f"{self.argv[0]} is not here"
            return self
        # Stores the program's full path.  Otherwise posix_spawn(3) would search PATH at
        # every start, and the other rows do not have that cost.
        self.argv[0] = program
        done = subprocess.run(self.argv, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            self.why_not = said[-1] if said else f"exit status {done.returncode}"
        return self


class Rows:
    """The command lines, for programs in `build` and scratch files in `work`."""

    def __init__(self, build, work):
        self.bench = os.path.join(build, "bench")
        self.hutch_path = os.path.join(build, "hutch")
        self.floor_path = os.path.join(self.bench, "floor")
        self.nothing = os.path.join(self.bench, "nothing")
        self.table = os.path.join(work, "table")
        self.work = work

    def bare(self):
        return Row("bare exec", [self.nothing])

    def floor(self, *how):
        """With `--beside` the network namespace is made as hutch makes it."""
        name = "floor, as hutch" if how else "floor"
        return Row(name, [self.floor_path, *how, self.table, COMMAND])

    def write_table(self):
        """Makes floor's table from the plan of the hutch row."""
        plan.write_table(self.hutch().argv, self.floor_path, self.table)

    def differences(self):
        """Returns the differences between the worlds inside floor and inside
        hutch."""
        hutch, floor = self.hutch().argv[:-1], self.floor().argv[:-1]
        beside = self.floor("--beside").argv[:-1]
        return plan.differences(hutch, floor) + plan.differences(hutch, beside)

    def hutch(self, volumes=()):
        argv = [self.hutch_path, "run", "-v", f"{self.nothing}:{COMMAND}:ro"]
        for source, target in volumes:
            argv += ["-v", f"{source}:{target}:ro"]
        return Row("hutch run", argv + ["--", COMMAND])

    def limited(self):
        row = self.hutch()
        row.name = goals.LIMITED
        row.argv[2:2] = LIMITS
        row.why_not = self.why_no_limits()
        return row

    def image(self, layers):
        """An image of the store, which exists after the first call: each layer
        has a file of its own."""
        row = self.hutch()
        row.name = goals.IMAGE.format(layers)
        name = f"bench-{layers}"
        row.argv[2:2] = ["--image", name]
        if os.getuid() == 0:
            row.why_not = "root's sandboxes are somebody else's, and so are their images"
        else:
            self.make_image(name, layers)
        return row

    def make_image(self, name, layers):
        home = os.path.join(self.work, "home")
        folders = [os.path.join(self.work, name, str(at)) for at in range(layers)]
        for at, folder in enumerate(folders):
            os.makedirs(os.path.join(folder, "usr/share", str(at)))
        os.makedirs(home, exist_ok=True)
        script = os.path.join(os.path.dirname(__file__), "../run/store.py")
        subprocess.run([script, name, *folders], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "HOME": home})
        os.environ["XDG_DATA_HOME"] = os.path.join(home, ".local/share")

    def why_no_limits(self):
        """None inside a delegated subtree. systemd makes a scope of the user
        manager, and its time is not measured here."""
        done = subprocess.run([self.hutch_path, "doctor", "--json"], text=True,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        check = next(check for check in json.loads(done.stdout)["checks"]
                     if check["name"] == "cgroup")
        is_ours = check["status"] == "ok" and "delegated to user" in check["detail"]
        return None if is_ours else f"no delegated cgroup: {check['detail']}"

    def bwrap(self, volumes=()):
        argv = BWRAP + ["--ro-bind", self.nothing, COMMAND]
        for source, target in volumes:
            argv += ["--ro-bind", source, target]
        return Row("bwrap --unshare-all", argv + [COMMAND])

    def unshare(self):
        argv = ["unshare", "-Urpfmnui", "--mount-proc", self.nothing]
        return Row("unshare -Urpfmnui", argv)

    def runtime(self, name, *options):
        """An OCI runtime, with a rootless specification for root, too, so that
        its namespaces are the same in both passes."""
        bundle = os.path.join(self.work, name)
        row = Row(f"{name} run", [name, "--root", os.path.join(bundle, "state"),
                                  *options, "run", "--bundle", bundle, "bench"])
        if shutil.which(name) is None:
            row.why_not = f"{name} is not here"
        else:
            self.make_bundle(name, bundle)
        return row

    def make_bundle(self, name, bundle):
        os.makedirs(os.path.join(bundle, "rootfs"))
        shutil.copy(self.nothing, os.path.join(bundle, "rootfs"))
        subprocess.run([name, "spec", "--rootless"], cwd=bundle, check=True)
        path = os.path.join(bundle, "config.json")
        with open(path, encoding="utf-8") as file:
            spec = json.load(file)
        spec["process"]["terminal"] = False
        spec["process"]["args"] = [COMMAND]
        spec["process"].pop("rlimits", None)
        kinds = {"user", "mount", "pid", "network", "ipc", "uts", "cgroup"}
        spec["linux"]["namespaces"] = [{"type": kind} for kind in sorted(kinds)]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)

    def all(self):
        return [self.floor(), self.floor("--beside"), self.hutch(), self.limited(),
                self.image(1), self.image(20), self.bwrap(), self.unshare(),
                self.runtime("crun", "--cgroup-manager=disabled"),
                self.runtime("runc"), self.bare()]
