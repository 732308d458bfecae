#!/usr/bin/env bats
# Tests of hutch image pull with the docker-registry of Debian on loopback, behind a proxy that
# alters its answers as a network or an attacker in it could (registries.py). umoci makes the
# images, which contain busybox and random bytes.

bats_require_minimum_version 1.5.0
load helpers

# This password must never occur in any output; registries.py has it, too.
SECRET='a secret password'

setup_file() {
	R=$(mktemp -d /tmp/hutch-registries.XXXXXX)
	export R
	chmod 755 "$R"
	mkfifo "$R/ports"
	"$BATS_TEST_DIRNAME/registries.py" "$R" >"$R/ports" 2>"$R/err" 3>&- </dev/null &
	echo $! >"$R/pid"
	read -r -t "$PATIENCE" line <"$R/ports" || { cat "$R/err" && return 1; }
	# shellcheck disable=SC2163 # NAME=PORT, each
	for one in $line; do export "$one"; done
	fill
}

teardown_file() {
	kill -KILL "$(cat "$R/pid")"
	rm -rf "$R"
}

# layer FILE: adds a layer to the image that is being made; the layer has FILE in /data.
layer() {
	umoci unpack --rootless --image "$R/layout:made" "$R/bundle" >/dev/null
	mkdir -p "$R/bundle/rootfs/data" "$R/bundle/rootfs/bin"
	[[ $1 != busybox ]] || cp /bin/busybox "$R/bundle/rootfs/bin/"
	[[ $1 == busybox ]] || mv "$R/$1" "$R/bundle/rootfs/data/"
	umoci repack --image "$R/layout:made" "$R/bundle" >/dev/null
	rm -rf "$R/bundle"
}

# push NAME: pushes the image.
push() {
	skopeo copy -q --dest-tls-verify=false "oci:$R/layout:made" "docker://127.0.0.1:$direct/$1"
}

manifest_of() {
	skopeo inspect --raw --tls-verify=false "docker://127.0.0.1:$direct/$1"
}

fill() {
	umoci init --layout "$R/layout"
	umoci new --image "$R/layout:made"
	umoci config --image "$R/layout:made" --architecture amd64 --config.cmd /bin/busybox
	layer busybox
	head -c 1500000 /dev/urandom >"$R/large"
	layer large
	head -c 200000 /dev/urandom >"$R/small"
	layer small
	for name in public/tool:1 private/tool:1 library/tool:1; do
		push "$name"
	done
	manifest_of public/tool:1 >"$R/manifest"
	"$BATS_TEST_DIRNAME/image_pull.py" digests "$R" >"$R/digests"
	umoci config --image "$R/layout:made" --architecture arm64
	push public/arm:1
	index
}

# Makes an image index of the two images (for two architectures) by hand, since skopeo cannot make
# one.
index() {
	manifest_of public/arm:1 >"$R/arm"
	"$BATS_TEST_DIRNAME/image_pull.py" index "$R" >"$R/index"
	skopeo copy -q --dest-tls-verify=false "docker://127.0.0.1:$direct/public/arm:1" \
		"docker://127.0.0.1:$direct/public/tool:arm" --src-tls-verify=false
	curl -sSf -X PUT --data-binary "@$R/index" \
		-H 'Content-Type: application/vnd.oci.image.index.v1+json' \
		"http://127.0.0.1:$direct/v2/public/tool/manifests/both"
}

setup() {
	begin
	unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY \
		DOCKER_CONFIG REGISTRY_AUTH_FILE SSL_CERT_FILE
	# shellcheck disable=SC2154 # of setup_file
	read -r digest large middle small <"$R/digests"
	store=$T/home/.local/share/hutch/store
	mkdir -p "$T/home/.config/hutch" "$T/home/.docker"
	configure '{"patience": 1000}'
	faults '[]'
	: >"$R/heard"
}

configure() {
	echo "$1" >"$T/home/.config/hutch/registries.json"
	give home
}

# log_in JSON: writes the configuration file of docker.
log_in() {
	echo "$1" >"$T/home/.docker/config.json"
	give home
}

auth() {
	printf %s "$1" | base64 -w0
}

