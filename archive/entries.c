#include "archive/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"

#define ROOM	  (256u << 10)
#define DRAIN_MAX (64u << 20)

void entries_init(struct entries *t, int in)
{
	*t = (struct entries){ .in = in, .bytes = mem_new(ROOM) };
}

static void forget_extra(struct entries *t)
{
	while (t->extra_count > 0)
		own_free(&t->extra[--t->extra_count]);
	t->extra_len = 0;
	t->pax = (struct tar_pax){ 0 };
}

void entries_done(struct entries *t)
{
	forget_extra(t);
	own_free(&t->bytes);
}

/* Reads once from `in` into the buffer, which must be empty.  Returns 0 at the end of
 * `in`. */
static ssize_t refill(struct entries *t, struct err *e)
{
	ssize_t n;

	do
		n = read(t->in, t->bytes, ROOM);
	while (n < 0 && errno == EINTR);
	t->start = 0;
	t->end = n > 0 ? (size_t)n : 0;
	t->came += t->end;
	return n < 0 ? err_sys(e, "read the tar") : n;
}

/* Gives at most `most` of the buffered bytes, reading more if the buffer is empty.
 * Returns how many, or 0 at the end of `in`. */
static ssize_t some(struct entries *t, uint64_t most, const uint8_t **ret,
		    struct err *e)
{
	if (t->start == t->end) {
		ssize_t n = refill(t, e);
		if (n <= 0)
			return n;
	}
	size_t len = t->end - t->start;
	if (len > most)
		len = (size_t)most;
	*ret = t->bytes + t->start;
	t->start += len;
	return (ssize_t)len;
}

static int is_cut(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the tar stops before its end");
}

static int skip(struct entries *t, uint64_t len, struct err *e)
{
	const uint8_t *data;

	while (len > 0) {
		ssize_t n = some(t, len, &data, e);
		if (n <= 0)
			return n < 0 ? -1 : is_cut(e);
		len -= (uint64_t)n;
	}
	return 0;
}

static int take(struct entries *t, void *to, size_t len, struct err *e)
{
	const uint8_t *data;
	size_t got = 0;

	while (got < len) {
		ssize_t n = some(t, len - got, &data, e);
		if (n <= 0)
			return n < 0 ? -1 : is_cut(e);
		memcpy((char *)to + got, data, (size_t)n);
		got += (size_t)n;
	}
	return 0;
}

/* Reads the `len` bytes that follow an extension header, and puts a 0 after them. */
static int take_extra(struct entries *t, size_t len, char **ret, struct err *e)
{
	char *extra = mem_new(len + 1);

	t->extra[t->extra_count++] = extra;
	t->extra_len += len;
	extra[len] = '\0';
	*ret = extra;
	return take(t, extra, len, e);
}

/* Reads an extension header, which is in t->now, and the data after that header: both
 * describe the next entry. */
static int read_extra(struct entries *t, struct err *e)
{
	uint64_t size = t->now.size;
	enum tar_type type = t->now.type;
	char *text;

	if (t->extra_count == ENTRIES_EXTRA_MAX || size > TAR_HEADER_MAX - t->extra_len)
		return err_set(e, ERR_LIMIT, "a header in the tar is too long");
	t->extra_bytes += tar_padded(size);
	if (take_extra(t, (size_t)size, &text, e) < 0 ||
	    skip(t, tar_padded(size) - size, e) < 0)
		return -1;
	if (type == TAR_PAX)
		return tar_pax_decode(text, (size_t)size, &t->pax, e);
	if (type == TAR_LONG_NAME)
		t->pax.path = text;
	if (type == TAR_LONG_LINK)
		t->pax.link = text;
	return 0;
}

static bool is_extra(enum tar_type type)
{
	return type == TAR_LABEL || type == TAR_PAX || type == TAR_PAX_ALL ||
	       type == TAR_LONG_NAME || type == TAR_LONG_LINK;
}

/* Returns whether the entry is a folder by its name: old tars have no type flag for
 * folders, but a slash at the end of the name. */
static bool is_folder_by_name(const struct tar_entry *entry)
{
	size_t len = strlen(entry->path);

	return entry->type == TAR_FILE && len > 0 && entry->path[len - 1] == '/';
}

static int start_entry(struct entries *t, struct err *e)
{
	tar_pax_apply(&t->pax, &t->now);
	if (t->now.type == TAR_UNREADABLE)
		return err_set(e, ERR_UNSUPPORTED,
			       "%.300s is in the tar in a form of GNU tar's that cannot "
			       "be read (type '%c'); tar without --sparse, "
			       "--multi-volume and --incremental writes another one",
			       t->now.path, t->now.flag);
	if (is_folder_by_name(&t->now))
		t->now.type = TAR_FOLDER;
	t->left = t->now.size;
	t->pad = tar_padded(t->left) - t->left;
	return 1;
}

/* Returns 1 if more bytes follow where a header is expected.  Returns 0 if `in` has
 * ended there, and t->may_just_end permits that. */
static int is_more(struct entries *t, struct err *e)
{
	if (!t->may_just_end || t->start < t->end || t->extra_count > 0)
		return 1;
	ssize_t n = refill(t, e);
	return n > 0 ? 1 : (int)n;
}

/* Skips the padding after an entry's content.  If t->may_just_end, the tar's last entry
 * may lack its padding: umoci insert writes such tars. */
static int skip_pad(struct entries *t, struct err *e)
{
	const uint8_t *data;

	while (t->pad > 0) {
		ssize_t n = some(t, t->pad, &data, e);
		if (n < 0)
			return -1;
		if (n == 0)
			return t->may_just_end ? 0 : is_cut(e);
		t->pad -= (uint64_t)n;
	}
	return 0;
}

int entries_next(struct entries *t, struct err *e)
{
	uint8_t block[TAR_BLOCK];
	int more;

	if (skip(t, t->left, e) < 0 || skip_pad(t, e) < 0)
		return -1;
	t->left = t->pad = 0;
	forget_extra(t);
	while ((more = is_more(t, e)) > 0) {
		if (take(t, block, sizeof(block), e) < 0)
			return -1;
		if (tar_is_end(block))
			return 0;
		if (tar_decode(block, &t->now, &t->text, e) < 0)
			return -1;
		if (!is_extra(t->now.type))
			return start_entry(t, e);
		if (read_extra(t, e) < 0)
			return -1;
	}
	return more;
}

ssize_t entries_read(struct entries *t, const uint8_t **ret, struct err *e)
{
	if (t->left == 0)
		return 0;
	ssize_t n = some(t, t->left, ret, e);
	if (n <= 0)
		return n < 0 ? -1 : is_cut(e);
	t->left -= (uint64_t)n;
	return n;
}

uint64_t entries_offset(const struct entries *t)
{
	return t->came - (t->end - t->start);
}

void entries_drain(struct entries *t)
{
	uint64_t left = DRAIN_MAX;

	for (ssize_t n = 1; n > 0 && left > (uint64_t)n; left -= (uint64_t)n)
		n = refill(t, NULL);
}
