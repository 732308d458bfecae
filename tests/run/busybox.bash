# busybox.bash -- makes an image store for the test, with a small image bb:1 in it.

# When root runs hutch, it uses the image store of the user that the sandbox stands for.
own_store() {
	export XDG_DATA_HOME=$T/home/data
	room home/data
}

# Makes the image bb:1: busybox, two users, and a /lib that is a symbolic link.
busybox_image() {
	local tool
	command -v busybox >/dev/null || skip "this host has no busybox"
	mkdir -p bb/bin bb/etc bb/usr/lib
	cp "$(command -v busybox)" bb/bin/busybox
	for tool in sh ls cat echo mkdir touch id env cp mv rm ln stat find grep sed chmod wc pwd true false; do
		ln -s busybox "bb/bin/$tool"
	done
	ln -s usr/lib bb/lib
	printf 'root:x:0:0::/:/bin/sh\nada:x:7:8::/:/bin/sh\n' >bb/etc/passwd
	printf 'root:x:0:\nbabbage:x:9:\n' >bb/etc/group
	give bb
	"$HUTCH" image import bb --name bb:1
}

# needs_data_attributes: skips the test where a kept sandbox cannot have its files in data.
needs_data_attributes() {
	as_who python3 -c 'import os; os.setxattr("data", "user.probe", b"1")' 2>/dev/null ||
		skip "$T has no user.* attributes"
}