faults() {
	echo "$1" >"$R/faults.new"
	mv "$R/faults.new" "$R/faults"
}

pull() {
	hutch image pull -q "$@"
	[[ $output$stderr != *"$SECRET"* && $output$stderr != *"$(auth "me:$SECRET")"* ]]
	[[ $output$stderr != *Bearer* && $output$stderr != *eyJ* ]]
}

# pulls ARG...: pulls an image, and checks that hutch prints one reference with a digest and
# nothing else.
pulls() {
	pull "$@"
	[[ $status == 0 && -z $stderr && ${#lines[@]} == 1 && $output == *@sha256:* ]]
}

# refuses_to_pull PATTERN REF...: checks that the pull fails with one sentence, and that the store
# shows no part of the image.
refuses_to_pull() {
	pull "${@:2}"
	[[ $status == 125 && -z $output ]] && one_sentence "$1" && nothing_visible
}

nothing_visible() {
	[[ ! -d $store/images || -z $(ls "$store/images" "$store/names" | grep -v :$ | grep .) ]]
}

heard() {
	grep -cE -- "$1" "$R/heard" || true
}

# --- what is got -----------------------------------------------------------------

@test "an image is got whole, and its pinned reference is printed" {
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$output" = "127.0.0.1:$open/public/tool@sha256:$digest" ]
	for blob in "$digest" "$large" "$middle" "$small"; do
		[ "$(sha256sum <"$store/blobs/$blob")" = "$blob  -" ]
	done
	[ "$(readlink "$store"/names/*)" = "$digest" ]
	[ "$(ls "$store/layers" | wc -l)" = 3 ]
	[ -z "$(ls "$store/tmp")" ]
}

@test "a pulled image can be launched" {
	needs_static
	pulls "127.0.0.1:$open/public/tool:1"
	inside --image "127.0.0.1:$open/public/tool:1" /bin/busybox wc -c /data/large
	[[ $status == 0 && $output == "1500000 /data/large" ]]
	inside --image "127.0.0.1:$open/public/tool@sha256:$digest" /bin/busybox echo pinned
	[[ $status == 0 && $output == pinned ]]
}

@test "apptainer pull makes a file of an image, and asks the registry once" {
	needs_static
	room sifs
	cd sifs
	ref=docker://127.0.0.1:$open/public/tool:1
	run -0 "$HUTCH" apptainer -q pull "$ref"
	run -0 "$HUTCH" apptainer -q pull --dir "$T/sifs" --name two.sif "$ref"
	[ "$(ls | xargs)" = 'tool_1.sif two.sif' ]
	cmp tool_1.sif two.sif
	[ "$("$HUTCH" apptainer -q exec -c tool_1.sif /bin/busybox echo hello)" = hello ]
	asked=$(grep -c manifests "$R/heard")
	run -255 "$HUTCH" apptainer -q pull tool_1.sif "$ref"
	run -0 "$HUTCH" apptainer -q pull --force tool_1.sif "$ref"
	[ "$(grep -c manifests "$R/heard")" -eq "$asked" ]
	run -0 "$HUTCH" apptainer -q pull --force --disable-cache tool_1.sif "$ref"
	[ "$(grep -c manifests "$R/heard")" -gt "$asked" ]
	run -0 "$HUTCH" apptainer -q build three.sif "docker://127.0.0.1:$open/public/tool@sha256:$digest"
	[ "$("$HUTCH" apptainer -q exec -c three.sif /bin/busybox echo pinned)" = pinned ]
	run -255 "$HUTCH" apptainer -q pull "docker://127.0.0.1:$open/public/none:1"
	[[ $output == *'FATAL:   could not pull docker://'* ]]
	[ "$(ls | xargs)" = 'three.sif tool_1.sif two.sif' ]
}

@test "a layer that is present is not fetched again, and a pinned image asks no registry" {
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard blobs)" = 4 ]
	: >"$R/heard"
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard blobs)" = 0 ]
	[ "$(heard manifests)" = 1 ]
	: >"$R/heard"
	pulls "127.0.0.1:$open/public/tool@sha256:$digest"
	[ ! -s "$R/heard" ]
	pulls "127.0.0.1:$open/private/tool:1"
	[ "$(heard blobs)" = 0 ]
}

@test "an index gives the image for this machine, or for another if that is named" {
	[[ $(uname -m) == x86_64 ]] || skip "the index is of amd64 and arm64"
	pulls "127.0.0.1:$open/public/tool:both"
	[[ $output == *"@sha256:$digest" ]]
	pulls --platform linux/arm64 "127.0.0.1:$open/public/tool:both"
	[[ $output == *"@sha256:$(sha256sum <"$R/arm" | cut -d' ' -f1)" ]]
	rm -rf "$store"
	refuses_to_pull '.*no image for linux/riscv64 here, but: linux/arm64, linux/amd64' \
		--platform linux/riscv64 "127.0.0.1:$open/public/tool:both"
	refuses_to_pull '.*no image for linux/amd64 here, but: linux/arm64' \
		"127.0.0.1:$open/public/arm:1"
	refuses_to_pull "'linux' is no platform" --platform linux "127.0.0.1:$open/public/arm:1"
}

@test "two pulls at once get each layer once" {
	"$HUTCH" image pull -q "127.0.0.1:$open/public/tool:1" >one 2>&1 &
	first=$!
	"$HUTCH" image pull -q "127.0.0.1:$open/private/tool:1" >two 2>&1 &
	wait $!
	wait $first
	[ "$(cut -d@ -f2 one two | sort -u)" = "sha256:$digest" ]
	for blob in "$large" "$middle" "$small"; do
		[ "$(heard "blobs/sha256:$blob")" = 1 ]
	done
}

# --- who asks --------------------------------------------------------------------

@test "an unknown image is reported as unknown" {
	refuses_to_pull ".*does not have 127.0.0.1:$open/public/nothing:1" \
		"127.0.0.1:$open/public/nothing:1"
	refuses_to_pull ".*does not have 127.0.0.1:$open/public/tool:2" "127.0.0.1:$open/public/tool:2"
	refuses_to_pull '.*does not have' "127.0.0.1:$open/public/tool@sha256:$(printf 0%.0s {1..64})"
	refuses_to_pull ".*no server answers there" 127.0.0.1:1/public/tool:1
	refuses_to_pull '.*' 'NO/Such'
}

@test "a registry that asks for a password gets the right one, and says when it is wrong" {
	refuses_to_pull '.*does not have .*, or asks for a login' \
		"127.0.0.1:$basic/private/tool:1"
	log_in "{\"auths\":{\"127.0.0.1:$basic\":{\"auth\":\"$(auth me:wrong)\"}}}"
	refuses_to_pull ".*refuses the user and password of $T/home/.docker/config.json" \
		"127.0.0.1:$basic/private/tool:1"
	log_in "{\"auths\":{\"127.0.0.1:$basic\":{\"auth\":\"$(auth "me:$SECRET")\"}}}"
	pulls "127.0.0.1:$basic/private/tool:1"
	# A registry on another port does not get the credentials of the first one.
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard "^open .* Basic")" = 0 ] && [ "$(heard "^basic .* Basic")" -ge 1 ]
}

