#include "executor/session/output_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define PAGE 4096u
/* A folder on a smaller file system is not used for logs. */
#define LEAST (1u << 20)
#define FILES_MAX 1000

/* --- the folder ------------------------------------------------------------ */

void output_logs_init_sized(struct output_logs *t, int folder, uint64_t max)
{
	*t = (struct output_logs){ .folder = folder, .max = max };
}

void output_logs_init(struct output_logs *t, int folder)
{
	struct statfs fs = { 0 };

	if (folder >= 0)
		(void)fstatfs(folder, &fs); /* cannot fail: the descriptor is valid */
	output_logs_init_sized(t, folder, (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize);
}

void output_logs_done(struct output_logs *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->files[i].name);
	free(t->files);
	own_close(&t->folder);
	*t = (struct output_logs){ .folder = -1 };
}

bool output_logs_is_seen(int folder)
{
	struct stat ours, theirs;

	return fstat(folder, &ours) == 0 && stat(OUTPUT_LOG_FOLDER, &theirs) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static struct output_log_file *file_of(const struct output_logs *t,
				       const struct output_log *by)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->files[i].by == by)
			return &t->files[i];
	return NULL;
}

static void remove_file(struct output_logs *t, struct output_log_file *f)
{
	if (f->by)
		own_close(&f->by->fd);
	(void)unlinkat(t->folder, f->name, 0); /* cannot fail: no process but the executor
					        * can change the folder */
	t->used -= f->size;
	free(f->name);
	t->count--;
	memmove(f, f + 1, (size_t)(t->files + t->count - f) * sizeof(*f));
}

/* Returns the file to remove when the folder is full: the oldest one into which no log
 * records any more, or else the oldest one but that of the log `by`. */
static struct output_log_file *oldest(const struct output_logs *t,
				      const struct output_log *by)
{
	struct output_log_file *found = NULL;

	for (size_t i = 0; i < t->count; i++) {
		if (!t->files[i].by)
			return &t->files[i];
		if (!found && t->files[i].by != by)
			found = &t->files[i];
	}
	return found;
}

static bool make_room(struct output_logs *t, const struct output_log *by, uint64_t more)
{
	struct output_log_file *f;

	while ((t->used + more > t->max || t->count > FILES_MAX) && (f = oldest(t, by)))
		remove_file(t, f);
	return t->used + more <= t->max;
}

/* --- one command's --------------------------------------------------------- */

static bool is_label(const char *text)
{
	return text && *text && *text != '.' && strlen(text) <= OUTPUT_LOG_LABEL_MAX &&
	       !strchr(text, '/');
}

void output_log_init(struct output_log *t, struct output_logs *output_logs,
		     const char *label)
{
	bool has_folder = output_logs && output_logs->folder >= 0 &&
			  output_logs->max >= LEAST && is_label(label);

	*t = (struct output_log){ .output_logs = has_folder ? output_logs : NULL,
				  .label = label,
				  .fd = -1 };
	buffer_init(&t->held, OUTPUT_LOG_HELD);
}

/* Returns the largest size of one file.  The second half of a file of that size is used
 * as a ring buffer. */
static uint64_t most(const struct output_log *t)
{
	return t->output_logs->max / 4 / (2 * PAGE) * (2 * PAGE);
}

static uint64_t ring(const struct output_log *t)
{
	return most(t) / 2;
}

/* Returns the file offset for the next byte of output.  Sets *ret_room to the number of
 * bytes that fit there before the end of the ring. */
static uint64_t place(const struct output_log *t, uint64_t *ret_room)
{
	uint64_t at = t->len;

	if (at >= most(t))
		at = ring(t) + (t->len - t->turned) % ring(t);
	*ret_room = most(t) - at;
	return at;
}

static uint64_t in_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void lose(struct output_log *t)
{
	struct output_log_file *f = file_of(t->output_logs, t);

	if (f)
		remove_file(t->output_logs, f);
}

static bool write_at(struct output_log *t, const uint8_t *data, size_t len, uint64_t at)
{
	struct output_log_file *f = file_of(t->output_logs, t);
	uint64_t size = in_pages(at + len),
		 more = f && size > f->size ? size - f->size : 0;

	if (!f || (more && !make_room(t->output_logs, t, more)))
		return false;
	if (more) {
		f = file_of(t->output_logs, t); /* looked up again, since make_room() may
						 * have moved the list of files */
		f->size += more;
		t->output_logs->used += more;
	}
	return pwrite(t->fd, data, len, (off_t)at) == (ssize_t)len;
}

