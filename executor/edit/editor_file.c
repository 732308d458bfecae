#include "executor/edit/editor_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/edit/diff.h"
#include "executor/edit/undo.h"
#include "executor/files/encoding.h"
#include "protocol/action.h"

void editor_file_done(struct file *f)
{
	edit_text_done(&f->text);
	free(f->raw.bytes);
	own_close(&f->fd);
}

/* Opens the file, for writing too if `writes`. A file that cannot be opened for writing
 * is opened for reading only; that error is reported when the edit is written, since
 * other errors come first. */
static struct result open_file(struct job *j, struct file *f, bool writes)
{
	struct result got = files_open(j->path, writes ? O_RDWR : O_RDONLY, &f->fd,
				       &f->st);

	if (!writes || got.outcome != OUTCOME_ERROR || got.sys == EMFILE)
		return got;
	f->write_error = got.sys;
	return files_open(j->path, O_RDONLY, &f->fd, &f->st);
}

/* Judges by its first bytes whether a file that is too large to be read is binary. */
static bool looks_binary(const struct file *f)
{
	uint8_t sample[1024];
	ssize_t n = pread(f->fd, sample, sizeof(sample), 0);
	struct content c = { sample, n > 0 ? (size_t)n : 0 };

	return files_look_binary(&c);
}

static bool fail_binary(struct job *j)
{
	if (j->r->flags & EDIT_IS_READ) {
		j->is_binary = true;
		return false;
	}
	return editor_fail_file(j, "File appears to be binary and this file type "
				"cannot be read or edited by this tool.");
}

static bool fail_large(struct job *j, const struct file *f)
{
	uint64_t size = (uint64_t)f->st.st_size;

	if (j->r->flags & EDIT_IS_READ && looks_binary(f))
		return fail_binary(j);
	return editor_fail_size(j, size > ACTION_FILE_MAX ? size : ACTION_FILE_MAX);
}

static bool load_text(struct job *j, struct file *f)
{
	const struct bytes raw = { f->raw.bytes, f->raw.len };
	const struct encoding *was = undo_encoding(j->undo, j->path), *x;
	size_t bad;

	if (files_look_binary(&f->raw) && !encoding_stays(was, raw))
		return fail_binary(j);
	x = encoding_guess(raw, was);
	if (!edit_text_init(&f->text, raw, x, &bad))
		return EDITOR_FAIL(j, "File validation failed for %s: File is not "
				   "valid %s (position %zu).", j->path,
				   encoding_name(x), bad);
	/* The decoded text of a UTF-16 file has a NUL character: the file is binary,
	 * although it begins with a byte order mark. */
	if (f->text.decoded && memchr(f->text.text.data, '\0', f->text.text.len))
		return fail_binary(j);
	return true;
}

bool editor_load(struct job *j, struct file *f, bool writes)
{
	*f = (struct file){ .fd = -1 };
	struct result got = open_file(j, f, writes);
	if (got.outcome == OUTCOME_DONE)
		got = files_read_whole(f->fd, f->st.st_size, &f->raw);
	if (got.outcome == OUTCOME_TOO_LARGE)
		return fail_large(j, f);
	if (got.outcome != OUTCOME_DONE)
		return editor_fail_result(j, got, "read");
	return load_text(j, f);
}

/* Returns whether the path still leads to the same file, and no process has written to
 * the file or changed its mode since it was opened. The change time (ctime) shows that,
 * since no process can set it. */
static bool is_unchanged(const struct job *j, const struct file *f)
{
	struct stat now;

	return files_stat(j->path, &now) == 0 && now.st_dev == f->st.st_dev &&
	       now.st_ino == f->st.st_ino && now.st_size == f->st.st_size &&
	       now.st_ctim.tv_sec == f->st.st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == f->st.st_ctim.tv_nsec;
}

static bool put(struct job *j, const struct file *f, const struct buffer *made)
{
	const struct content c = { made->bytes + made->start, buffer_len(made) };
	struct result got;

	if (c.len > ACTION_FILE_MAX)
		return editor_fail_size(j, c.len);
	if (f->write_error)
		return editor_fail_sys(j, f->write_error, "write to");
	if (!is_unchanged(j, f))
		return EDITOR_FAIL(j, "Ran into a change of the file by another "
				   "process while trying to write to %s. View it and "
				   "edit it again.", j->path);
	got = files_put(f->fd, &f->st, &c);
	return got.outcome == OUTCOME_DONE || editor_fail_sys(j, got.sys, "write to");
}

bool editor_store(struct job *j, const struct file *f, const struct made *m,
		  struct edit_text *ret_text)
{
	const struct bytes bytes = { buffer_data(&m->bytes), buffer_len(&m->bytes) };
	size_t bad;

	if (!put(j, f, &m->bytes))
		return false;
	/* Both the old content and the new text are valid in this encoding, so this
	 * error is not expected. */
	if (!edit_text_init(ret_text, bytes, m->encoding, &bad))
		return EDITOR_FAIL(j, "Ran into a text that is not %s, which was "
				   "written to %s", encoding_name(m->encoding), j->path);
	diff_put(&j->diff, j->r->path, f->text.lines, ret_text->lines);
	return true;
}