@test "a token is fetched, anonymously or with credentials" {
	pulls "127.0.0.1:$token/public/tool:1"
	[ "$(heard '^tokens GET .*scope=repository%3Apublic%2Ftool%3Apull -')" -ge 1 ]
	rm -rf "$store"
	refuses_to_pull '.*does not have .*, or asks for a login' \
		"127.0.0.1:$token/private/tool:1"
	log_in "{\"auths\":{\"127.0.0.1:$token\":{\"auth\":\"$(auth me:wrong)\"}}}"
	refuses_to_pull '.*refuses the user and password of' "127.0.0.1:$token/private/tool:1"
	log_in "{\"auths\":{\"127.0.0.1:$token\":{\"auth\":\"$(auth "me:$SECRET")\"}}}"
	pulls "127.0.0.1:$token/private/tool:1"
	rm -rf "$store"
	log_in "{\"auths\":{\"127.0.0.1:$token\":{\"identitytoken\":\"an-identity-token\"}}}"
	pulls "127.0.0.1:$token/private/tool:1"
	[ "$(heard '^tokens POST')" -ge 1 ]
}

@test "a helper keeps the password, and hears the host on its stdin alone" {
	mkdir bin
	cat >bin/docker-credential-tests <<END
#!/bin/sh
[ "\$*" = get ] && [ "\$(cat)" = 127.0.0.1:$token ] || exit 1
echo '{"Username":"me","Secret":"$SECRET"}'
END
	chmod 755 bin bin/*
	log_in '{"credsStore":"tests"}'
	PATH=$T/bin:$PATH pulls "127.0.0.1:$token/private/tool:1"
	rm -rf "$store"
	refuses_to_pull 'pull .*: start docker-credential-tests' "127.0.0.1:$token/private/tool:1"
	log_in '{"auths":{"127.0.0.1'
	refuses_to_pull "pull .*: $T/home/.docker/config.json: line 1" \
		"127.0.0.1:$token/private/tool:1"
}

@test "a token that expires in the middle is fetched anew" {
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"expire\",\"times\":1},
		{\"on\":\"blobs/sha256:$small\",\"do\":\"expire\",\"times\":1}]"
	pulls "127.0.0.1:$token/public/tool:1"
	[ "$(heard '^tokens GET')" -ge 2 ]
}

@test "a redirect to another host does not take the Authorization along" {
	log_in "{\"auths\":{\"127.0.0.1:$basic\":{\"auth\":\"$(auth "me:$SECRET")\"}}}"
	faults "[{\"on\":\"GET .*blobs\",\"do\":\"redirect\",\"to\":\"http://127.0.0.1:$cdn\",\"times\":4}]"
	# The server cdn applies the same list of faults, so it answers with redirects, too, until
	# the four are used up.
	pulls "127.0.0.1:$basic/private/tool:1"
	[ "$(heard '^cdn GET .*blobs')" -ge 1 ]
	[ "$(heard '^cdn .* Basic')" = 0 ]
}

# --- what the network does -------------------------------------------------------

@test "a connection that breaks off is gone on with from there" {
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"drop\",\"at\":400000,\"times\":3}]"
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard "sha256:$large - bytes=400000-")" = 1 ]
	[ "$(heard "sha256:$large - bytes=1200000-")" = 1 ]
}

@test "a registry that gives the whole again, or another part, is begun anew with" {
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"drop\",\"at\":400000,\"times\":1},
		{\"on\":\"blobs/sha256:$large\",\"do\":\"whole\",\"times\":1},
		{\"on\":\"blobs/sha256:$middle\",\"do\":\"drop\",\"at\":40000,\"times\":1},
		{\"on\":\"blobs/sha256:$middle\",\"do\":\"astray\",\"times\":1}]"
	pulls "127.0.0.1:$open/public/tool:1"
}

@test "a stall is waited for as long as is said, and gone on with" {
	configure '{"patience": 1}'
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"stall\",\"at\":90,\"times\":1}]"
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard "sha256:$large - bytes=90-")" = 1 ]
}

@test "a registry that never answers is one sentence" {
	configure '{"patience": 1}'
	faults '[{"on":"manifests","do":"hang"}]'
	refuses_to_pull '.*the transfer has stalled' "127.0.0.1:$open/public/tool:1"
}

@test "a request refused for its rate is repeated at the time that the registry says" {
	faults '[{"on":"manifests","do":"status","status":429,"headers":{"Retry-After":"1"},"times":1},
		{"on":"blobs","do":"status","status":500,"times":1},
		{"on":"blobs","do":"status","status":503,"times":1}]'
	pulls "127.0.0.1:$open/public/tool:1"
	faults '[{"on":"manifests","do":"status","status":429,"headers":{"Retry-After":"3600"}}]'
	rm -rf "$store"
	refuses_to_pull '.*too many requests' "127.0.0.1:$open/public/tool:1"
	[[ ${stderr_lines[1]} == *"again in 3600 s"* ]]
}

@test "lies about lengths are one sentence each, and the next try goes on" {
	for lie in '"long","at":1000' '"short","at":1000' '"more","at":1000'; do
		faults "[{\"on\":\"blobs/sha256:$large\",\"do\":$lie}]"
		refuses_to_pull '.*bytes were expected, and' "127.0.0.1:$open/public/tool:1"
	done
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"unsaid\",\"at\":1000,\"times\":1}]"
	pulls "127.0.0.1:$open/public/tool:1"
}

@test "bytes with another digest are refused, and nothing of them stays" {
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"flip\",\"at\":1000}]"
	refuses_to_pull ".*the bytes received as blob ${large:0:12} have the digest" \
		"127.0.0.1:$open/public/tool:1"
	[ ! -e "$store/tmp/blob-$large" ]
	rm -rf "$store"
	faults '[{"on":"manifests","do":"flip","at":50}]'
	refuses_to_pull '.*sent another manifest than it announced' "127.0.0.1:$open/public/tool:1"
	refuses_to_pull '.*sent another manifest than it announced' \
		"127.0.0.1:$open/public/tool@sha256:$digest"
	faults '[]'
	pulls "127.0.0.1:$open/public/tool:1"
}

@test "a part that is wrong is not gone on from twice" {
	pulls "127.0.0.1:$open/public/tool:1"
	mv "$store/blobs/$large" "$T/whole"
	head -c 1000 /dev/zero >"$store/tmp/blob-$large"
	rm -rf "$store"/images/* "$store"/names/*
	give home
	pulls "127.0.0.1:$open/public/tool:1"
	cmp "$store/blobs/$large" "$T/whole"
}

@test "a disk that gets full is said so, with what would help" {
	room small
	catch outer sh -c 'mount -t tmpfs -o size=1m,mode=700 none "$1" || exit 9
		XDG_DATA_HOME=$1 "$2" image pull -q "$3"
		code=$?
		ls "$1"/hutch/store/images "$1"/hutch/store/names
		exit $code' - "$T/small" "$HUTCH" "127.0.0.1:$open/public/tool:1"
	[[ $status == 125 ]]
	# Layers are unpacked while others are downloaded, so the first error is of either.
	one_sentence '.*(write a blob|unpack a layer) into the store.*No space left'
	[[ ${stderr_lines[1]} == *"goes on from there"* ]]
	[ -z "$(grep -v ':$' <<<"$output")" ]
}

@test "a disk that has room for an image's blobs and not for its layers is said so, too" {
	pulls "127.0.0.1:$open/public/tool:1"
	rm -rf "$store"/{layers,images,names}/*
	room small
	catch outer sh -c 'mount -t tmpfs -o size=8m,mode=700 none "$1" || exit 9
		mkdir -p "$1/hutch" && cp -r "$4" "$1/hutch/store" || exit 9
		cat /dev/zero >"$1/rest" 2>/dev/null
		truncate -s -50000 "$1/rest"
		XDG_DATA_HOME=$1 "$2" image pull -q "$3"' - \
		"$T/small" "$HUTCH" "127.0.0.1:$open/public/tool:1" "$store"
	[[ $status == 125 ]]
	one_sentence '.*unpack a layer into the store: write .*No space left'
	[[ ${stderr_lines[1]} == *"goes on from there"* ]]
}

@test "a document of another kind is one sentence" {
	faults '[{"on":"manifests","do":"type","type":"application/vnd.docker.distribution.manifest.v1+json"}]'
	refuses_to_pull '.*schema 1' "127.0.0.1:$open/public/tool:1"
	faults '[{"on":"manifests","do":"type","type":"application/x-something"}]'
	refuses_to_pull '.*no media type of a manifest' "127.0.0.1:$open/public/tool:1"
	faults '[{"on":"manifests","do":"status","status":200,"body":"hello"}]'
	refuses_to_pull '.*line 1' "127.0.0.1:$open/public/tool:1"
	faults '[{"on":"manifests","do":"status","status":200,"body":""}]'
	refuses_to_pull '.*' "127.0.0.1:$open/public/tool:1"
	body=$(sed 's/layer.v1.tar+gzip/layer.v1.rar/' "$R/manifest" | "$here/image_pull.py" quoted)
	faults "[{\"on\":\"manifests\",\"do\":\"status\",\"status\":200,\"body\":$body}]"
	refuses_to_pull '.*layer.v1.rar' "127.0.0.1:$open/public/tool:1"
}

@test "a pull that is killed is gone on with, and one that is interrupted ends clean" {
	faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"stall\",\"at\":300000,\"times\":1}]"
	asked=0
	for signal in KILL INT; do
		env --default-signal "$HUTCH" image pull -q "127.0.0.1:$open/public/tool:1" \
			>out 2>&1 3>&- &
		pid=$!
		started+=("$pid")
		asked=$((asked + 1))
		until_true eval '[ "$(heard "GET .*sha256:$large")" = $asked ] &&
			[ "$(stat -c %s "$store/tmp/blob-$large" 2>/dev/null)" = 300000 ]'
		kill -s $signal "$pid"
		code=0
		wait "$pid" || code=$?
		[ "$code" = $((128 + $(kill -l $signal))) ]
		[ ! -s out ]
		nothing_visible
		faults "[{\"on\":\"blobs/sha256:$large\",\"do\":\"stall\",\"at\":0,\"times\":1}]"
	done
	faults '[]'
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard "sha256:$large - bytes=300000-")" = 2 ]
}

# --- where it is asked for -------------------------------------------------------

@test "mirrors are asked in their order, and the registry after them" {
	configure "{\"mirrors\":{\"docker.io\":[\"http://127.0.0.1:1\",\"http://127.0.0.1:$open\"]}}"
	pulls tool:1
	[ "$output" = "docker.io/library/tool@sha256:$digest" ]
	configure "{\"mirrors\":{\"127.0.0.1:$open\":[\"http://127.0.0.1:$cdn\"]}}"
	: >"$R/heard"
	pulls "127.0.0.1:$open/public/arm:1" --platform linux/arm64
	[ "$(heard '^cdn')" -ge 1 ]
	[ "$(heard '^open')" = 0 ]
	# A mirror with wrong content is skipped.
	rm -rf "$store"
	faults '[{"on":"blobs","do":"flip","at":9,"times":1}]'
	pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard '^open')" -ge 1 ]
	configure '{"mirror":{}}'
	pull tool:1
	[[ $status == 125 ]] && one_sentence ".*registries.json: registries: unknown key 'mirror'"
}

@test "a registry on another machine is not asked without TLS" {
	configure '{"mirrors":{"docker.io":["http://127.0.0.1:1"]},"patience":1}'
	faults "[{\"on\":\"manifests\",\"do\":\"redirect\",\"to\":\"http://registry.invalid\"}]"
	refuses_to_pull '.*registry.invalid is not asked without TLS' "127.0.0.1:$open/public/tool:1"
	[[ ${stderr_lines[1]} == *"--insecure registry.invalid"* ]]
	refuses_to_pull '.*registry.invalid: there is no such host' --insecure registry.invalid \
		"127.0.0.1:$open/public/tool:1"
}

# raw BYTES AT SENTENCE: the server replies with BYTES, whose last byte it sends AT times more;
# checks that the pull fails with SENTENCE.
raw() {
	faults "[{\"on\":\"manifests\",\"do\":\"raw\",\"bytes\":\"$1\",\"at\":$2}]"
	refuses_to_pull ".*$3" "127.0.0.1:$open/public/tool:1"
}

@test "a server that does not speak HTTP is said to, in hutch's own words" {
	raw 'words\r\n' 0 'the server sent a reply that is not valid HTTP'
	raw 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n' 0 'the server sent a reply that is not valid HTTP'
	raw 'HTTP/1.1 200 OK\r\nX: x' 400000 'the server sent a header that is too long, or memory is out'
}

@test "a certificate is checked, unless that host is to be trusted without" {
	refuses_to_pull '.*its certificate is not trusted' "127.0.0.1:$tls/public/tool:1"
	[ "$(heard .)" = 0 ]
	pulls --insecure "127.0.0.1:$tls" "127.0.0.1:$tls/public/tool:1"
	rm -rf "$store"
	SSL_CERT_FILE=$R/cert.pem pulls "127.0.0.1:$tls/public/tool:1"
	faults "[{\"on\":\"manifests\",\"do\":\"redirect\",\"to\":\"http://127.0.0.1:$open\"}]"
	rm -rf "$store"
	SSL_CERT_FILE=$R/cert.pem refuses_to_pull '.*leads on to .*, without TLS' \
		"127.0.0.1:$tls/public/tool:1"
}

@test "the proxy of the environment is asked, but for those that need none" {
	http_proxy=http://127.0.0.1:$cdn pulls "127.0.0.1:$open/public/tool:1"
	[ "$(heard "^cdn GET http://127.0.0.1:$open/v2/")" -ge 5 ]
	[ "$(heard '^open')" = 0 ]
	http_proxy=http://127.0.0.1:$cdn no_proxy=127.0.0.1 pulls "127.0.0.1:$open/private/tool:1"
	[ "$(heard '^open')" = 1 ]
}

# --- what is said ----------------------------------------------------------------

@test "without a terminal there is a line for each layer, with -q none" {
	hutch image pull "127.0.0.1:$open/public/tool:1"
	[[ $status == 0 && ${#lines[@]} == 1 ]]
	[ "$(grep -c ': got, ' <<<"$stderr")" = 3 ]
	[ "$(grep -c ': unpacked' <<<"$stderr")" = 3 ]
}

@test "on a terminal there is one line, drawn anew and taken away at the end" {
	TERM=xterm catch script -qec "$HUTCH image pull 127.0.0.1:$open/public/tool:1 >$T/result" /dev/null
	[[ $status == 0 && $output == *"3 of 3 layers"* && $output == *$'\r\e[K' ]]
	[[ $(wc -l <<<"$output") == 1 ]]
	[[ $(cat result) == *"@sha256:$digest" ]]
	rm -rf "$store"
	catch script -qec "$HUTCH image pull --no-progress 127.0.0.1:$open/public/tool:1" /dev/null
	[[ $output != *$'\e'* && $output == *"unpacked"* ]]
}

# --- killed ----------------------------------------------------------------------

# Kills hutch image pull ROUNDS times, each time at a random step: when it begins, when it goes on
# with an earlier pull, or when it unpacks.  Afterwards the store must work like a new one.
@test "a store in which pulls were killed at any step works" {
	for ((i = 0; i < ${ROUNDS:-4}; i++)); do
		"$here/killed_amid.py" "$T/home" $((RANDOM % 150 + 1)) \
			"$HUTCH" image pull -q "127.0.0.1:$open/public/tool:1" >/dev/null 2>&1 3>&- || true
		# Now and then the image is removed, so that the next pull
		# begins from nothing.
		((RANDOM % 4)) || "$HUTCH" image rm "127.0.0.1:$open/public/tool:1" >/dev/null 2>&1 || true
		((RANDOM % 8)) || "$HUTCH" image gc >/dev/null
	done
	hutch image verify
	[ "$status" = 0 ]
	pulls "127.0.0.1:$open/public/tool:1"
	hutch image verify
	[ "$status" = 0 ]
	[ -z "$(ls "$store/tmp")" ]
}

@test "hutch run --image fetches what is not there, and runs it; --pull never does not" {
	needs_static
	fails 125 '--image 127.0.0.1:.*: there is no such image in the store, and --pull never' \
		--pull never --image "127.0.0.1:$direct/public/tool:1" /bin/busybox id -u
	inside --image "127.0.0.1:$direct/public/tool:1" -- /bin/busybox id -u
	[ "$output" = 0 ]
	inside --pull never --image "127.0.0.1:$direct/public/tool:1" -- /bin/busybox stat -c %s /data/large
	[[ $output == 1500000 && -z $stderr ]]
	inside --pull never --image "127.0.0.1:$direct/public/tool@sha256:$digest" -- /bin/busybox id -u
	[ "$output" = 0 ]
	inside --pull always --image "127.0.0.1:$direct/public/tool:1" -- /bin/busybox id -u
	[ "$output" = 0 ]
	fails 125 "pull 127.0.0.1:$direct/public/none:1: .*does not have" \
		--image "127.0.0.1:$direct/public/none:1" -- /bin/busybox id -u
	fails 125 "pull 127.0.0.1:$direct/public/tol:1: .*does not have .*; is it 127.0.0.1:$direct/public/tool:1\?" \
		--image "127.0.0.1:$direct/public/tol:1" -- /bin/busybox id -u
}
