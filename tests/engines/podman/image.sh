# image.sh: podman with a storage of its own, and an image of busybox; it is sourced.
#
# FOLDER has a static busybox; RUNTIME is the runtime to test, and MANAGER what makes cgroups.
#
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that source it
storage=$XDG_RUNTIME_DIR/podman
image=localhost/small

podman() {
	timeout "$PATIENCE" podman --root "$storage/root" --runroot "$storage/run" --cgroup-manager "${MANAGER:-cgroupfs}" \
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

# import: makes the image from a tar: `podman build`, which commands.sh has, takes minutes where a
# processor is emulated.  Two lists of root's have one storage.
import() {
	local root=$storage/made name
	mkdir -p "$root/bin" "$root/etc" && cp "$FOLDER/busybox" "$root/bin" && echo root:x:0:0::/:/bin/sh >"$root/etc/passwd" || return
	for name in sh cat sleep tail echo; do
		ln -sf busybox "$root/bin/$name" || return
	done
	tar -c -C "$root" . | podman import - $image
}
