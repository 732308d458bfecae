/* server -- a server of the Model Context Protocol on two descriptors, in one thread.
 *
 *	server_init, server_run, server_done
 *
 * The server reads lines and answers each request with exactly one message, in the order
 * in which the answers are ready, unless the client has cancelled the request.  Tools
 * work at the same time; each has a connection to its sandbox of its own (job.h).
 *
 * After the end of its input the server finishes the calls under way.  It ends at once
 * when its output has no reader. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/fd_writer.h"
#include "actions/lines.h"
#include "gateway/loop.h"
#include "mcp/consent.h"

struct batch;
struct job;
struct err;
struct setup;

#define SERVER_JOBS_MAX 64 /* tools and subscriptions at work */
/* The bytes that wait for a client are at most the answers of all jobs, each with a file,
 * and SERVER_BEHIND, beyond which no further message is read. */
#define SERVER_OUT_MAX ((size_t)SERVER_JOBS_MAX * (9u << 20) + SERVER_BEHIND)
#define SERVER_BEHIND  (8u << 20)

struct server {
	const struct setup *setup; /* borrowed */
	char *name;		   /* owned: that of the default sandbox */
	unsigned names;		   /* how many names the default sandbox has had */
	struct loop loop;
	struct lines in;
	struct fd_writer out;
	struct watch in_watch, out_watch;
	bool is_file;	/* the input is a regular file, which epoll(7) does not take */
	bool is_broken; /* the output has no reader */
	int64_t now_ms;
	const char *version; /* the legacy revision that was agreed on; NULL: none yet */
	bool can_ask;	     /* the legacy client can ask its user */
	struct job *jobs;    /* owned: those under way */
	unsigned job_count;
	struct maker *maker; /* owned: makes the default sandbox; NULL: it is not being
			      * made */
	struct consent consent;
};

int server_init(struct server *s, const struct setup *setup, struct err *e);
int server_run(struct server *s, struct err *e);
void server_done(struct server *s);

/* Gives the default sandbox another name, since changes of one that had this name wait to
 * be applied.  The names are the same for all servers of a command line.  Returns false
 * if there is no further one. */
bool server_rename(struct server *s);

/* Handles one message, of a line or of a batch. */
void server_take(struct server *s, const char *text, size_t len, struct batch *batch);

/* Sends a message, which server_send() frees; into a batch, whose answers go out as one
 * array when all of them are there.  `text` NULL: this one stays without an answer. */
void server_send(struct server *s, struct batch *batch, char *text);