static void record(struct output_log *t, const uint8_t *data, size_t len)
{
	while (len > 0 && t->fd >= 0) {
		uint64_t room, at = place(t, &room);
		size_t n = len < room ? len : (size_t)room;
		if (!write_at(t, data, n, at))
			lose(t);
		t->len += n;
		data += n;
		len -= n;
	}
	t->len += len; /* the file is gone: these bytes are counted, but not recorded */
}

static void add_file(struct output_logs *t, char *name, struct output_log *by)
{
	t->files = mem_resize(t->files, t->count + 1, sizeof(*t->files));
	t->files[t->count++] = (struct output_log_file){ .name = name, .by = by };
	(void)make_room(t, by, 0);
}

/* Makes the log's file, and writes the output to it that was held in memory. */
static void begin(struct output_log *t)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct buffer held = t->held;
	char *name = text_format("%s-%u", t->label, ++t->output_logs->last);

	t->number = t->output_logs->last;
	t->turned = ring(t); /* the ring begins at this offset of the file */
	t->held = (struct buffer){ 0 };
	t->fd = openat(t->output_logs->folder, name, flags, 0644);
	t->len = 0;
	if (t->fd >= 0)
		add_file(t->output_logs, name, t);
	else
		free(name);
	record(t, buffer_data(&held), buffer_len(&held));
	buffer_done(&held);
}

void output_log_write(struct output_log *t, const void *data, size_t len)
{
	if (!t->output_logs || len == 0)
		return;
	if (!t->number && buffer_append(&t->held, data, len)) {
		t->len += len;
		return;
	}
	if (!t->number)
		begin(t);
	record(t, data, len);
}

/* --- in order -------------------------------------------------------------- */

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t kept[PAGE];

	for (size_t n; len > 0; a += n, b += n, len -= n) {
		n = len < sizeof(kept) ? len : sizeof(kept);
		memcpy(kept, a, n);
		memcpy(a, b, n);
		memcpy(b, kept, n);
	}
}

/* Moves the first `k` of `n` bytes behind the others, in place (Gries and Mills, Swapping
 * Sections, 1981). */
static void rotate(uint8_t *at, size_t n, size_t k)
{
	while (k > 0 && k < n) {
		size_t less = k < n - k ? k : n - k;
		swap(at, at + k, less);
		k = less == k ? k : k - less;
		at += less;
		n -= less;
	}
}

/* Rotates the ring so that it begins with its oldest byte, and a reader finds the output
 * in order.  Only the executor can truncate the file, so all pages of the mapping exist
 * and no access raises SIGBUS. */
static void put_in_order(struct output_log *t)
{
	size_t len = (size_t)ring(t), begin = (size_t)((t->len - t->turned) % ring(t));

	if (begin == 0)
		return;
	uint8_t *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   t->fd, (off_t)ring(t));
	if (at == MAP_FAILED)
		return; /* without the mapping the ring stays as it is: all its bytes are
			 * in the file, the oldest behind the newest */
	rotate(at, len, begin);
	(void)munmap(at, len); /* cannot fail: the mapping is our own */
	t->turned = t->len;
}

struct output_log_mark output_log_tell(struct output_log *t, bool is_wanted)
{
	if (t->output_logs && !t->number && is_wanted && t->len > 0)
		begin(t);
	if (!t->output_logs || !t->number)
		return (struct output_log_mark){ 0 };
	if (t->fd < 0)
		return (struct output_log_mark){ .missing = t->len };
	if (t->len <= most(t))
		return (struct output_log_mark){ .number = t->number };
	put_in_order(t);
	return (struct output_log_mark){ t->number, t->len - most(t) };
}

void output_log_end(struct output_log *t)
{
	struct output_log_file *f = t->output_logs ? file_of(t->output_logs, t) : NULL;

	if (f)
		f->by = NULL;
	own_close(&t->fd);
	buffer_done(&t->held);
	output_log_init(t, t->output_logs, t->label);
}
