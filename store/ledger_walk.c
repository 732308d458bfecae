#include "store/ledger_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "store/ledger.h"
#include "store/lock.h"

#define READ_AT_ONCE (64u << 10)

/* Opens the file log.N of the ledger.  Returns -1 with errno set. */
static int open_number(const struct ledger_walk *w, unsigned number)
{
	char name[LEDGER_NAME_MAX];

	ledger_name(number, name);
	return openat(w->folder, name,
		      O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

/* Records the range of files and the size of the last one; entries that are added
 * later are not read. */
static int look(struct ledger_walk *w, struct err *e)
{
	unsigned first;
	struct stat st;

	if (ledger_range(w->folder, &first, &w->last, e) < 0)
		return -1;
	if (!w->last)
		return err_set(e, ERR_NOT_FOUND, "there is no audit log in it");
	AUTO_CLOSE int newest = open_number(w, w->last);
	if (newest < 0 || fstat(newest, &st) < 0)
		return err_sys(e, "open log.%u", w->last);
	w->last_size = (uint64_t)st.st_size;
	w->number = first - 1;
	return 0;
}

int ledger_walk_open(struct ledger_walk *w, const char *path, struct err *e)
{
	*w = (struct ledger_walk){ .file = -1 };
	buffer_init(&w->bytes, LEDGER_ENTRY_MAX + READ_AT_ONCE);
	w->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->folder < 0)
		return err_sys(e, "open %.300s", path);
	if (ledger_lock(w->folder, LOCK_SH, LEDGER_WAIT_MS, e) < 0)
		return -1;
	int result = look(w, e);
	(void)lock_take(w->folder, LOCK_UN);
	return result < 0 ? err_in(e, "%.300s", path) : 0;
}

void ledger_walk_done(struct ledger_walk *w)
{
	buffer_done(&w->bytes);
	own_close(&w->file);
	own_close(&w->folder);
}

/* Opens the next file of the ledger; 0: there is no further file. */
static int next_file(struct ledger_walk *w, struct err *e)
{
	struct stat st;

	own_close(&w->file);
	while (w->file < 0 && w->number < w->last) {
		w->file = open_number(w, ++w->number);
		if (w->file < 0 && errno != ENOENT)
			return err_sys(e, "open log.%u", w->number);
	}
	if (w->file < 0)
		return 0;
	if (fstat(w->file, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_REFUSED, "log.%u is no file", w->number);
	w->left = w->number == w->last ? w->last_size : UINT64_MAX;
	w->line = 0;
	return 1;
}

/* Reads more bytes of the open file; returns false when the file has no more bytes. */
static bool fill(struct ledger_walk *w, ssize_t *ret)
{
	size_t room = w->bytes.max - buffer_len(&w->bytes);
	size_t want = room < READ_AT_ONCE ? room : READ_AT_ONCE;

	want = w->left < want ? (size_t)w->left : want;
	uint8_t *to = buffer_reserve(&w->bytes, want);
	do
		*ret = read(w->file, to, want);
	while (*ret < 0 && errno == EINTR);
	if (*ret <= 0)
		return false;
	buffer_added(&w->bytes, (size_t)*ret);
	w->left -= (uint64_t)*ret;
	return true;
}

/* Returns the length of the first line in the buffer; 0: more bytes must be read. */
static size_t line_len(const struct ledger_walk *w, size_t looked)
{
	const uint8_t *text = buffer_data(&w->bytes);
	size_t len = buffer_len(&w->bytes);
	const uint8_t *newline = len > looked ? memchr(text + looked, '\n', len - looked)
					      : NULL;

	if (newline && newline - text < (ptrdiff_t)LEDGER_ENTRY_MAX)
		return (size_t)(newline - text) + 1;
	return len >= LEDGER_ENTRY_MAX ? LEDGER_ENTRY_MAX : 0;
}

/* Gives the next line of the open file; 0: the file has ended. */
static int next_in_file(struct ledger_walk *w, size_t *ret, struct err *e)
{
	size_t looked = 0;
	ssize_t n = 0;

	while (!(*ret = line_len(w, looked))) {
		looked = buffer_len(&w->bytes);
		if (fill(w, &n))
			continue;
		*ret = looked;
		if (n < 0)
			return err_sys(e, "read log.%u", w->number);
		return looked > 0;
	}
	return 1;
}

int ledger_walk_next(struct ledger_walk *w, struct ledger_line *ret, struct err *e)
{
	int more = 0;

	buffer_consume(&w->bytes, w->taken);
	w->taken = 0;
	while (w->file < 0 || (more = next_in_file(w, &w->taken, e)) == 0) {
		more = next_file(w, e);
		if (more <= 0)
			return more;
	}
	if (more < 0)
		return -1;
	*ret = (struct ledger_line){ .text = (const char *)buffer_data(&w->bytes),
				     .len = w->taken, .file = w->number,
				     .number = ++w->line };
	return 1;
}
