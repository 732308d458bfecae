# image.sh: podman with a storage of its own, and an image of busybox; it is sourced.
#
# FOLDER has a static busybox; RUNTIME is the runtime to test.
#
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that source it
storage=$XDG_RUNTIME_DIR/podman
image=localhost/small

podman() {
	timeout "$PATIENCE" podman --root "$storage/root" --runroot "$storage/run" --cgroup-manager cgroupfs \
		--events-backend file --runtime "$RUNTIME" "$@"
}

build() {
	mkdir -p "$storage/context" && cp "$FOLDER/busybox" "$storage/context" || return
	cat >"$storage/context/Containerfile" <<'X'
FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN mkdir -p /etc /tmp /work && echo root:x:0:0::/:/bin/sh >/etc/passwd && echo built >/built
CMD ["/bin/sh"]
X
	podman build --network none --isolation oci -t localhost/small "$storage/context"
}
