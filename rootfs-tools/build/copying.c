#include "rootfs-tools/build/copying.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/outcome.h"
#include "archive/pack.h"
#include "archive/pack_output.h"
#include "archive/tar.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/build/dockerfile.h"
#include "rootfs-tools/build/sources.h"
#include "rootfs-tools/changes/reader.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/layers/inflate.h"
#include "rootfs-tools/layers/merged.h"
#include "sandbox/root/jail.h"
#include "store/store.h"

#define PIECE (256u << 10)

/* A part of the layer's tar.  The parts are written one after the other, and each is
 * read from files, from a heredoc, or from an archive. */
struct part {
	const struct copying *c;
	const struct list *words; /* sources in the tree */
	bool has_patterns;
	const struct heredoc *heredoc; /* if not NULL, this heredoc is written instead of
				        * `words` */
	int archive;		       /* borrowed; if not -1, this archive is written
				        * instead of both */
	bool has_no_times;
	int layers, out; /* borrowed: the store's folder of layers, and the pipe to
			  * write to */
	int leash;	 /* the worker's leash */
};

typedef int (*part_work)(void *part, void *outcome, struct err *e);

/* --- the copying process ----------------------------------------------------- */

static struct sources sources_of(const struct part *p, const struct merged *tree)
{
	const char *to = p->c->copy_layer.to;
	size_t len = strlen(to);

	return (struct sources){ .tree = tree,
				 .ignore = p->c->from ? NULL : p->c->ignore,
				 .words = p->words,
				 .has_patterns = p->has_patterns,
				 .may_be_many = len && to[len - 1] == '/',
				 .has_no_times = p->has_no_times };
}

static int write_context(void *arg, void *outcome, struct err *e)
{
	const struct part *p = arg;
	int folder = fcntl(p->c->context, F_DUPFD_CLOEXEC, 0);
	struct merged tree;

	if (folder < 0)
		return err_sys(e, "open the context");
	merged_open_folder(&tree, folder);
	const struct sources s = sources_of(p, &tree);
	int rc = sources_write(&s, p->out, outcome, e);
	merged_done(&tree);
	return rc;
}

static void write_layers(const void *arg, int folder, int in, void *result)
{
	const struct part *p = arg;
	struct outcome *o = result;
	struct merged tree = { 0 };

	(void)in;
	const struct sources s = sources_of(p, &tree);
	if (merged_open_layers(&tree, folder, p->c->from, &o->error) == 0)
		(void)sources_write(&s, JAIL_OUT, o, &o->error);
	merged_done(&tree);
}

static void write_archive(const void *arg, int folder, int in, void *result)
{
	struct outcome *o = result;

	(void)arg;
	(void)folder;
	if (inflate_all(in, JAIL_OUT, &o->error) < 0 && o->error.sys == EPIPE)
		o->is_closed = true;
}

/* Runs the work of `j` in a jail.  If the jailed process fails, its error is in the
 * outcome. */
static int in_jail(const struct part *p, struct outcome *o,
		   void (*work)(const void *, int, int, void *))
{
	struct jail jail = { .folder = p->layers, .in = p->archive, .out = p->out,
			     .leash = p->leash, .file_max = UINT64_MAX, .work = work,
			     .arg = p };

	reader_run(&jail, o);
	return 0;
}

static int work_on_layers(void *arg, void *outcome, struct err *e)
{
	(void)e;
	return in_jail(arg, outcome, write_layers);
}

static int work_on_archive(void *arg, void *outcome, struct err *e)
{
	const struct part *p = arg;

	return inflate_begin(p->archive, e) < 0 ? -1 : in_jail(p, outcome, write_archive);
}

