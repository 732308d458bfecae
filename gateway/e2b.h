/* e2b -- sandboxes as E2B's SDKs know them: the control API, and envd in each sandbox.
 *
 * The SDKs are told by environment variables alone where the server is:
 *
 *	E2B_API_URL=http://127.0.0.1:8000 E2B_SANDBOX_URL=http://127.0.0.1:8000 E2B_API_KEY=KEY
 *
 * They send calls of envd and of the code interpreter with the field E2b-Sandbox-Id; without
 * it, the Host can be PORT-ID.DOMAIN, and a signed URL of a file is recognized by its signature.
 *
 *	e2b_api.c	   the control API
 *	e2b_sandbox.c	   what the server keeps about a sandbox of E2B
 *	e2b_connect.c	   the Connect protocol, with JSON
 *	e2b_envd.c	   which sandbox a request is about, and whether it may pass; the routes
 *	e2b_process.c	   process.Process
 *	e2b_input.c	   its calls that write to a command
 *	e2b_filesystem.c   filesystem.Filesystem
 *	e2b_watch.c	   its calls that watch folders
 *	e2b_files.c	   /files
 *	e2b_code.c	   the code interpreter
 *
 * Sources: the SDKs of E2B 2.63 (Python) and 2.51 (JavaScript), which say what they send;
 * connectrpc.com/docs/protocol. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "gateway/box.h"
#include "gateway/gateway.h"
#include "gateway/loop.h"
#include "policy/json/json.h"

/* The version of envd by which the SDKs know what they may ask for: 0.6.2 would be metadata of
 * files, 0.6.3 more about events of files. */
#define E2B_ENVD_VERSION "0.6.1"

/* --- a sandbox (e2b_sandbox.c) -------------------------------------------------- */

struct e2b_process;
struct e2b_watcher;

struct e2b {
	struct box *box;
	char *template;	 /* owned: as the client named it */
	char *metadata;	 /* owned: a JSON object */
	int64_t started; /* seconds since 1970, as `end` */
	int64_t end;	 /* when it is ended, or paused; 0: never */
	uint64_t timeout_s;
	bool pauses;	/* it is paused at its end, not removed */
	bool resumes;	/* a request to a paused one makes it go on */
	bool is_paused; /* by its client, or at its end */
	bool is_ending; /* it is being removed, and is gone for its clients */
	struct timer timer;
	struct e2b_process *processes;
	struct e2b_watcher *watchers;
	int64_t cells, executions; /* counters: of actions, and of what clients ran */
};

/* The session of actions.  No command is ever given to it, so that a relative path begins at
 * the sandbox's working directory, as it does for commands. */
#define E2B_SESSION "e2b"

#define E2B_METADATA_MAX 8192

/* Adds to the order of a sandbox the label by which a later server finds these settings. */
void e2b_label(const struct e2b *x, struct order *o);
/* Gives the sandbox a copy of these settings; its time begins with e2b_extend(). */
struct e2b *e2b_attach(struct box *b, const struct e2b *settings);
/* The settings of a sandbox; those that another server wrote down are read first.  NULL: it is
 * none of E2B's. */
struct e2b *e2b_of(struct box *b);
/* Whether it is there for its clients; it is not while it is being removed. */
bool e2b_is_there(struct box *b);
/* Its end is in so many seconds. */
void e2b_extend(struct e2b *x, uint64_t seconds);

/* Begins to read the settings of an earlier server's sandboxes, whose time begins anew; until
 * they are read, `waiting` counts them. */
void e2b_adopt(struct boxes *all, size_t *waiting);

/* --- Connect (e2b_connect.c) ----------------------------------------------------- */

enum connect_code {
	CONNECT_OK,
	CONNECT_INVALID_ARGUMENT,
	CONNECT_DEADLINE_EXCEEDED,
	CONNECT_NOT_FOUND,
	CONNECT_ALREADY_EXISTS,
	CONNECT_PERMISSION_DENIED,
	CONNECT_RESOURCE_EXHAUSTED,
	CONNECT_UNIMPLEMENTED,
	CONNECT_INTERNAL,
	CONNECT_UNAVAILABLE,
	CONNECT_DATA_LOSS,
	CONNECT_CODES
};

