#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "archive/tar.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/copy.h"
#include "gateway/files.h"
#include "gateway/gateway.h"
#include "gateway/order.h"
#include "gateway/zip/zip_to_tar.h"

#define PIECE	    (64u << 10)
#define ENTRIES_MAX 200000 /* 160 bytes of memory each */
#define TURN_PIECES 16	   /* pieces after which other clients have their turn */
#define END_BLOCKS  2 /* of zeros, at the end of a tar */

struct upload {
	struct visit *visit;
	char *destination, *filename; /* owned */
	bool is_recursive;
	int spool;		/* owned: -1: not there yet */
	uint64_t size;		/* of what came */
	struct zip_to_tar *zip; /* owned; NULL: one plain file is sent */
	uint64_t at;		/* of a plain file: what was read */
	struct copy copy;
	struct buffer tar; /* what could not be written yet */
	bool is_read;	   /* the tar is in `tar`, up to its end */
	char *failure;	   /* owned: why the tar is not whole */
};

/* --- the request's head and body ------------------------------------------------ */

/* The reference raises its errors inside of a general handler, and so all have status 500. */
static void refuse(struct visit *v, const char *detail)
{
	visit_fail(v, 500, detail);
}

static void on_spool(void *context, struct spawn_answer *a)
{
	struct visit *v = context;
	struct upload *u = v->state;

	u->spool = a->fd;
	a->fd = -1;
	/* A client may try again where only the moment is bad: also a spool whose descriptor
	 * had no room in this process. */
	if (u->spool < 0 && (!a->kind || !strcmp(a->kind, "limit")))
		visit_fail(v, 503,
			   a->message ? a->message : "too many uploads are under way");
	else if (u->spool < 0)
		refuse(v, a->message);
	http_go_on(v->request);
}

void upload_begin(struct visit *v)
{
	const char *destination = http_query(v->request, "destination");
	const char *recursive = http_query(v->request, "recursive");
	struct order o = { .kind = ORDER_SPOOL };
	struct upload *u = calloc(1, sizeof(*u));

	if (!u) {
		visit_fail(v, 503, "out of memory");
		return;
	}
	u->visit = v;
	u->spool = u->copy.pipe.fd = -1;
	u->destination = text_copy(destination ? destination : "/");
	u->is_recursive = recursive &&
			  (!strcasecmp(recursive, "true") || !strcmp(recursive, "1"));
	buffer_init(&u->tar, 8 * PIECE);
	v->state = u;
	if (u->destination[0] != '/') {
		refuse(v, "400: Destination must be an absolute path");
		return;
	}
	http_hold(v->request);
	spawn_link_ask(&v->gateway->link, &o, v, on_spool);
}

void upload_part(struct visit *v, const struct http_part *p)
{
	struct upload *u = v->state;

	if (strcmp(p->name, "file") != 0 || http_is_answered(v->request))
		return;
	if (p->at == 0 && u->size > 0) {
		refuse(v, "400: More than one file was sent");
		return;
	}
	if (p->at == 0) {
		free(u->filename);
		u->filename = text_copy(p->filename ? p->filename : "");
		u->size = 0;
	}
	if (pwrite(u->spool, p->bytes, p->len, (off_t)p->at) != (ssize_t)p->len)
		refuse(v, "The upload does not fit on the server's disk");
	u->size = p->at + p->len;
}

/* --- the tar -------------------------------------------------------------------- */

static void add_header(struct upload *u)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	const struct tar_entry entry = { .type = TAR_FILE,
					 .path = u->filename,
					 .mode = 0644,
					 .size = u->size,
					 .mtime = now.tv_sec };
	tar_encode(&u->tar, &entry);
}

/* Adds the next piece of a plain file to the tar, and what stands behind its end. */
static void add_piece(struct upload *u)
{
	static const char zeros[(END_BLOCKS + 1) * TAR_BLOCK];
	char piece[PIECE];
	const uint64_t left = u->size - u->at;
	const size_t len = left < sizeof(piece) ? (size_t)left : sizeof(piece);
	const ssize_t n = pread(u->spool, piece, len, (off_t)u->at);

	if (n > 0) {
		(void)buffer_append(&u->tar, piece,
				    (size_t)n); /* `tar` has room for it */
		u->at += (uint64_t)n;
	}
	if (u->at < u->size && n > 0)
		return;
	if (u->at < u->size)
		u->failure = text_copy("the server's copy of the upload cannot be read");
	(void)buffer_append(&u->tar, zeros,
			    tar_padded(u->size) - u->size + END_BLOCKS * TAR_BLOCK);
	u->is_read = true;
}

