#include "executor/edit/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

struct step {
	uint8_t *bytes; /* owned */
	size_t len;
	const struct encoding *encoding; /* static */
	uint64_t number; /* in the order of all steps */
};

struct history_file {
	char *path; /* owned */
	struct step *steps; /* owned, each owned; the oldest first; at least one */
	size_t count, bytes;
};

static struct history_file *find(const struct history *h, const char *path)
{
	for (size_t i = 0; i < h->count; i++)
		if (!strcmp(h->files[i].path, path))
			return &h->files[i];
	return NULL;
}

/* Removes a file that has no steps left. */
static void remove_file(struct history *h, struct history_file *f)
{
	free(f->path);
	free(f->steps);
	*f = h->files[--h->count];
	if (h->count > 0)
		return;
	free(h->files);
	h->files = NULL;
}

static void drop_step(struct history *h, struct history_file *f, size_t i)
{
	h->bytes -= f->steps[i].len;
	f->bytes -= f->steps[i].len;
	free(f->steps[i].bytes);
	f->count--;
	memmove(f->steps + i, f->steps + i + 1, (f->count - i) * sizeof(*f->steps));
	if (f->count == 0)
		remove_file(h, f);
}

void history_done(struct history *h)
{
	while (h->count > 0)
		drop_step(h, h->files, h->files->count - 1);
	*h = (struct history){ 0 };
}

static struct history_file *oldest(struct history *h)
{
	struct history_file *f = h->files;

	for (size_t i = 1; i < h->count; i++)
		if (h->files[i].steps->number < f->steps->number)
			f = &h->files[i];
	return f;
}

static struct history_file *add_file(struct history *h, const char *path)
{
	h->files = mem_resize(h->files, h->count + 1, sizeof(*h->files));
	struct history_file *f = &h->files[h->count++];
	*f = (struct history_file){ .path = text_copy(path) };
	return f;
}

static void make_room(struct history *h, const char *path, size_t len)
{
	struct history_file *f;

	while ((f = find(h, path)) && (f->count >= HISTORY_STEPS ||
				       f->bytes + len > HISTORY_FILE_BYTES))
		drop_step(h, f, 0);
	while (h->bytes + len > HISTORY_BYTES)
		drop_step(h, oldest(h), 0);
	while (h->count >= HISTORY_FILES && !find(h, path))
		drop_step(h, oldest(h), 0);
}

void history_add(struct history *h, const char *path, struct bytes old,
		 const struct encoding *encoding)
{
	if (old.len > HISTORY_FILE_BYTES) {
		history_forget(h, path); /* undo would restore an older content than the
					  * last */
		return;
	}
	make_room(h, path, old.len);
	struct history_file *f = find(h, path);
	if (!f)
		f = add_file(h, path);
	f->steps = mem_resize(f->steps, f->count + 1, sizeof(*f->steps));
	f->steps[f->count++] = (struct step){ mem_copy(old.data, old.len), old.len,
					      encoding, h->added++ };
	f->bytes += old.len;
	h->bytes += old.len;
}

bool history_last(const struct history *h, const char *path, struct bytes *ret)
{
	const struct history_file *f = find(h, path);

	if (!f)
		return false;
	*ret = (struct bytes){ f->steps[f->count - 1].bytes, f->steps[f->count - 1].len };
	return true;
}

const struct encoding *history_encoding(const struct history *h, const char *path)
{
	const struct history_file *f = find(h, path);

	return f ? f->steps[f->count - 1].encoding : NULL;
}

void history_drop_last(struct history *h, const char *path)
{
	struct history_file *f = find(h, path);

	if (f)
		drop_step(h, f, f->count - 1);
}

void history_forget(struct history *h, const char *path)
{
	while (find(h, path))
		history_drop_last(h, path);
}
