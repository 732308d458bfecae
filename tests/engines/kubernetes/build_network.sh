#!/bin/bash
# build_network.sh VERSION COREDNS FOLDER: builds kube-proxy of Kubernetes VERSION, and CoreDNS with
# the plugin for its names, into FOLDER, from the Go module proxy.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$1 coredns=$2 folder=$3

programs=kube-proxy "$here/build.sh" "$version" "$folder"
mkdir "$folder/source/coredns"
cd "$folder/source/coredns"
printf 'module engines\n' >go.mod
cat >main.go <<-X
	package main

	import (
		"github.com/coredns/coredns/coremain"
		_ "github.com/coredns/coredns/plugin/errors"
		_ "github.com/coredns/coredns/plugin/kubernetes"
	)

	func main() { coremain.Run() }
X
go get "github.com/coredns/coredns@v$coredns"
go mod tidy
nice -n 19 go build -p 2 -ldflags "-s -w" -o "$folder/coredns" .
echo "built coredns"
