#include "executor/edit/undo.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

struct step {
	uint8_t *bytes; /* owned */
	size_t len;
	const struct encoding *encoding; /* static: an encoding is never freed */
	uint64_t number; /* the step's number; all files' steps are numbered together, by
			  * age */
};

struct undo_file {
	char *path; /* owned */
	struct step *steps; /* owned, as is each step's content; the oldest first; at
			     * least one */
	size_t count, bytes;
};

static struct undo_file *find(const struct undo *h, const char *path)
{
	for (size_t i = 0; i < h->count; i++)
		if (!strcmp(h->files[i].path, path))
			return &h->files[i];
	return NULL;
}

/* Removes a file that has no steps left. */
static void remove_file(struct undo *h, struct undo_file *f)
{
	free(f->path);
	free(f->steps);
	*f = h->files[--h->count];
	if (h->count > 0)
		return;
	free(h->files);
	h->files = NULL;
}

static void drop_step(struct undo *h, struct undo_file *f, size_t i)
{
	h->bytes -= f->steps[i].len;
	f->bytes -= f->steps[i].len;
	free(f->steps[i].bytes);
	f->count--;
	memmove(f->steps + i, f->steps + i + 1, (f->count - i) * sizeof(*f->steps));
	if (f->count == 0)
		remove_file(h, f);
}

void undo_done(struct undo *h)
{
	while (h->count > 0)
		drop_step(h, h->files, h->files->count - 1);
	*h = (struct undo){ 0 };
}

static struct undo_file *oldest(struct undo *h)
{
	struct undo_file *f = h->files;

	for (size_t i = 1; i < h->count; i++)
		if (h->files[i].steps->number < f->steps->number)
			f = &h->files[i];
	return f;
}

static struct undo_file *add_file(struct undo *h, const char *path)
{
	h->files = mem_resize(h->files, h->count + 1, sizeof(*h->files));
	struct undo_file *f = &h->files[h->count++];
	*f = (struct undo_file){ .path = text_copy(path) };
	return f;
}

static void make_room(struct undo *h, const char *path, size_t len)
{
	struct undo_file *f;

	while ((f = find(h, path)) && (f->count >= UNDO_STEPS ||
				       f->bytes + len > UNDO_FILE_BYTES))
		drop_step(h, f, 0);
	while (h->bytes + len > UNDO_BYTES)
		drop_step(h, oldest(h), 0);
	while (h->count >= UNDO_FILES && !find(h, path))
		drop_step(h, oldest(h), 0);
}

void undo_add(struct undo *h, const char *path, struct bytes old,
		 const struct encoding *encoding)
{
	if (old.len > UNDO_FILE_BYTES) {
		undo_forget(h, path); /* the new step is too large to be kept; with the
				       * older steps alone, undo would skip this edit */
		return;
	}
	make_room(h, path, old.len);
	struct undo_file *f = find(h, path);
	if (!f)
		f = add_file(h, path);
	f->steps = mem_resize(f->steps, f->count + 1, sizeof(*f->steps));
	f->steps[f->count++] = (struct step){ mem_copy(old.data, old.len), old.len,
					      encoding, h->added++ };
	f->bytes += old.len;
	h->bytes += old.len;
}

bool undo_last(const struct undo *h, const char *path, struct bytes *ret)
{
	const struct undo_file *f = find(h, path);

	if (!f)
		return false;
	*ret = (struct bytes){ f->steps[f->count - 1].bytes, f->steps[f->count - 1].len };
	return true;
}

const struct encoding *undo_encoding(const struct undo *h, const char *path)
{
	const struct undo_file *f = find(h, path);

	return f ? f->steps[f->count - 1].encoding : NULL;
}

void undo_drop_last(struct undo *h, const char *path)
{
	struct undo_file *f = find(h, path);

	if (f)
		drop_step(h, f, f->count - 1);
}

void undo_forget(struct undo *h, const char *path)
{
	while (find(h, path))
		undo_drop_last(h, path);
}
