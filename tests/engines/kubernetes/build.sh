#!/bin/bash
# build.sh VERSION FOLDER: builds Kubernetes' programs from the Go module proxy into FOLDER.
#
# The main module of Kubernetes replaces its 33 staging modules by folders that the proxy's archive
# leaves out; each of them is published as v0.MINOR.PATCH as well, and this go.mod names those.
set -eu
version=$1 folder=$2
programs=${programs:-kubectl kubelet kube-apiserver kube-scheduler kube-controller-manager}
IFS=. read -r major minor patch <<<"$version"

mkdir -p "$folder/source"
cd "$folder/source"
upstream=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
	echo "module engines"
	grep '^go ' "$upstream"
	echo "require k8s.io/kubernetes v$version"
	sed -n "s,^\t\(k8s.io/[a-z-]*\) => ./staging/.*,replace \1 => \1 v0.$minor.$patch,p" "$upstream"
} >go.mod
{
	echo "package engines"
	for name in $programs; do
		echo "import _ \"k8s.io/kubernetes/cmd/$name\""
	done
} >tools.go

stamp=k8s.io/component-base/version
for name in $programs; do
	nice -n 19 go build -p 2 -o "$folder/$name" -ldflags "-s -w -X $stamp.gitVersion=v$version \
		-X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor" "k8s.io/kubernetes/cmd/$name"
	echo "built $name"
done
