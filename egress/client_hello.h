/* client_hello -- the host name and the protocols in the first flight of TLS (RFC 8446,
 * section 4.1.2; RFC 6066, section 3; RFC 7301).
 *
 * The caller passes all bytes that have come so far, each time from the first one
 * (MSG_PEEK leaves them in the socket, so that splice(2) can send them on untouched; a
 * socket with peeked bytes stays readable, so epoll(7) has to be asked for edges).
 * The ClientHello may be split over TCP segments and over TLS records.  Nothing is kept
 * between calls, and nothing is allocated.
 *
 * A name is taken only where every server takes the same one: two extensions of one
 * type, two names, a name of another kind, a byte that is missing or left over, and
 * bytes behind the hello in its last record are malformed.
 *
 * Two things are not seen here.  An encrypted ClientHello (ECH) hides the true name;
 * browsers send a false one each time, so has_ech alone is no reason to refuse: the
 * stub resolver withholds the keys that a true one needs.  After a HelloRetryRequest
 * the client sends a second ClientHello, whose name a server may take: the caller gives
 * the server's first flight to client_hello_is_retry(), and reads the guest's next
 * flight like the first if that is true. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_HELLO_MAX  16384 /* bytes, with the headers of records */
#define CLIENT_HELLO_NAME 256	/* the size of a name, with its NUL */
#define CLIENT_HELLO_ALPN 128

enum hello_verdict {
	HELLO_NEED_MORE,
	HELLO_DONE,
	HELLO_NOT_TLS,	 /* no server would read these bytes as TLS */
	HELLO_MALFORMED, /* TLS, or bytes that some server may read as TLS, in which no
			  * name can be relied on; also SSLv2's hello, and other records
			  * than a handshake's.  To be refused. */
	HELLO_TOO_LARGE	 /* over CLIENT_HELLO_MAX */
};

struct client_hello {
	/* The one host_name of the server_name extension, as it came: printable ASCII,
	 * not normalised; "": there is none, in which case has_name is false. */
	char name[CLIENT_HELLO_NAME];
	bool has_name;
	bool has_ech;	/* an encrypted ClientHello, or a false one */
	bool has_alpn;
	/* The protocols that the client offers, joined by commas, for the audit: "h2,
	 * http/1.1" without the blank.  GREASE (RFC 8701) is left out, odd bytes are
	 * '?', and a list that is too long is cut. */
	char alpn[CLIENT_HELLO_ALPN];
};

/* Reads a ClientHello.  *ret is filled in with HELLO_DONE, and else is untouched. */
enum hello_verdict client_hello_parse(const uint8_t *bytes, size_t len,
				      struct client_hello *ret);

/* Reads the server's first flight.  HELLO_DONE: *ret says whether it is a
 * HelloRetryRequest.  HELLO_MALFORMED: no ServerHello, such as an alert; no second
 * ClientHello will be taken. */
enum hello_verdict client_hello_is_retry(const uint8_t *bytes, size_t len, bool *ret);
