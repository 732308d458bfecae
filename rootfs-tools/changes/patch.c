#include "rootfs-tools/changes/patch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/report.h"
#include "rootfs-tools/changes/changes_walk.h"
#include "rootfs-tools/changes/unified.h"

#define TEXT_MAX   (1u << 20)
#define BINARY_MAX 8000 /* a file with a 0 byte in its first bytes is binary, as in git */

/* The old or the new side of a change. */
struct side {
	char *text; /* owned */
	size_t len;
	bool is_there, is_large;
};

/* Returns a file's name for a patch.  As in git, a name with unusual bytes is put in
 * quotes, and escaped as in C. */
static char *quoted(const char *front, const char *path)
{
	char *text = NULL;
	size_t len;
	bool is_odd = false;

	for (const char *at = path; *at; at++)
		is_odd = is_odd || (unsigned char)*at < ' ' || (unsigned char)*at >= 127 ||
			 *at == '"' || *at == '\\';
	if (!is_odd)
		return text_format("%s%s", front, path);
	FILE *to = mem_or_abort(open_memstream(&text, &len));
	(void)fprintf(to, "\"%s", front);
	for (const char *at = path; *at; at++) {
		unsigned char c = (unsigned char)*at;
		if (c == '"' || c == '\\')
			(void)fprintf(to, "\\%c", c);
		else if (c < ' ' || c >= 127)
			(void)fprintf(to, "\\%03o", c);
		else
			(void)fputc(c, to);
	}
	(void)fputc('"', to);
	mem_or_abort(fclose(to) == 0 ? text : NULL);
	return text;
}

/* --- both sides ---------------------------------------------------------- */

static void take_host(const struct meeting *m, struct side *s)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	char to[PATH_MAX];

	if (!m->exists)
		return;
	s->is_there = S_ISREG(m->host.st_mode) || S_ISLNK(m->host.st_mode);
	if (S_ISLNK(m->host.st_mode)) {
		ssize_t len = readlinkat(m->at, m->name, to, sizeof(to));
		s->len = len < 0 ? 0 : (size_t)len;
		s->text = mem_copy(to, s->len);
		return;
	}
	AUTO_CLOSE int fd = s->is_there ? openat(m->at, m->name, flags) : -1;
	if (fd < 0 || io_read_file(fd, m->name, TEXT_MAX, &s->text, &s->len, NULL) < 0)
		s->is_large = s->is_there;
}

static int take_file(struct changes_stream *t, struct side *s, struct err *e)
{
	struct buffer b;
	const uint8_t *data;
	ssize_t len;

	buffer_init(&b, TEXT_MAX);
	while ((len = changes_stream_read(t, &data, e)) > 0)
		s->is_large = !buffer_append(&b, data, (size_t)len) || s->is_large;
	s->len = buffer_len(&b);
	s->text = mem_copy(buffer_data(&b), s->len);
	buffer_done(&b);
	s->is_large = s->is_large || len < 0;
	return len < 0 && t->is_broken ? -1 : 0;
}

static int take_inside(const struct meeting *m, struct side *s, struct err *e)
{
	if (!m->item || (m->item->kind != CHANGES_STREAM_FILE && m->item->kind != CHANGES_STREAM_LINK))
		return 0;
	s->is_there = true;
	if (m->item->kind == CHANGES_STREAM_FILE) {
		/* The content of a large file is not read: a sandbox can make a hole of
		 * terabytes for free, and reading it takes hours. */
		s->is_large = m->item->size > TEXT_MAX;
		return s->is_large ? 0 : take_file(m->content, s, e);
	}
	s->len = strlen(m->item->link);
	s->text = mem_copy(m->item->link, s->len);
	return 0;
}

/* --- printed ------------------------------------------------------------ */

static bool is_binary(const struct side *s)
{
	size_t looked = s->len < BINARY_MAX ? s->len : BINARY_MAX;

	return s->is_there && looked && memchr(s->text, 0, looked);
}

static unsigned mode_of_host(const struct meeting *m)
{
	return m->host.st_mode & (S_ISLNK(m->host.st_mode) ? S_IFMT : S_IFMT | 0777);
}

static unsigned mode_inside(const struct meeting *m)
{
	return m->item->kind == CHANGES_STREAM_LINK ? S_IFLNK : S_IFREG | (m->item->mode & 0777);
}

static void print_modes(const struct meeting *m, const struct side *old, const struct side *new,
			FILE *to)
{
	if (!old->is_there)
		(void)fprintf(to, "new file mode %06o\n", mode_inside(m));
	else if (!new->is_there)
		(void)fprintf(to, "deleted file mode %06o\n", mode_of_host(m));
	else if (mode_of_host(m) != mode_inside(m))
		(void)fprintf(to, "old mode %06o\nnew mode %06o\n", mode_of_host(m),
			      mode_inside(m));
}

static void print_text(const char *text, size_t len, FILE *to)
{
	struct buffer b;

	if (!isatty(fileno(to))) {
		(void)fwrite(text, 1, len, to);
		return;
	}
	buffer_init(&b, 4 * len + 1);
	term_escape_append(&b, text, len);
	(void)fwrite(buffer_data(&b), 1, buffer_len(&b), to);
	buffer_done(&b);
}

static void print_both(const struct meeting *m, const struct side *old, const struct side *new,
		       FILE *to)
{
	AUTO_FREE char *a = quoted("a/", m->path), *b = quoted("b/", m->path);
	const char *from = old->is_there ? a : "/dev/null";
	const char *till = new->is_there ? b : "/dev/null";

	(void)fprintf(to, "diff --git %s %s\n", a, b);
	print_modes(m, old, new, to);
	if (old->is_large || new->is_large || is_binary(old) || is_binary(new)) {
		(void)fprintf(to, "Binary files %s and %s differ\n", from, till);
		return;
	}
	size_t len;
	AUTO_FREE char *text = unified(old->text, old->len, new->text, new->len, &len);
	if (!len)
		return;
	(void)fprintf(to, "--- %s\n+++ %s\n", from, till);
	print_text(text, len, to);
}

/* Prints a change of a folder or FIFO, whose content is not shown. */
static void print_other(const struct meeting *m, FILE *to)
{
	AUTO_FREE char *path = quoted("", m->path);
	bool is_folder = m->item ? m->item->kind == CHANGES_STREAM_FOLDER : S_ISDIR(m->host.st_mode);
	bool was_folder = m->kind == 'D' && S_ISDIR(m->host.st_mode);
	const char *what = is_folder || was_folder ? "folder" : "file";

	(void)fprintf(to, "# %s %s: %s\n", what, path,
		      m->kind == 'A' ? "new" : m->kind == 'D' ? "removed" : "other");
}

static bool is_the_same(const struct meeting *m, const struct side *old, const struct side *new)
{
	return m->may_be_same && !old->is_large && !new->is_large && old->len == new->len &&
	       !memcmp(old->text, new->text, old->len);
}

int patch_print(const struct meeting *m, FILE *to, struct err *e)
{
	struct side old = { 0 }, new = { 0 };
	bool is_dir = m->exists && S_ISDIR(m->host.st_mode);
	int result = 0;

	if (!is_dir)
		take_host(m, &old);
	result = take_inside(m, &new, e);
	if (result == 0 && (is_dir || (!old.is_there && !new.is_there)))
		print_other(m, to);
	if (result == 0 && (old.is_there || new.is_there) && !is_the_same(m, &old, &new))
		print_both(m, &old, &new, to);
	free(old.text);
	free(new.text);
	if (result == 0 && ferror(to))
		return report_unwritten(e);
	return result;
}
