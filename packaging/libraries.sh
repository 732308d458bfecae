#!/bin/bash
# Compiles the libraries of static programs, hutch-image and hutch-serve, for musl, from Debian's
# source packages.
#
#	packaging/libraries.sh DIR [ARCH [SYSROOT]]
#
# DIR/include and DIR/lib have the result, DIR/doc the copyright of each library, and
# DIR/versions the versions of the source packages.  apt checks each source package
# against Debian's key.  ARCH is x86_64 or aarch64; without it, this machine's.  SYSROOT has
# musl and the kernel's headers for another processor (sysroot.sh).
#
# libcurl speaks http and https alone, and OpenSSL does nothing that libcurl and
# hutch-image do not ask of it.
#
# The same sources give the same bytes in any folder.  OpenSSL keeps the compiler's name and its
# flags as a string, so that no path may be in these: the script hutch-cc adds the paths.
set -eu
# The variables of hutch's own make, such as CC, are not those of the libraries.
unset MAKEFLAGS MAKEOVERRIDES MFLAGS
dir=$(realpath -m "$1") arch=${2:-$(uname -m)} sysroot=${3:-}
musl=$sysroot/usr/lib/$arch-linux-musl
cross=$arch-linux-gnu-
command -v "${cross}gcc" >/dev/null || { echo "${cross}gcc is not installed" >&2; exit 1; }
sources=$dir/sources
mkdir -p "$dir/include" "$dir/lib" "$dir/doc"
. "$(dirname "$0")/apt.sh"

# --- the sources ----------------------------------------------------------------

apt_in "$sources" deb-src

# unpack PACKAGE: unpacks the newest source package with Debian's changes, and enters its folder.
# With OLDER=1, a version that cannot be had is replaced by the one before it.
unpack() {
	local version
	cd "$sources"
	rm -rf "$1"-[0-9]*/
	for version in $(apt-cache "${apt[@]}" showsrc "$1" | sed -n 's/^Version: //p' | sort -ruV); do
		apt-get "${apt[@]}" source "$1=$version" >apt.out 2>&1 && break
		cat apt.out >&2
		[ -n "${OLDER:-}" ] || {
			echo "the source package $1 $version cannot be had from this mirror" >&2
			echo "make dist OLDER=1 takes the version before it, which lacks the fixes of this one" >&2
			return 1
		}
	done
	cd "$1"-[0-9]*/ || { cat apt.out >&2; return 1; }
	cp debian/copyright "$dir/doc/$1.copyright"
	dpkg-parsechangelog -S Version | sed "s/^/$1 /" >>"$dir/versions.new"
	# A file that a change of Debian's touches is newer than what was made from it;
	# equal times keep automake and autoconf from being run.
	find . -exec touch -h -d @1 {} +
}

# --- the compiler ----------------------------------------------------------------

# gcc with specs like those of Debian's musl-gcc, and with the kernel's headers.
mkdir -p "$sources/kernel"
ln -sfn "$sysroot/usr/include/linux" "$sysroot/usr/include/asm-generic" \
	"$sysroot/usr/include/$arch-linux-gnu/asm" "$sources/kernel/"
specs=$sources/musl.specs
headers="-nostdinc -isystem $sysroot/usr/include/$arch-linux-musl -isystem include%s -idirafter $sources/kernel"
cat >"$specs" <<-END
	%rename cpp_options old_cpp_options
	*cpp_options:
	$headers %(old_cpp_options)

	*cc1:
	%(cc1_cpu) $headers

	*link_libgcc:
	-L$musl -L .%s

	*libgcc:
	libgcc.a%s

	*startfile:
	$musl/crt1.o $musl/crti.o crtbegin.o%s

	*endfile:
	crtend.o%s $musl/crtn.o

	*link:
	-nostdlib -static

END
mkdir -p "$sources/bin"
cat >"$sources/bin/hutch-cc" <<-END
	#!/bin/sh
	exec ${cross}gcc -no-pie "-ffile-prefix-map=$sources=." "-I$dir/include" "-L$dir/lib" "\$@" -specs "$specs"