static int write_heredoc(void *arg, void *outcome, struct err *e)
{
	const struct part *p = arg;
	const struct pack_item item = { .as = p->heredoc->name };
	struct pack pack = { .out = p->out };
	size_t len = strlen(p->heredoc->text);
	struct stat st = { .st_mode = S_IFREG | 0644, .st_size = (off_t)len };
	static const uint8_t zeros[TAR_BLOCK];

	(void)outcome;
	if (!p->has_no_times)
		st.st_mtim.tv_sec = p->c->copy_layer.now;
	pack_header(&pack, TAR_FILE, &item, &st, NULL);
	int rc = pack_flush(&pack, e);
	if (rc == 0 && (io_write_all(p->out, p->heredoc->text, len) < 0 ||
			io_write_all(p->out, zeros, tar_padded(len) - len) < 0))
		rc = err_sys(e, "write a heredoc");
	if (rc == 0)
		rc = pack_end(&pack, e);
	pack_done(&pack);
	return rc;
}

static part_work work_of(const struct part *p)
{
	if (p->heredoc)
		return write_heredoc;
	if (p->archive >= 0)
		return work_on_archive;
	return p->c->from ? work_on_layers : write_context;
}

/* --- processes ------------------------------------------------------------------ */

struct ends {
	int from, to; /* owned */
};

static int make_pipe(struct ends *ret, struct err *e)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	*ret = (struct ends){ fds[0], fds[1] };
	return 0;
}

static void ends_done(struct ends *p)
{
	own_close(&p->from);
	own_close(&p->to);
}

static int start_part(struct part *p, struct worker *ret, struct err *e)
{
	struct worker_task task = {
		.name = "the process that reads the files to be copied",
		.work = work_of(p),
		.arg = p,
		.result_len = sizeof(struct outcome),
		.fds = { p->out, p->layers },
		.fd_count = 2,
		.leash = &p->leash
	};

	if (p->archive >= 0)
		task.fds[task.fd_count++] = p->archive;
	else if (!p->c->from)
		task.fds[task.fd_count++] = p->c->context;
	return worker_start(&task, ret, e);
}

/* Adds up the outcomes of the two processes at the ends of a pipe.  If both failed, the
 * error that is more than a closed pipe is returned, as it is the cause. */
static int settle(const struct outcome *first, const struct outcome *second,
		  struct outcome *total, struct err *e)
{
	const struct outcome *bad = NULL;

	total->entries += second->entries;
	total->bytes += second->bytes;
	total->left_out += first->left_out + second->left_out;
	if (!*total->first)
		memcpy(total->first, *first->first ? first->first : second->first,
		       sizeof(total->first));
	if (second->error.kind != ERR_NONE)
		bad = second;
	if (first->error.kind != ERR_NONE && first->error.sys != EPIPE &&
	    (!bad || bad->error.kind == ERR_PROTOCOL))
		bad = first;
	if (!bad && first->error.kind != ERR_NONE)
		bad = first;
	if (!bad)
		return 0;
	*e = bad->error;
	return -1;
}

int copying_pour(int from, struct blob *to, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	ssize_t len;

	while ((len = io_read_full(from, piece, PIECE)) > 0)
		if (blob_add(to, piece, (size_t)len, e) < 0)
			return -1;
	return len < 0 ? err_sys(e, "read a layer") : 0;
}

int copying_end(struct blob *to, struct err *e)
{
	static const uint8_t zeros[2 * TAR_BLOCK];

	return blob_add(to, zeros, sizeof(zeros), e);
}

/* Writes one part of the layer's tar into the blob, with the paths that its files get
 * in the image. */
static int pipe_part(struct part *p, struct blob *to, struct outcome *total,
		     struct err *e)
{
	struct ends tar = { -1, -1 }, layer = { -1, -1 };
	struct copy_layer_order order = { .p = &p->c->copy_layer, .layers = p->layers };
	struct worker writer = { 0 }, placer = { 0 };
	struct outcome written, placed;
	int rc = -1;

