#!/usr/bin/env -S python3 -SE
"""clients.py world|registries: real clients in sandboxes with --network allow; prints TAP.

Each client is a row of a table, and runs in the image `clients` four times: for a host that a rule
allows and for one that no rule does, and each without proxy variables and with variables that lead
nowhere.  hutch needs no variable and sets none, so what the variables change is the client's doing:
one that minds them gets NO_PROXY beside them, with the names of hosts, since wget, npm and apt take
no star there; any other has to work as if they were not there.

`world` runs within net_world.sh, with the servers of server.py, and `registries` with the registries
of packages that this host reaches.
"""
import dataclasses
import ipaddress
import json
import os
import socket
import subprocess
import sys

HUTCH = os.environ["HUTCH"]
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
ALLOWED, REFUSED = "example.org", "other.org"
NOWHERE = [word for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
           for key in (name, name.lower())
           for word in ("-e", f"{key}=http://nowhere.invalid:9")]
HOSTS = "example.org,other.org,pypi.org,pythonhosted.org,npmjs.org,crates.io,golang.org,debian.org"
NO_PROXY = ["-e", f"NO_PROXY={HOSTS}", "-e", f"no_proxy={HOSTS}"]


@dataclasses.dataclass
class Client:
    """A row: `command` has HOST where a host's name stands; `says` is what it prints then.  If the
    host is refused, it exits with `code` and says `refused`.  `port` is that of the rule."""
    name: str
    command: str
    says: str
    code: int
    refused: str
    minds: bool = False
    port: str = ""
    flags: tuple = ()


@dataclasses.dataclass
class Registry:
    """A row: `rules` are those that the client needs, and `host` is one that they name."""
    name: str
    rules: tuple
    host: str
    command: str
    says: str
    code: int
    refused: str
    flags: tuple = ()


DENIED = "Permission denied"
JAVA = (f"keytool -importcert -noprompt -alias tests -file {AUTHORITIES} -keystore /tmp/trust "
        "-storepass secret 2>/dev/null; exec java -cp /opt/clients -Djavax.net.ssl.trustStore=/tmp/trust "
        "-Djavax.net.ssl.trustStorePassword=secret Fetch https://HOST/")
SSH = ("GIT_SSH_COMMAND='ssh -i /keys/user -o UserKnownHostsFile=/keys/known' "
       "git ls-remote ssh://ada@HOST/git/a.git")
PAGE = f"{ALLOWED} /"
CLIENTS = [
    Client("curl", "curl -sS https://HOST/", PAGE, 7, "Couldn't connect to server", minds=True),
    Client("curl over HTTP", "curl -sS http://HOST/", PAGE, 7, "Couldn't connect to server", minds=True),
    Client("wget", "wget -nv --tries=1 -O- https://HOST/", PAGE, 4, DENIED, minds=True),
    Client("git over HTTPS", "git ls-remote https://HOST/git/a.git", "refs/heads/main", 128,
           "Couldn't connect to server", minds=True),
    Client("git over ssh", SSH, "refs/heads/main", 128, DENIED, port=":22"),
    Client("Node's fetch", "node /opt/clients/fetch.mjs https://HOST/", PAGE, 1, "EACCES"),
    Client("a websocket of Node", "node /opt/clients/socket.mjs wss://HOST/echo", "echo", 1, "EACCES"),
    Client("a websocket of Node over HTTP", "node /opt/clients/socket.mjs ws://HOST/echo", "echo", 1,
           "EACCES"),
    Client("aiohttp", "python3 /opt/clients/fetch.py https://HOST/", PAGE, 1, DENIED),
    Client("a websocket of Python", "python3 /opt/clients/fetch.py wss://HOST/echo", "echo", 1, DENIED),
    Client("Java's HttpClient", JAVA, PAGE, 1, "ConnectException"),
    Client("a static program of Go", "fetch-go https://HOST/", PAGE, 1, "permission denied"),
    Client("a program of Rust with rustls", "fetch-rust HOST", PAGE, 1, DENIED),
    Client("Chromium", "chromium --headless --no-sandbox --ignore-certificate-errors --dump-dom https://HOST/ "
           ">/tmp/page 2>/tmp/said; ! grep -o ERR_NETWORK_ACCESS_DENIED /tmp/page && cat /tmp/page",
           PAGE, 1, "ERR_NETWORK_ACCESS_DENIED", minds=True),
    Client("psql", "psql -Atc 'select 6 * 7' 'host=HOST user=ada dbname=postgres'", "42", 2, DENIED,
           port=":5432"),
]
REGISTRIES = [
    Registry("pip", ("@pypi",), "pypi.org", "pip install -q --no-cache-dir --retries 0 "
             "--target /tmp/t six && ls /tmp/t", "six.py", 1, "No matching distribution found"),
    Registry("npm", ("@npm",), "registry.npmjs.org", "npm install --prefix /tmp/t --fetch-retries=0 left-pad",
             "added 1 package", 1, "EACCES"),
    Registry("pip and npm", ("@pypi", "@npm"), "pypi.org", "pip install -q --retries 0 --target /tmp/t six "
             "&& npm install --prefix /tmp/t left-pad", "added 1 package", 1, "No matching distribution found"),
    Registry("cargo", ("@crates",), "index.crates.io", "cd /tmp && cargo init -q --name t t && cd t && "
             "cargo add -q itoa@1 && cargo fetch", "Downloaded itoa", 101, "ouldn't connect to server",
             flags=("-e", "CARGO_NET_RETRY=0")),
    Registry("go", ("@golang",), "proxy.golang.org", "mkdir /tmp/t && cd /tmp/t && go mod init t && "
             "go get golang.org/x/sync@v0.1.0", "added golang.org/x/sync", 1, "permission denied"),
    Registry("apt-get", ("@debian",), "deb.debian.org", "apt-get -q update -o APT::Update::Error-Mode=any",
             "Reading package lists", 100, DENIED, flags=("-u", "root")),
]