static void add_from_zip(struct upload *u)
{
	char piece[PIECE];
	struct err e;
	const ssize_t n = zip_to_tar_read(u->zip, piece, sizeof(piece), &e);

	if (n > 0)
		(void)buffer_append(&u->tar, piece, (size_t)n);
	else
		u->is_read = true;
	if (n < 0)
		u->failure = text_copy(e.text);
}

/* Writes to the process that unpacks, as much as it takes in this turn. */
static void on_room(void *context)
{
	struct upload *u = context;

	for (size_t i = 0; i < TURN_PIECES; i++) {
		if (buffer_len(&u->tar) < PIECE && !u->is_read)
			u->zip ? add_from_zip(u) : add_piece(u);
		/* A tar that is not whole must not look whole: its end is left out. */
		const bool is_over = u->failure ||
				     (u->is_read && buffer_len(&u->tar) == 0);
		const ssize_t n = is_over ? 0
					  : write(u->copy.pipe.fd, buffer_data(&u->tar),
						  buffer_len(&u->tar));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) { /* or the process has ended, whose end says why */
			copy_close(&u->copy);
			return;
		}
		buffer_consume(&u->tar, (size_t)n);
	}
}

/* --- the copy ------------------------------------------------------------------- */

static void succeed(struct visit *v)
{
	const struct upload *u = v->state;
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "filename", u->filename);
	json_write_text(&b, "destination", u->destination);
	json_write_bool(&b, "recursive", u->is_recursive);
	json_write_close(&b, "}");
	visit_reply(v, &b);
}

static void on_unpacked(void *context, const char *error, const char *words,
			const struct hutch_error *why)
{
	struct upload *u = context;

	copy_close(&u->copy);
	if (why)
		visit_fail_box(u->visit, why);
	else if (u->failure || error)
		refuse(u->visit, u->failure ? u->failure : *words ? words : error);
	else
		succeed(u->visit);
}

static void on_folder(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	struct upload *u = v->state;
	struct hutch_error e;
	struct buffer json;
	AUTO_FREE char *kind = hutch_json_string(m->json, "observation");
	AUTO_FREE char *said = hutch_json_string(m->json, "content");

	if (m->error.kind != HUTCH_OK) {
		visit_fail_box(v, &m->error);
		return;
	}
	if (kind && !strcmp(kind, "error")) {
		refuse(v, said ? said : "the folder cannot be made");
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "path", u->destination);
	json_write_close(&json, "}");
	AUTO_FREE char *params = json_write_end(&json);
	u->copy.context = u;
	u->copy.moved = on_room;
	u->copy.ended = on_unpacked;
	if (copy_start(&u->copy, v->box, true, params, &e) < 0)
		visit_fail_box(v, &e);
}

static void make_folder(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	const struct upload *u = v->state;
	struct hutch_error e;
	struct buffer json;

	if (why) {
		visit_fail_box(v, why);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "action", "mkdir");
	json_write_open(&json, "args", "{");
	json_write_text(&json, "path", u->destination);
	json_write_close(&json, "}}");
	AUTO_FREE char *action = json_write_end(&json);
	void *tag = box_tag(b, v, on_folder);
	if (hutch_act(b->handle, action, 0, tag, &e) >= 0)
		return;
	box_untag(tag);
	visit_fail_box(v, &e);
}

static bool is_zip(const struct upload *u)
{
	const size_t len = strlen(u->filename);

	return u->is_recursive || (len > 4 && !strcmp(u->filename + len - 4, ".zip"));
}

static bool is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

void upload(struct visit *v)
{
	struct upload *u = v->state;
	const struct zip_to_tar_limits limits = { .entries_max = ENTRIES_MAX,
						  .bytes_max = UPLOAD_MAX,
						  .now = time(NULL) };
	struct err e;

	if (!u->filename) {
		visit_fail(v, 422, "Invalid request parameters");
		return;
	}
	if (u->is_recursive && !is_zip(&(struct upload){ .filename = u->filename })) {
		refuse(v, "400: Recursive uploads must be zip files");
		return;
	}
	if (!is_name(u->filename)) {
		refuse(v, "400: The file's name must be one name, without a slash");
		return;
	}
	if (is_zip(u)) {
		u->zip = zip_to_tar_new(u->spool, &limits, &e);
		if (!u->zip) {
			refuse(v, e.text);
			return;
		}
	} else {
		add_header(u);
	}
	box_use(v->box, v, make_folder);
}

void upload_closed(struct visit *v)
{
	struct upload *u = v->state;

	if (!u)
		return;
	copy_close(&u->copy);
	own_close(&u->spool);
	zip_to_tar_free(u->zip);
	buffer_done(&u->tar);
	free(u->destination);
	free(u->filename);
	free(u->failure);
	free(u);
}
