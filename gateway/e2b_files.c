/* /files: a file out of a sandbox as it is, and files into one.  Both go as a tar, by a process
 * inside (copy.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "archive/tar.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/copy.h"
#include "gateway/e2b.h"
#include "gateway/order.h"

#define TRANSFER   (64u << 10)
#define END_BLOCKS 2 /* of zeros, at the end of a tar */
#define FILES_MOST 1000

/* --- reading -------------------------------------------------------------------- */

/* The states follow one another as those of a download (download.c): the process packs, its tar
 * ends, its end is told. */
struct reading {
	struct visit *visit;
	char *path; /* owned */
	struct copy copy;
	uint8_t block[TAR_BLOCK]; /* a header, of which `have` bytes have come */
	size_t have;
	uint64_t skip, left; /* bytes of a header's extension, and of the file */
	char *error;	     /* owned */
	bool has_begun, is_packed, is_closed;
};

static void reading_free(struct reading *r)
{
	if (r->copy.is_running || !r->is_closed)
		return;
	free(r->path);
	free(r->error);
	free(r);
}

void files_read_closed(struct visit *v)
{
	struct reading *r = v->state;

	if (!r)
		return;
	r->is_closed = true;
	copy_close(&r->copy); /* the process ends by that */
	reading_free(r);
}

static void fail_read(struct reading *r)
{
	const char *error = r->error ? r->error : "the sandbox sent nothing";
	const bool is_absent = !strcmp(error, "not_found");
	AUTO_FREE char *text =
		is_absent
			? text_format("path '%s' does not exist", r->path)
			: text_format("error reading the file '%s': %s", r->path, error);

	e2b_fail(r->visit, is_absent ? 404 : 400, text);
}

static void finish_read(struct reading *r)
{
	if (!r->is_packed || r->copy.pipe.fd >= 0)
		return;
	if (!r->has_begun)
		fail_read(r);
	else if (r->error || r->left > 0)
		http_abort(r->visit->request);
	else
		http_end(r->visit->request);
}

static void on_drained(void *context, struct http_request *request)
{
	struct visit *v = http_user(request);
	struct reading *r = v->state;

	(void)context;
	if (r)
		copy_hold(&r->copy, false);
}