def tell(is_good, name, done):
    print(f"{'' if is_good else 'not '}ok - {name}")
    if not is_good:
        print(f"# exit code {done.returncode}")
        for line in done.stdout.splitlines()[-15:]:
            print("#", line)
    sys.stdout.flush()


def sandbox(command, *flags):
    """Runs a command of the shell in the image, without the caller's variables."""
    return subprocess.run(
        [HUTCH, "run", "--json", "--image", "clients", "--network", "allow",
         "-e", f"NODE_EXTRA_CA_CERTS={AUTHORITIES}", *flags, "--", "sh", "-c", command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def works(name, says, done):
    tell(done.returncode == 0 and says in done.stdout, name, done)


def is_refused(row, host, done, note):
    """The client says in its own words that it may not, and hutch names the host in its result."""
    told = [entry["what"] for entry in json.loads(done.stdout.splitlines()[-1])["refused"]]
    tell(done.returncode == row.code and row.refused in done.stdout and f"connect to {host}" in told,
         f"{row.name}: is refused{note}", done)


def world():
    folder = os.environ["WORLD"]
    flags = ["-v", f"{os.environ['W']}/ca.pem:{AUTHORITIES}:ro", "-v", f"{folder}/keys:/keys:ro"]
    done = sandbox("env", *flags, "--allow", ALLOWED)
    tell(done.returncode == 0 and "proxy" not in done.stdout.lower(), "no variable is about a proxy", done)
    for row in CLIENTS:
        nowhere = [*NOWHERE, *(NO_PROXY if row.minds else [])]
        for variables, note in ([], ""), (nowhere, ", with proxy variables that lead nowhere"):
            given = [*flags, *row.flags, *variables, "--allow", ALLOWED + row.port]
            works(f"{row.name}: works{note}", row.says, sandbox(row.command.replace("HOST", ALLOWED), *given))
            done = sandbox(row.command.replace("HOST", REFUSED), *given)
            is_refused(row, REFUSED, done, note)


def reaches(host):
    """Returns the address of a registry, or None if this host does not reach it."""
    try:
        with socket.create_connection((host, 443), float(os.environ["PATIENCE"])) as sock:
            return ipaddress.ip_address(sock.getpeername()[0])
    except OSError:
        return None


def registries():
    flags = ["-v", f"{AUTHORITIES}:{AUTHORITIES}:ro"]
    for row in REGISTRIES:
        address = reaches(row.host)
        if address is None:
            print(f"ok - {row.name} # SKIP this host has no way to {row.host}")
            continue
        # A registry's mirror may have an address that is not public.
        mirror = [] if address.is_global else ["--allow", str(address)]
        rules = [word for rule in row.rules for word in ("--allow", rule)]
        for variables, note in ([], ""), ([*NOWHERE, *NO_PROXY], ", with proxy variables that lead nowhere"):
            given = [*flags, *row.flags, *variables, *mirror]
            works(f"{row.name}: works{note}", row.says, sandbox(row.command, *given, *rules))
            done = sandbox(row.command, *given, "--allow", "example.org")
            is_refused(row, row.host, done, note)


if __name__ == "__main__":
    {"world": world, "registries": registries}[sys.argv[1]]()
