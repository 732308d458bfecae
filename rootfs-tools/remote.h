/* remote -- a repository at a registry (OCI distribution specification 1.1, "pulling").
 *
 *	remote_new		whom a reference means: its mirrors, then its registry
 *	remote_manifest		a document by tag or digest
 *	remote_blob		bytes that are added to a blob, from where it is on
 *	remote_next		what came is of no use: the next one's turn, if there is
 *
 * Each place is asked without TLS only where http.h lets it, and gets its own
 * credentials, never another's.  An expired token is fetched anew.  What broke off,
 * stalled, or was answered with 429 or 5xx is tried again, 5 times without a byte in
 * between, with growing pauses or those of Retry-After, up to 60 s; then, and with
 * anything else, the next mirror is asked, and the registry itself at last, whose error
 * is the one that is returned. */
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
struct remote; /* opaque */

struct remote_text {
	char *text; /* owned; with a 0 behind it */
	size_t len;
	char media_type[128];	/* "" where it is not said */
	char digest[128];	/* what the registry says it is; "" where it does not */
};

/* `m` and `ref` are borrowed until remote_free(). */
struct remote *remote_new(const struct mirrors *m, const struct reference *ref);
void remote_free(struct remote *r); /* NULL is allowed */

/* In a process that was forked: connections are made anew, what was learnt stays. */
void remote_reconnect(struct remote *r);

/* `d` NULL: by the reference's tag.  Its digest is for the caller to check. */
int remote_manifest(struct remote *r, const struct digest *d, struct remote_text *ret,
		    struct err *e);
void remote_text_done(struct remote_text *t);

/* Adds what is missing up to the descriptor's size.  `news`, if set, is told after each
 * piece. */
int remote_blob(struct remote *r, const struct descriptor *d, struct blob *to,
		void (*news)(void *who, uint64_t at), void *who, struct err *e);

bool remote_next(struct remote *r);

/* Who is asked now: "registry-1.docker.io". */
const char *remote_host(const struct remote *r);
