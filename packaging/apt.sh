# apt.sh -- lets apt fetch packages into a folder, and changes nothing of this machine's.
#
# shellcheck shell=bash

# apt_in FOLDER TYPE [OPTION...]: sets $apt to the options with which apt keeps its lists and
# downloads in FOLDER.  TYPE is deb or deb-src.  apt checks each package against Debian's key.
apt_in() {
	local folder=$1 type=$2 release
	local keys="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
	shift 2
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	cat >"$folder/sources.list" <<-END
		$type $keys http://deb.debian.org/debian $release main
		$type $keys http://deb.debian.org/debian $release-updates main
		$type $keys http://deb.debian.org/debian-security $release-security main
	END
	apt=(-qq -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=-
		-o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache"
		-o "APT::Sandbox::User=$(id -un)" -o Acquire::Retries=3 "$@")
	apt-get "${apt[@]}" update
}