END
chmod +x "$sources/bin/hutch-cc"
export PATH=$sources/bin:$PATH
export CC=hutch-cc AR=${cross}ar RANLIB=${cross}ranlib NM=${cross}nm PKG_CONFIG=false
export CFLAGS="-O2 -fPIE -fstack-protector-strong -ffunction-sections -fdata-sections" SOURCE_DATE_EPOCH=1
jobs=-j$(nproc)
configure() {
	./configure --host="$arch-linux-musl" --prefix="$dir" --libdir="$dir/lib" --disable-shared \
		--enable-static --disable-dependency-tracking "$@" >configure.out 2>&1 ||
		{ tail -n 20 configure.out >&2; return 1; }
}
quiet() {
	"$@" >make.out 2>&1 || { tail -n 40 make.out >&2; return 1; }
}

# --- the libraries ----------------------------------------------------------------

: >"$dir/versions.new"

unpack zlib
CHOST=$arch-linux-musl quiet ./configure --static --prefix="$dir"
quiet make $jobs install

unpack xz-utils
configure --disable-{xz,xzdec,lzmadec,lzmainfo,lzma-links,scripts,doc,nls,threads,encoders}
quiet make $jobs -C src/liblzma install

unpack libzstd
quiet make $jobs -C lib libzstd.a ZSTD_LIB_COMPRESSION=0 ZSTD_LIB_DICTBUILDER=0 ZSTD_LIB_DEPRECATED=0 ZSTD_LEGACY_SUPPORT=0
cp lib/libzstd.a "$dir/lib/"
cp lib/*.h "$dir/include/"

unpack libarchive
configure --without-{bz2lib,libb2,iconv,lz4,lzo2,cng,mbedtls,nettle,openssl,xml2,expat} --with-{zlib,lzma,zstd} \
	--disable-{bsdtar,bsdcat,bsdcpio,acl,xattr} ac_cv_lib_zstd_ZSTD_compressStream=no
quiet make $jobs install-libLTLIBRARIES install-includeHEADERS

unpack libisal
quiet make $jobs -f Makefile.unx lib host_cpu="$arch" arch="$([ "$arch" = x86_64 ] || echo "$arch")" CC="$CC" \
	DEBUG= DEBUG_nasm= units=igzip
cp bin/isa-l.a "$dir/lib/libisal.a"
install -D -m 644 -t "$dir/include/isa-l" include/igzip_lib.h

unpack openssl
quiet ./Configure "linux-$arch" --prefix=/usr --libdir=lib --openssldir=/etc/ssl no-shared no-tests no-dso no-module no-legacy \
	no-engine no-async no-deprecated no-comp no-ssl3 no-dtls no-srp no-psk no-ct no-cms no-ts no-ocsp no-idea no-seed no-camellia \
	no-aria no-sm2 no-sm3 no-sm4 no-rc2 no-rc4 no-rc5 no-bf no-cast no-des no-mdc2 no-whirlpool no-gost no-ui-console no-afalgeng
quiet make $jobs build_generated
quiet make $jobs libcrypto.a libssl.a
cp libcrypto.a libssl.a "$dir/lib/"
cp -r include/openssl "$dir/include/"

unpack curl
configure --with-openssl="$dir" --without-{zlib,brotli,zstd,libpsl,libidn2,nghttp2,librtmp,libgsasl,ca-bundle,ca-path} \
	--disable-{ftp,file,ldap,ldaps,rtsp,dict,telnet,tftp,pop3,imap,smb,smtp,gopher,mqtt,manual,ntlm,ntlm-wb,tls-srp,unix-sockets,alt-svc,hsts,cookies,netrc,libcurl-option,dnsshuffle,doh,mime,ares,websockets}
quiet make $jobs -C lib install
quiet make $jobs -C include install

# TLS would need GnuTLS and its libraries; http.c says where it is missing.
unpack libmicrohttpd
configure --disable-{https,doc,examples,curl,dauth,bauth,poll,tools}
quiet make $jobs -C src/microhttpd install-libLTLIBRARIES
quiet make $jobs -C src/include install

rm -rf "$sources"
mv "$dir/versions.new" "$dir/versions"
