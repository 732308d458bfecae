/* order -- the requests of the front of hutch-serve to its spawner, and the answers.
 *
 * A request is one packet of a unix socket, a JSON object; an answer has the same `id` and,
 * where the request made one, a descriptor beside it:
 *
 *	{"id":1,"do":"create","name":"r0…","image":"debian:12","workdir":"/workspace",
 *	 "user":"openhands=1000","main":false,"whole":false,"factor":1,"argv":[],
 *	 "env":["K=V"],"labels":["session=x"],"plugins":["jupyter"],"ports":[60000]}
 *						{"id":1} and a control connection
 *	{"id":2,"do":"attach","name":"r0…"}	{"id":2} and a control connection
 *	{"id":2,"do":"start","name":"r0…"}	the same, of one that was stopped and is kept
 *	{"id":3,"do":"list"}			{"id":3} and a file: NAME\tSTATE\tKIND\tSESSION\tEPOCH\n...
 *	{"id":3,"do":"resumed","name":"r0…"}	{"id":3,"said":N}, how often it was resumed by now
 *	{"id":4,"do":"remove","name":"r0…"}	{"id":4}
 *	{"id":5,"do":"image","name":"REF"}	{"id":5} and a file: [{...}], of hutch image inspect
 *	{"id":6,"do":"spool"}			{"id":6} and an empty file without a name
 *	{"id":7,"do":"build","tags":["REF"]} and a file: the context of an image, which a spool was
 *						{"id":7}, when the image is in the store
 *
 * or {"id":N,"error":{"kind","message"}}.  The front reads hostile HTTP, so its requests are
 * hostile, too: each member is bounded and checked (order_read), and the spawner adds the
 * operator's own options behind those of a request. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "sandbox/state/registry.h"

struct buffer;
struct err;

#define ORDER_MAX   (128u << 10) /* bytes of a packet */
#define ORDER_WORDS 1024	 /* items of each list */
#define ORDER_IMAGE 512		 /* bytes of a reference */
#define ORDER_USER   64		  /* bytes of a user */
#define ORDER_PORTS 8
#define ORDER_FACTOR 16 /* the most */
#define ORDER_TAGS   16 /* names of an image that is built */
#define ORDER_BUILT  "localhost/hutch/" /* the names that built images may have begin so */

enum order_kind {
	ORDER_CREATE,
	ORDER_ATTACH,
	ORDER_START,
	ORDER_LIST,
	ORDER_RESUMED,
	ORDER_REMOVE,
	ORDER_IMAGE_LOOK,
	ORDER_SPOOL,
	ORDER_BUILD,
	ORDER_KINDS
};

struct order {
	uint64_t id;
	enum order_kind kind;
	char *name;    /* owned: a sandbox, or the reference of an image */
	char *image;   /* owned; "": the operator's */
	char *workdir; /* owned; "": the image's */
	char *user;    /* owned; "root", NAME=UID[:GID]; "": the image's */
	bool is_main;
	bool is_whole; /* argv is the whole command; else it comes behind the image's Entrypoint */
	double factor; /* by which the operator's limits of memory and CPUs are multiplied */
	struct list argv, env, labels, plugins;
	struct list tags;	     /* of ORDER_BUILD */
	uint16_t ports[ORDER_PORTS]; /* those inside that are to be published */
	size_t port_count;
};

void order_done(struct order *o);

/* Writes a request as JSON. */
void order_write(const struct order *o, struct buffer *to);

/* Reads a request.  0, or -1 for one that the spawner must refuse; o->id is set where it could
 * be read. */
int order_read(const char *text, size_t len, struct order *ret, struct err *e);
