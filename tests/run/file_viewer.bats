#!/usr/bin/env bats
# Tests of the plugin file_viewer: a server on the sandbox's loopback for its browser.

load helpers

@test "the server does what its tests say" {
	python3 -SEB "$top/tests/plugins/file_viewer_test.py"
}

@test "a process inside reads its address, and gets a page and its picture" {
	"$here/act.py" "$HUTCH" '
def do(command):
    send({"action": "run", "args": {"command": command}})
    while "observation" not in (line := receive()):
        pass
    return line
while (line := receive()).get("state") != "ready":
    assert line.get("state") != "failed", line
do("printf picture >a.png")
get = lambda path: do(f"python3 -c \"import urllib.request as r; "
                      f"print(r.urlopen(open(\x27/tmp/oh-server-url\x27).read() + \x27{path}\x27).read().decode())\"").content
assert get("/") == "{\"status\": \"File viewer server is running\"}", a.last
assert "<img src=\"/file?path=/workspace/a.png\" alt=\"a.png\">" in get("/view?path=/workspace/a.png"), a.last
assert get("/file?path=/workspace/a.png") == "picture", a.last
assert "HTTP Error 415" in get("/view?path=/etc/passwd"), a.last
assert end()[0] == 0' --plugin file_viewer --stream
}
