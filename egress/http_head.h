/* http_head -- the heads of HTTP/1 requests (RFC 9112), and where their bodies end, so
 * that each head on a kept-alive connection is found, and none is hidden from the gate
 * that the server would see.
 *
 *	struct http_head head = { 0 };
 *	struct http_body body;
 *
 *	while http_head_parse(&head, bytes, len, &expect) says HTTP_NEED_MORE: read more
 *	...send head.len bytes on, then
 *	http_body_init(&body, &head);
 *	until http_body_take() says HTTP_DONE: send on the bytes that it took
 *	...the next byte begins the next head
 *
 * A request is refused where two readers could read it differently: see enum http_why.
 * Header fields are not changed, but for http_head_hide_upgrade().
 *
 * Websockets.  An upgrade is accepted only as the first request of a connection, so the
 * first final answer is the answer to it.  The caller sends the head on, and then sends
 * *no byte more* of the guest's, also none that it has read already, until
 * http_answer_parse() has read the server's answers: 101 makes the connection opaque in
 * both directions; another 1xx is passed on, and the next answer is read; any other
 * status leaves the connection HTTP, and the guest's next bytes are read as a head.  A
 * caller that became opaque at the request would let a guest send a second request, for
 * any host, to a server that has said 400. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX	 16384 /* bytes of a head, and of a body's trailers */
#define HTTP_FIELDS_MAX	 100   /* fields in a head, and in trailers */
#define HTTP_METHOD_SIZE 32

enum http_verdict { HTTP_NEED_MORE, HTTP_DONE, HTTP_REFUSED };

enum http_why {
	HTTP_FINE,
	HTTP_BAD_REQUEST_LINE, /* not METHOD SP TARGET SP HTTP/1.x */
	HTTP_BAD_VERSION,      /* not HTTP/1.0 or HTTP/1.1 */
	HTTP_BAD_LINE_END,     /* CR without LF, or LF without CR */
	HTTP_BAD_BYTE,	       /* NUL or another control character */
	HTTP_BAD_FIELD,	       /* no token before the colon, a blank there, no colon */
	HTTP_FOLDED,	       /* a field that goes on in the next line (obs-fold) */
	HTTP_TOO_LARGE,	       /* over HTTP_HEAD_MAX or HTTP_FIELDS_MAX */
	HTTP_NO_HOST,
	HTTP_TWO_HOSTS,
	HTTP_OTHER_HOST,       /* Host, or the target's host, is not the connection's */
	HTTP_CONNECT,
	HTTP_BAD_TARGET,       /* neither a path nor http://HOST..., nor * of OPTIONS */
	HTTP_BAD_LENGTH,       /* Content-Length: no number, or twice */
	HTTP_BAD_CODING,       /* Transfer-Encoding: other than `chunked`, twice, or with
				* HTTP/1.0 */
	HTTP_LENGTH_AND_CODING, /* both of these */
	HTTP_UPGRADE,	       /* an upgrade to other than websocket, or a malformed one */
	HTTP_UPGRADE_H2C,      /* to HTTP/2; see http_head_hide_upgrade() */
	HTTP_LATE_UPGRADE,     /* to websocket, but not as the first request */
	HTTP_BAD_CHUNK,	       /* a chunk's size or end; a chunk extension */
	HTTP_BAD_TRAILER,      /* a field that frames or routes, in trailers */
	HTTP_WHY_COUNT
};

struct http_expect {
	const char *name; /* the connection's name, normalised; NULL: Host may be any, and
			   * a target must be a path */
	uint16_t port;	  /* the connection's port */
	bool is_first;	  /* no request came before on this connection */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_head {
	/* Results, with HTTP_DONE. */
	size_t len;			/* the head's bytes, with the empty line */
	char method[HTTP_METHOD_SIZE];
	size_t target_at, target_len;	/* the target's place in the head */
	enum http_framing framing;
	uint64_t length;		/* of the body, with HTTP_LENGTH */
	bool is_websocket;		/* see above */
	enum http_why why;		/* with HTTP_REFUSED */

	/* The parser's own: how far it has come. */
	size_t at;
	unsigned fields;
	bool has_host, has_length, has_coding, is_1_0, has_upgrade, is_h2c;
	bool is_upgrading; /* Connection has the word upgrade */
};

/* Reads on in a head.  `bytes` begins with the head's first byte at each call, and `len`
 * grows; each line is read once.  *h is zero at the first call.  Bytes behind the head
 * are not looked at. */
enum http_verdict http_head_parse(struct http_head *h, const uint8_t *bytes, size_t len,
				  const struct http_expect *expect);

/* Makes a server overlook the field `Upgrade` of a whole head, by a change to its first
 * letter: for HTTP_UPGRADE_H2C, which Java's HttpClient asks for in each first request,
 * and which a server may always overlook (RFC 9110, section 7.8).  The caller then
 * parses the head anew, from a zeroed struct. */
void http_head_hide_upgrade(uint8_t *bytes, size_t len);

struct http_body {
	uint64_t left;	 /* of the body, or of the chunk */
	unsigned state;	 /* enum in http_body.c */
	unsigned digits; /* of the chunk's size */
	unsigned fields; /* in the trailers */
	size_t bytes;	 /* of the trailers */
	char word[20];	 /* the beginning of a trailer's name */
	unsigned word_len;
	enum http_why why; /* with HTTP_REFUSED */
};

void http_body_init(struct http_body *b, const struct http_head *head);

/* Takes the body's next bytes, in pieces of any size.  *ret_taken of them belong to the
 * body; with HTTP_DONE the next head begins behind these.  A body of no bytes is done at
 * the first call, also with `len` 0. */
enum http_verdict http_body_take(struct http_body *b, const uint8_t *bytes, size_t len,
				 size_t *ret_taken);

/* Reads the head of a server's answer as far as the gate must: its status, 100 to 999,
 * and its length with the empty line.  HTTP_REFUSED: no answer of HTTP/1. */
enum http_verdict http_answer_parse(const uint8_t *bytes, size_t len,
				    unsigned *ret_status, size_t *ret_len);

/* Returns words for people, such as "Host is not the connection's name". */
const char *http_why_text(enum http_why why);
