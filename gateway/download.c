#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/copy.h"
#include "gateway/files.h"
#include "gateway/gateway.h"
#include "gateway/zip/tar_to_zip.h"

#define PIECE (64u << 10)

/* The states of a download follow one another: the process packs, its tar ends, its end is
 * told.  The answer begins with the first bytes, since an error can be told only before. */
struct download {
	struct visit *visit;
	char *path;		/* owned */
	struct tar_to_zip *zip; /* owned */
	struct copy copy;
	char *error;	/* owned: how the process failed; NULL: it did not */
	bool is_packed; /* the process has ended */
	bool is_folder;	   /* what is in it is asked for, without its name */
	bool is_closed; /* the request is gone: the process's end frees all of this */
	bool has_begun;
};

static void release(struct download *d)
{
	if (d->copy.is_running || !d->is_closed)
		return;
	tar_to_zip_free(d->zip);
	free(d->path);
	free(d->error);
	free(d);
}

static void on_drained(void *context, struct http_request *r)
{
	struct visit *v = http_user(r);
	struct download *d = v->state;

	(void)context;
	if (d)
		copy_hold(&d->copy, false);
}

/* Sends what the zip has; without room at the client, reading the pipe waits. */
static void send_zip(struct download *d)
{
	struct buffer *out = tar_to_zip_output(d->zip);
	const size_t len = buffer_len(out);

	if (len == 0)
		return;
	const bool has_room = http_write(d->visit->request, buffer_data(out), len);
	buffer_consume(out, len);
	if (!has_room)
		copy_hold(&d->copy, true);
}

static void begin_answer(struct download *d)
{
	struct visit *v = d->visit;
	const char *slash = strrchr(d->path, '/');
	AUTO_FREE char *name = text_copy(slash ? slash + 1 : d->path);

	for (char *at = name; *at; at++)
		if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ' ||
		    (unsigned char)*at > '~')
			*at = '_';
	AUTO_FREE char *field = text_format("attachment; filename=\"%s.zip\"", name);
	http_add(v->request, "Content-Disposition", field);
	http_stream(v->request, 200, "application/zip", on_drained);
	d->has_begun = true;
}

static void copy_out(void *context, struct box *b, const struct hutch_error *why);

/* Ends an answer that has not begun.  A path that is no folder is asked for once more, as a
 * file. */
static void fail(struct download *d)
{
	if (d->is_folder) {
		d->is_folder = d->is_packed = false;
		free(d->error);
		d->error = NULL;
		box_use(d->visit->box, d, copy_out);
		return;
	}
	if (d->error && !strcmp(d->error, "not_found"))
		visit_fail(d->visit, 500, "404: File not found");
	else
		visit_fail(d->visit, 500,
			   d->error ? d->error : "the sandbox sent nothing");
}

/* Ends the answer when both have come: the end of the process, and that of its tar. */
static void finish(struct download *d)
{
	struct err e;

	if (!d->is_packed || d->copy.pipe.fd >= 0)
		return;
	if (!d->has_begun) {
		fail(d);
		return;
	}
	if (d->error || tar_to_zip_end(d->zip, &e) < 0) {
		http_abort(d->visit->request);
		return;
	}
	send_zip(d);
	http_end(d->visit->request);
}

static void on_tar(void *context)
{
	struct download *d = context;
	char piece[PIECE];
	struct err e;
	const ssize_t n = read(d->copy.pipe.fd, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		copy_close(&d->copy);
		finish(d);
		return;
	}
	if (!d->has_begun)
		begin_answer(d);
	if (tar_to_zip_write(d->zip, piece, (size_t)n, &e) < 0) {
		d->error = text_copy(e.text);
		copy_close(&d->copy); /* which ends the process, too */
		return;
	}
	send_zip(d);
}

/* --- the process ---------------------------------------------------------------- */

static void on_packed(void *context, const char *error, const char *words,
		      const struct hutch_error *why)
{
	struct download *d = context;

	(void)words;
	d->is_packed = true;
	if (error && !d->error)
		d->error = text_copy(error);
	if (!d->is_closed && why) {
		copy_close(&d->copy);
		if (d->has_begun)
			http_abort(d->visit->request);
		else
			visit_fail_box(d->visit, why);
	} else if (!d->is_closed) {
		finish(d);
	}
	release(d);
}

static void copy_out(void *context, struct box *b, const struct hutch_error *why)
{
	struct download *d = context;
	AUTO_FREE char *path = text_format("%s%s", d->path, d->is_folder ? "/." : "");
	struct hutch_error e;
	struct buffer json;

	if (why) {
		visit_fail_box(d->visit, why);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "path", path);
	json_write_bool(&json, "follow", true);
	json_write_bool(&json, "contents", true);
	json_write_close(&json, "}");
	AUTO_FREE char *params = json_write_end(&json);
	d->copy.context = d;
	d->copy.moved = on_tar;
	d->copy.ended = on_packed;
	if (copy_start(&d->copy, b, false, params, &e) < 0)
		visit_fail_box(d->visit, &e);
}

void download(struct visit *v)
{
	const char *path = http_query(v->request, "path");
	const struct tar_to_zip_limits limits = { .entries_max = 1000000,
						  .bytes_max = 1ull << 40,
						  .names_max = 32u << 20 };
	struct download *d;
	struct err e;

	if (!path || path[0] != '/') {
		visit_fail(v, path ? 500 : 422,
			   path ? "400: Path must be an absolute path"
				: "Invalid request parameters");
		return;
	}
	d = calloc(1, sizeof(*d));
	if (!d || !(d->zip = tar_to_zip_new(&limits, &e))) {
		free(d);
		visit_fail(v, 503, "out of memory");
		return;
	}
	d->visit = v;
	d->copy.pipe.fd = -1;
	d->path = text_copy(path);
	d->is_folder = true;
	v->state = d;
	box_use(v->box, d, copy_out);
}

void download_closed(struct visit *v)
{
	struct download *d = v->state;

	if (!d)
		return;
	d->is_closed = true;
	copy_close(&d->copy); /* the process ends by that */
	release(d);
}
