/* image_build -- POST /build and GET /build_status of OpenHands' runtime API: an image is
 * built from a context that the client sends.
 *
 *	begin	the spawner makes a spool, a file without a name
 *	part	the part `context`, a tar.gz as base64, is decoded into the spool
 *	handle	the spool goes to the spawner, which builds; the answer is an id
 *	status	the state of the build with this id, when it has ended, or after 20 s
 *
 * A build goes on when its client is gone, and ends with the server. */
#pragma once
#include <stdint.h>

struct build_record;
struct http_part;
struct visit;

#define IMAGE_BUILD_MAX (1ull << 30) /* bytes of the form */

struct image_builds {
	struct build_record *first; /* owned: the newest one first */
	unsigned under_way;	    /* uploads and builds */
};

void image_build_begin(struct visit *v);
void image_build_part(struct visit *v, const struct http_part *p);
void image_build(struct visit *v);
void image_build_closed(struct visit *v);
void image_build_status(struct visit *v);
void image_build_status_closed(struct visit *v);
