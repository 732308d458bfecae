#include "cli/copy_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive/outcome.h"
#include "archive/pack.h"
#include "archive/unpack.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/root/jail.h"

#define PUMP_BYTES (256u << 10)

static void remember(struct outcome *o, const char *path, const char *what)
{
	if (!o->first[0]) /* snprintf(3) cuts a longer text */
		(void)snprintf(o->first, sizeof(o->first), "%.90s: %.60s", path, what);
}

/* --- pack ------------------------------------------------------------------- */

static void on_left_out(void *context, const char *path, const char *why)
{
	remember(context, path, why);
}

int copy_worker_pack(void *arg, void *outcome, struct err *e)
{
	const struct copy_worker_pack *w = arg;
	struct outcome *o = outcome;
	struct pack p = { .out = w->out,
			  .follows = w->follows,
			  .context = o,
			  .on_left_out = on_left_out };

	(void)e;
	if (pack_add(&p, AT_FDCWD, w->path, w->as, &o->error) == 0)
		(void)pack_end(&p, &o->error);
	o->is_closed = o->error.kind != ERR_NONE && o->error.sys == EPIPE;
	o->entries = p.entries;
	o->bytes = p.bytes;
	o->left_out = p.left_out;
	pack_done(&p);
	return 0;
}

/* --- unpack ------------------------------------------------------------------ */

static void on_link_out(void *context, const char *path, const char *to)
{
	remember(context, path, to);
}

/* Unpacks the tar.  This function runs in the jail, since the tar is foreign input. */
static void unpack(const void *arg, int folder, int in, void *result)
{
	const struct copy_worker_unpack *w = arg;
	struct outcome *o = result;
	struct unpack u = { .in = in,
			    .root = folder,
			    .rename = w->rename,
			    .entries_max = w->entries_max,
			    .bytes_max = w->bytes_max,
			    .context = o,
			    .on_link_out = on_link_out };

	(void)unpack_all(&u, &o->error);
	o->entries = u.entries;
	o->bytes = u.bytes;
	o->left_out = u.left_out;
	o->links_out = u.links_out;
}

int copy_worker_unpack(void *arg, void *outcome, struct err *e)
{
	const struct copy_worker_unpack *w = arg;
	const struct jail jail = {
		.folder = w->folder, .in = w->in, .leash = w->leash,
		.uid = w->uid, .gid = w->gid, .file_max = w->bytes_max,
		.work = unpack, .arg = w, .result_len = sizeof(struct outcome),
	};

	return jail_run(&jail, outcome, e);
}

/* --- pump --------------------------------------------------------------------- */

int copy_worker_pump(void *arg, void *outcome, struct err *e)
{
	const struct copy_worker_pump *w = arg;
	struct outcome *o = outcome;
	uint8_t *bytes = mem_new(PUMP_BYTES);
	ssize_t n;

	(void)e;
	while ((n = read(w->in, bytes, PUMP_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || io_write_all(w->out, bytes, (size_t)n) < 0) {
			(void)err_sys(&o->error, "copy %s", w->what);
			break;
		}
		o->bytes += (uint64_t)n;
	}
	o->is_closed = o->error.kind != ERR_NONE && o->error.sys == EPIPE;
	free(bytes);
	return 0;
}