	if (make_pipe(&tar, e) == 0 && make_pipe(&layer, e) == 0) {
		p->out = tar.to;
		order.in = tar.from;
		order.out = layer.to;
		const struct worker_task place = {
			.name = "the process that writes a layer",
			.work = copy_layer_work, .arg = &order,
			.result_len = sizeof(placed),
			.fds = { p->layers, order.in, order.out }, .fd_count = 3,
			.leash = &order.leash,
		};
		rc = start_part(p, &writer, e);
		if (rc == 0)
			rc = worker_start(&place, &placer, e);
		ends_done(&tar);
		own_close(&layer.to);
		if (rc == 0)
			rc = copying_pour(layer.from, to, e);
	}
	ends_done(&tar);
	ends_done(&layer);
	if (rc == 0) {
		outcome_wait(&writer, &written);
		outcome_wait(&placer, &placed);
		rc = settle(&written, &placed, total, e);
	}
	worker_end(&writer);
	worker_end(&placer);
	return rc;
}

/* --- parts ---------------------------------------------------------------------- */

/* Finds out whether the part's file is a tar after decompression, which ADD unpacks. */
static int begins_as_tar(struct part *p, bool *ret, struct err *e)
{
	struct ends pipe = { -1, -1 };
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;
	struct tar_text text;
	struct worker worker;

	if (make_pipe(&pipe, e) < 0)
		return -1;
	p->out = pipe.to;
	int rc = start_part(p, &worker, e);
	own_close(&pipe.to);
	ssize_t len = rc == 0 ? io_read_full(pipe.from, block, sizeof(block)) : -1;
	ends_done(&pipe);
	worker_end(&worker);
	*ret = len == (ssize_t)sizeof(block) && !tar_is_end(block) &&
	       tar_decode(block, &entry, &text, NULL) == 0;
	return rc;
}

/* Refuses a bzip2 archive, which hutch cannot unpack: docker would unpack it, so
 * adding it as a plain file would be wrong. */
static int refuse_bzip2(int fd, const char *path, struct err *e)
{
	char begin[10] = "";

	if (pread(fd, begin, sizeof(begin), 0) != (ssize_t)sizeof(begin) ||
	    memcmp(begin, "BZh", 3) != 0 || memcmp(begin + 4, "1AY&SY", 6) != 0)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "%.300s is compressed by bzip2",
		      path + strspn(path, "/"));
	return err_remedy(e, "compress it by gzip, zstd or xz; COPY copies it as it is");
}

/* Opens the context's file if it is an archive that ADD unpacks; else sets *ret to -1
 * and returns 0. */
static int open_archive(const struct copying *c, const char *path, int layers, int *ret,
			struct err *e)
{
	AUTO_FREE char *missing = NULL;
	struct merged tree;
	struct merged_at at;
	bool is_tar = false;
	int folder = fcntl(c->context, F_DUPFD_CLOEXEC, 0), rc = 0;

	if (folder < 0)
		return err_sys(e, "open the context");
	merged_open_folder(&tree, folder);
	if (merged_resolve(&tree, path, true, &at, &missing, e) < 0) {
		merged_done(&tree);
		return -1;
	}
	AUTO_CLOSE int fd = -1;
	if (S_ISREG(at.st.st_mode) && !*missing) {
		fd = merged_open(&tree, &at, e);
		struct part p = { .c = c, .archive = fd, .layers = layers };
		rc = fd < 0 || refuse_bzip2(fd, path, e) < 0 ?
			     -1 :
			     begins_as_tar(&p, &is_tar, e);
	}
	merged_at_done(&at);
	merged_done(&tree);
	if (rc == 0 && is_tar && lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "read /%.300s", path);
	*ret = rc == 0 && is_tar ? fd_take(&fd) : -1;
	return rc;
}

/* Writes the sources of an ADD, each path by itself, since archives are unpacked and
 * other files are not. */
static int write_added(const struct copying *c, int layers, struct blob *to,
		       struct outcome *total, struct err *e)
{
	struct list paths = { 0 };
	struct merged tree;
	struct part all = { .c = c, .words = c->words, .has_patterns = true };
	int folder = fcntl(c->context, F_DUPFD_CLOEXEC, 0);

