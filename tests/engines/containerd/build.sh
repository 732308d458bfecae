#!/bin/bash
# build.sh CONTAINERD CRI_TOOLS FOLDER: builds containerd, its shim, ctr, crictl and critest of these
# versions from the Go module proxy into FOLDER.
set -eu
folder=$3

# module NAME VERSION PACKAGE...: makes a module that needs only these packages.
module() {
	local name=$1 version=$2
	shift 2
	mkdir -p "$folder/source/${name##*/}"
	cd "$folder/source/${name##*/}"
	printf 'module engines\n' >go.mod
	{ printf 'package engines\n'; printf 'import _ "%s"\n' "$@"; } >tools.go
	go get "$name@v$version"
	go mod tidy
}

# critest is a test binary, and its package has no main: go mod tidy cannot see its imports.
critest() {
	local tools
	tools=$(go list -m -f '{{.Dir}}' sigs.k8s.io/cri-tools)
	cp -r "$tools" "$folder/source/critest"
	chmod -R u+w "$folder/source/critest"
	cd "$folder/source/critest"
	nice -n 19 go test -c -o "$folder/critest" ./cmd/critest
}

containerd=github.com/containerd/containerd/v2
module "$containerd" "$1" "$containerd"/cmd/{containerd,containerd-shim-runc-v2,ctr}
nice -n 19 go build -p 2 -ldflags "-s -w -X $containerd/version.Version=v$1" -o "$folder/" \
	"$containerd"/cmd/{containerd,containerd-shim-runc-v2,ctr}
module sigs.k8s.io/cri-tools "$2" sigs.k8s.io/cri-tools/cmd/crictl
nice -n 19 go build -p 2 -ldflags '-s -w' -o "$folder/" sigs.k8s.io/cri-tools/cmd/crictl
critest