/* Takes the header of an entry: false, with an error: it is no file. */
static bool take_header(struct reading *r)
{
	struct tar_entry entry;
	struct tar_text text;
	struct err e;

	r->have = 0;
	if (tar_is_end(r->block))
		return true;
	if (tar_decode(r->block, &entry, &text, &e) < 0) {
		r->error = text_copy(e.text);
		return false;
	}
	if (entry.type == TAR_PAX || entry.type == TAR_LONG_NAME) {
		r->skip = tar_padded(entry.size);
		return true;
	}
	if (entry.type != TAR_FILE || r->has_begun) {
		r->error = text_copy("it is no regular file");
		return false;
	}
	r->left = entry.size;
	r->skip = tar_padded(entry.size) - entry.size;
	r->has_begun = true;
	http_stream(r->visit->request, 200, "application/octet-stream", on_drained);
	return true;
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/* Takes some bytes of the tar, and returns how many; 0: the tar is wrong. */
static size_t take_some(struct reading *r, const char *bytes, size_t len)
{
	size_t n;

	if (r->left > 0) {
		n = least(r->left, len);
		r->left -= n;
		if (!http_write(r->visit->request, bytes, n))
			copy_hold(&r->copy, true);
	} else if (r->skip > 0) {
		n = least(r->skip, len);
		r->skip -= n;
	} else {
		n = least(TAR_BLOCK - r->have, len);
		memcpy(r->block + r->have, bytes, n);
		r->have += n;
		if (r->have == TAR_BLOCK && !take_header(r))
			return 0;
	}
	return n;
}

static void on_tar(void *context)
{
	struct reading *r = context;
	char piece[TRANSFER];
	const ssize_t n = read(r->copy.pipe.fd, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	for (size_t at = 0; n > 0 && at < (size_t)n;) {
		const size_t taken = take_some(r, piece + at, (size_t)n - at);

		if (taken == 0) {
			copy_close(&r->copy); /* which ends the process, too */
			finish_read(r);
			return;
		}
		at += taken;
	}
	if (n > 0)
		return;
	copy_close(&r->copy);
	finish_read(r);
}

static void on_packed(void *context, const char *error, const char *words,
		      const struct hutch_error *why)
{
	struct reading *r = context;

	(void)words;
	r->is_packed = true;
	if (error && !r->error)
		r->error = text_copy(error);
	if (!r->is_closed && why) {
		copy_close(&r->copy);
		if (r->has_begun)
			http_abort(r->visit->request);
		else
			e2b_fail_box(r->visit, why);
	} else if (!r->is_closed) {
		finish_read(r);
	}
	reading_free(r);
}

static void read_it(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct reading *r = v->state;
	struct hutch_error e;
	struct buffer json;

	if (why) {
		e2b_fail_box(v, why);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "path", r->path);
	json_write_bool(&json, "follow", true);
	json_write_close(&json, "}");
	AUTO_FREE char *params = json_write_end(&json);
	r->copy.context = r;
	r->copy.moved = on_tar;
	r->copy.ended = on_packed;
	if (copy_start(&r->copy, b, false, params, &e) < 0)
		e2b_fail_box(v, &e);
}

void files_read(struct visit *v)
{
	const char *path = http_query(v->request, "path");
	struct reading *r;

	if (!path || !*path) {
		e2b_fail(v, 400, "path: absent");
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		abort();
	r->visit = v;
	r->copy.pipe.fd = -1;
	r->path = text_copy(path);
	v->state = r;
	envd_use(v, read_it);
}

/* --- writing -------------------------------------------------------------------- */

struct file {
	struct file *next;
	char *path, *name;    /* owned; name: in the form */
	uint64_t start, size; /* in the spool */
};

struct writing {
	struct visit
		*visit; /* NULL: the request is gone, and the spool has not come yet */
	int spool;	    /* owned; -1: not there yet */
	uint64_t end;	    /* of the spool */
	struct file *files; /* owned, in the order in which they came */
	struct file **last;
	size_t count;
	struct file *file; /* the one that is written */
	uint64_t at;	   /* what of it was read */
	struct copy copy;
	struct buffer tar; /* what could not be written yet */
	bool is_read;
	bool is_asking; /* for the spool */
	char *failure; /* owned */
	struct buffer reply;
};

static void writing_free(struct writing *w)
{
	copy_close(&w->copy);
	own_close(&w->spool);
	while (w->files) {
		struct file *f = w->files;

		w->files = f->next;
		free(f->path);
		free(f->name);
		free(f);
	}
	buffer_done(&w->tar);
	buffer_done(&w->reply);
	free(w->failure);
	free(w);
}

void files_write_closed(struct visit *v)
{
	struct writing *w = v->state;

	if (!w)
		return;
	w->visit = NULL;
	if (!w->is_asking)
		writing_free(w);
}

static void on_spool(void *context, struct spawn_answer *a)
{
	struct writing *w = context;

	w->is_asking = false;
	if (!w->visit) {
		writing_free(w);
		return;
	}
	w->spool = a->fd;
	a->fd = -1;
	if (w->spool < 0)
		e2b_fail(w->visit, 507,
			 a->message ? a->message : "no room for the upload");
	http_go_on(w->visit->request);
}

void files_write_begin(struct visit *v)
{
	const char *type = http_header(v->request, "Content-Type");
	struct order o = { .kind = ORDER_SPOOL };
	struct writing *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	*w = (struct writing){ .visit = v, .spool = -1, .copy.pipe.fd = -1 };
	w->last = &w->files;
	buffer_init(&w->tar, 8 * TRANSFER);
	v->state = w;
	if (http_header(v->request, "Content-Encoding")) {
		e2b_fail(v, 415, "Content-Encoding: hutch takes files as they are");
		return;
	}
	if (type &&
	    !strncasecmp(type, "multipart/form-data", strlen("multipart/form-data")))
		http_take_parts(v->request, FILES_MAX);
	else
		http_take_bytes(v->request, FILES_MAX);
	http_hold(v->request);
	w->is_asking = true;
	spawn_link_ask(&v->gateway->link, &o, w, on_spool);
}

static struct file *add_file(struct writing *w, const char *name)
{
	const char *path = http_query(w->visit->request, "path");
	struct file *f;

	/* With a path there is one file, whatever it is called in the form. */
	if (w->count == FILES_MOST || (path && *path && w->count == 1))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		abort();
	f->path = text_copy(path && *path ? path : name);
	f->name = text_copy(name);
	f->start = w->end;
	*w->last = f;
	w->last = &f->next;
	w->count++;
	w->file = f;
	return f;
}

/* The first bytes of a part come twice where there are none yet when its head is read. */
static bool is_new(const struct writing *w, const struct http_part *p)
{
	return p->at == 0 && (!w->file || w->file->size > 0 || !p->filename ||
			      strcmp(w->file->name, p->filename) != 0);
}

void files_write_part(struct visit *v, const struct http_part *p)
{
	struct writing *w = v->state;

	if (http_is_answered(v->request))
		return;
	if (is_new(w, p) && !add_file(w, p->filename ? p->filename : "")) {
		e2b_fail(v, 400,
			 "a path is that of one file; at most 1000 files at once");
		return;
	}
	if (pwrite(w->spool, p->bytes, p->len, (off_t)w->end) != (ssize_t)p->len) {
		e2b_fail(v, 507, "The upload does not fit on the server's disk");
		return;
	}
	w->end += p->len;
	w->file->size += p->len;
}

/* Adds the next piece of a file to the tar, and what stands behind its end. */
static void add_piece(struct writing *w)
{
	static const char zeros[(END_BLOCKS + 1) * TAR_BLOCK];
	const struct file *f = w->file;
	char piece[TRANSFER];
	const size_t want = least(f->size - w->at, sizeof(piece));
	const ssize_t n = pread(w->spool, piece, want, (off_t)(f->start + w->at));

	if (n > 0) {
		(void)buffer_append(&w->tar, piece,
				    (size_t)n); /* `tar` has room for it */
		w->at += (uint64_t)n;
	}
	if (w->at < f->size && n > 0)
		return;
	if (w->at < f->size)
		w->failure = text_copy("the server's copy of the upload cannot be read");
	(void)buffer_append(&w->tar, zeros,
			    tar_padded(f->size) - f->size + END_BLOCKS * TAR_BLOCK);
	w->is_read = true;
}

/* Writes to the process that unpacks, as much as it takes. */
static void on_room(void *context)
{
	struct writing *w = context;

	for (;;) {
		if (buffer_len(&w->tar) < TRANSFER && !w->is_read)
			add_piece(w);
		/* A tar that is not whole must not look whole: its end is left out. */
		if (w->failure || (w->is_read && buffer_len(&w->tar) == 0))
			break;
		const ssize_t n =
			write(w->copy.pipe.fd, buffer_data(&w->tar), buffer_len(&w->tar));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			break; /* the process has ended; its end says why */
		buffer_consume(&w->tar, (size_t)n);
	}
	copy_close(&w->copy);
}

static void write_file(struct writing *w);

static void finish_write(struct writing *w)
{
	json_write_close(&w->reply, "]");
	visit_reply(w->visit, &w->reply);
}

/* The path of the answer is absolute, which a client's need not be. */
static void on_stat(void *context, const struct hutch_message *m)
{
	struct writing *w = context;
	AUTO_FREE char *path = NULL;

	if (m->error.kind != HUTCH_OK) {
		e2b_fail_box(w->visit, &m->error);
		return;
	}
	path = filesystem_path(m->json);
	const char *slash = strrchr(path, '/');
	json_write_open(&w->reply, NULL, "{");
	json_write_text(&w->reply, "name", slash ? slash + 1 : path);
	json_write_text(&w->reply, "type", "file");
	json_write_text(&w->reply, "path", path);
	json_write_close(&w->reply, "}");
	w->file = w->file->next;
	if (w->file)
		write_file(w);
	else
		finish_write(w);
}

static void on_unpacked(void *context, const char *error, const char *words,
			const struct hutch_error *why)
{
	struct writing *w = context;
	struct hutch_error e;

	copy_close(&w->copy);
	if (why) {
		e2b_fail_box(w->visit, why);
		return;
	}
	if (w->failure || error) {
		const bool is_full = error && !strcmp(error, "no_space");
		const char *text = w->failure	     ? w->failure
				   : words && *words ? words
						     : error;
		e2b_fail(w->visit, w->failure ? 500 : is_full ? 507 : 400, text);
		return;
	}
	if (!filesystem_ask(w->visit->box, w->file->path, w, on_stat, &e))
		e2b_fail_box(w->visit, &e);
}

static void write_header(struct writing *w)
{
	const struct tar_entry entry = { .type = TAR_FILE,
					 .path = "file",
					 .mode = 0644,
					 .size = w->file->size,
					 .mtime = time(NULL) };

	tar_encode(&w->tar, &entry);
	w->at = 0;
	w->is_read = false;
}

static void write_file(struct writing *w)
{
	struct hutch_error e;
	struct buffer json;

	write_header(w);
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "path", w->file->path);
	json_write_text(&json, "name", "file");
	json_write_bool(&json, "file", true);
	json_write_bool(&json, "parents", true);
	json_write_close(&json, "}");
	AUTO_FREE char *params = json_write_end(&json);
	w->copy.context = w;
	w->copy.moved = on_room;
	w->copy.ended = on_unpacked;
	if (copy_start(&w->copy, w->visit->box, true, params, &e) < 0)
		e2b_fail_box(w->visit, &e);
}

static void begin_write(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct writing *w = v->state;

	(void)b;
	if (why) {
		e2b_fail_box(v, why);
		return;
	}
	json_write_begin(&w->reply);
	json_write_open(&w->reply, NULL, "[");
	w->file = w->files;
	write_file(w);
}

void files_write(struct visit *v)
{
	struct writing *w = v->state;

	/* An empty body is an empty file. */
	if (!w->files)
		(void)add_file(w, "");
	for (const struct file *f = w->files; f; f = f->next)
		if (!*f->path) {
			e2b_fail(v, 400, "path: absent, and a file has no name");
			return;
		}
	envd_use(v, begin_write);
}