	if (folder < 0)
		return err_sys(e, "open the context");
	merged_open_folder(&tree, folder);
	const struct sources s = sources_of(&all, &tree);
	int rc = sources_paths(&s, &paths, e);
	merged_done(&tree);
	for (size_t i = 0; i < paths.count && rc == 0; i++) {
		struct copying one = *c;
		const struct list word = { .items = &paths.items[i], .count = 1 };
		AUTO_CLOSE int archive = -1;
		AUTO_FREE char *folder_to = text_format("%s/", c->copy_layer.to);
		rc = open_archive(c, paths.items[i], layers, &archive, e);
		struct part p = {
			.c = &one, .words = &word, .archive = archive, .layers = layers
		};
		if (archive >= 0) {
			one.copy_layer.to = folder_to;
			one.copy_layer.keeps_ids = true;
		}
		rc = rc < 0 ? -1 : pipe_part(&p, to, total, e);
	}
	list_done(&paths);
	return rc;
}

int copying_write(const struct copying *c, struct blob *to, struct outcome *total,
		  struct err *e)
{
	AUTO_CLOSE int layers = store_folder(c->s, STORE_LAYERS, e);
	int rc = layers < 0 ? -1 : 0;
	struct part tree = { .c = c,
			     .words = c->words,
			     .has_patterns = true,
			     .archive = -1,
			     .layers = layers };

	*total = (struct outcome){ 0 };
	if (rc == 0 && c->unpacks && c->words->count > 0)
		rc = write_added(c, layers, to, total, e);
	else if (rc == 0 && (c->words->count > 0 || c->heredoc_count == 0))
		rc = pipe_part(&tree, to, total, e);
	for (size_t i = 0; i < c->heredoc_count && rc == 0; i++) {
		struct part p = { .c = c,
				  .heredoc = &c->heredocs[i],
				  .archive = -1,
				  .layers = layers };
		rc = pipe_part(&p, to, total, e);
	}
	return rc < 0 ? -1 : copying_end(to, e);
}

/* --- digests -------------------------------------------------------------------- */

static int hash_pipe(int from, struct hash *to, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	ssize_t len;

	while ((len = io_read_full(from, piece, PIECE)) > 0)
		hash_add(to, piece, (size_t)len);
	return len < 0 ? err_sys(e, "read the files to be copied") : 0;
}

static int hash_part(struct part *p, struct hash *to, struct err *e)
{
	struct ends pipe = { -1, -1 };
	struct outcome outcome;
	struct worker worker;

	if (make_pipe(&pipe, e) < 0)
		return -1;
	p->out = pipe.to;
	int rc = start_part(p, &worker, e);
	own_close(&pipe.to);
	if (rc == 0)
		rc = hash_pipe(pipe.from, to, e);
	ends_done(&pipe);
	if (rc == 0) {
		outcome_wait(&worker, &outcome);
		if (outcome.error.kind != ERR_NONE) {
			*e = outcome.error;
			rc = -1;
		}
	}
	worker_end(&worker);
	return rc;
}

int copying_digest(const struct copying *c, struct hash *to, struct err *e)
{
	AUTO_CLOSE int layers = store_folder(c->s, STORE_LAYERS, e);
	struct part tree = { .c = c,
			     .words = c->words,
			     .has_patterns = true,
			     .archive = -1,
			     .has_no_times = true,
			     .layers = layers };
	int rc = layers < 0 ? -1 : 0;

	if (rc == 0 && c->words->count > 0)
		rc = hash_part(&tree, to, e);
	for (size_t i = 0; i < c->heredoc_count && rc == 0; i++) {
		struct part p = { .c = c,
				  .heredoc = &c->heredocs[i],
				  .archive = -1,
				  .has_no_times = true,
				  .layers = layers };
		rc = hash_part(&p, to, e);
	}
	return rc;
}
