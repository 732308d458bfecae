/* registry -- a repository at a registry (OCI distribution specification 1.1, "pulling").
 *
 *	registry_new		finds a reference's servers: mirrors, then the registry
 *	registry_manifest		fetches a document by tag or digest
 *	registry_blob		adds bytes to a blob, from its present size on
 *	registry_next		goes on to the next server after useless bytes
 *
 * Each server is asked without TLS only where http.h permits it, and gets its own
 * credentials, never another's.  An expired token is fetched anew.  A request that broke
 * off, stalled, or was answered with 429 or 5xx is tried again, 5 times without a new
 * byte in between, with growing pauses or those of Retry-After, up to 60 s.  After that,
 * and after any other failure, the next mirror is asked, and the registry itself at last,
 * whose error is the one that is returned. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"

struct blob;
struct descriptor;
struct err;
struct mirrors;
struct reference;
struct registry; /* opaque */

struct registry_text {
	char *text; /* owned; the document, with a 0 byte after it */
	size_t len;
	char media_type[128];	/* "" if the header is missing */
	char digest[128];	/* the digest that the registry claims; "" if the
				 * header is missing */
};

/* Makes a handle for a reference's repository.  `m` and `ref` are borrowed until
 * registry_free(). */
struct registry *registry_new(const struct mirrors *m, const struct reference *ref);
void registry_free(struct registry *r); /* `r` may be NULL */

/* Makes new connections in a forked process; tokens stay. */
void registry_reconnect(struct registry *r);

/* Fetches the document of digest `d` or, with NULL, of the reference's tag.  The
 * caller checks the text's digest. */
int registry_manifest(struct registry *r, const struct digest *d,
		      struct registry_text *ret, struct err *e);
void registry_text_done(struct registry_text *t);

/* Adds the blob's missing bytes, up to the descriptor's size.  `news`, if not NULL, is
 * called after each piece. */
int registry_blob(struct registry *r, const struct descriptor *d, struct blob *to,
		  void (*news)(void *context, uint64_t at), void *context, struct err *e);

bool registry_next(struct registry *r);

/* Returns the host that is asked now, such as "registry-1.docker.io". */
const char *registry_host(const struct registry *r);