/* Whether the request is, and its answer must be, a stream of messages. */
bool connect_is_stream(const struct visit *v);
/* Reads the request: its body, or the one message of a stream.  false: it is answered.  Frees
 * *ret_doc with json_free(). */
bool connect_read(struct visit *v, struct json **ret_doc, struct json_at *ret);

/* Answers with an error: a status and a JSON text, or the end of a stream. */
void connect_fail(struct visit *v, enum connect_code code, const char *message);
void connect_fail_box(struct visit *v, const struct hutch_error *why);

/* A stream of messages: each is a buffer of json_write_begin(), which is freed.
 * connect_begin() may be called again. */
void connect_begin(struct visit *v);
void connect_send(struct visit *v, struct buffer *json);
void connect_end(struct visit *v, enum connect_code code, const char *message);

/* --- envd (e2b_envd.c) ------------------------------------------------------------ */

/* Answers {"code":STATUS,"message":TEXT}. */
void e2b_fail(struct visit *v, unsigned status, const char *message);
void e2b_fail_box(struct visit *v, const struct hutch_error *why);
/* Reads the body, an object; an empty one counts as {}.  False: the request is answered. */
bool e2b_read_body(struct visit *v, struct json **ret_doc, struct json_at *ret);

/* Calls `ready` when the sandbox of the request can be used; one that has ended or that its
 * client has paused is answered as envd's proxy does. */
void envd_use(struct visit *v, box_ready *ready);
/* The user of the request, allocated; NULL: it names none. */
char *envd_user(const struct visit *v);

/* Sends an action; the buffer of its text is freed.  false: it was not sent. */
bool envd_act(struct box *b, struct buffer *json, void *context, box_answer *done,
	      struct hutch_error *e);

/* --- process.Process (e2b_process.c, e2b_input.c) -------------------------------- */

void process_start(struct visit *v);
void process_connect(struct visit *v);
void process_stream_closed(struct visit *v);
void process_list(struct visit *v);
void process_input(struct visit *v);
void process_stream_input(struct visit *v);
void process_close_stdin(struct visit *v);
void process_input_closed(struct visit *v);
void process_signal(struct visit *v);
void process_update(struct visit *v);
/* Releases those of a sandbox that is forgotten. */
void processes_free(struct e2b *x);

/* --- filesystem.Filesystem (e2b_filesystem.c) ------------------------------------- */

void filesystem_stat(struct visit *v);
void filesystem_list(struct visit *v);
void filesystem_make_dir(struct visit *v);
void filesystem_move(struct visit *v);
void filesystem_remove(struct visit *v);
void filesystem_closed(struct visit *v);
/* Asks about an entry by the action `stat`; false: it was not sent. */
bool filesystem_ask(struct box *b, const char *path, void *context, box_answer *done,
		    struct hutch_error *e);
/* The absolute path in the answer, allocated; "": there is none. */
char *filesystem_path(const char *observation);

/* --- watching folders (e2b_watch.c) ----------------------------------------------- */

void watch_create(struct visit *v);
void watch_stream(struct visit *v);
void watch_closed(struct visit *v);
void watch_events(struct visit *v);
void watch_remove(struct visit *v);
void watchers_free(struct e2b *x);

/* --- /files (e2b_files.c) --------------------------------------------------------- */

#define FILES_MAX (4ull << 30)

void files_read(struct visit *v);
void files_read_closed(struct visit *v);
void files_write_begin(struct visit *v);
void files_write_part(struct visit *v, const struct http_part *p);
void files_write(struct visit *v);
void files_write_closed(struct visit *v);

/* --- the code interpreter (e2b_code.c) -------------------------------------------- */

void code_execute(struct visit *v);
void code_restart(struct visit *v);
void code_closed(struct visit *v);
void code_contexts(struct visit *v);
void code_no_context(struct visit *v);
