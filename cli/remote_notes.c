#include "cli/remote_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"

#define STEP 4096
/* how many times read(2) is called after the copy has ended; a bound, since the
 * inside may write without end */
#define STEPS_AT_END 64

void remote_notes_init(struct remote_notes *h)
{
	*h = (struct remote_notes){ .fd = -1 };
}

int remote_notes_open(struct remote_notes *h, const char *sandbox, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	h->fd = ends[0];
	h->sandbox = sandbox;
	(void)fcntl(h->fd, F_SETFL, O_NONBLOCK); /* F_SETFL cannot fail: the arguments are
						  * valid */
	return ends[1];
}

static void tell(struct remote_notes *h)
{
	if (!h->last)
		return;
	if (++h->count <= REMOTE_NOTES_TOLD_MAX) {
		AUTO_FREE char *shown = term_escape_line(h->last);
		note_print("note: sandbox '%s': %s", h->sandbox, shown);
	}
	own_free(&h->last);
}

static void take_line(struct remote_notes *h)
{
	tell(h);
	h->line[h->len] = '\0';
	h->last = text_copy(h->line);
	h->len = 0;
}

/* Reads messages once, without waiting.  Returns the number of bytes, or 0 if none
 * are there now or the stream has ended. */
static size_t listen_once(struct remote_notes *h)
{
	char bytes[STEP];
	ssize_t n = h->fd < 0 ? -1 : read(h->fd, bytes, sizeof(bytes));

	if (n == 0)
		own_close(&h->fd);
	for (ssize_t i = 0; i < n; i++)
		if (bytes[i] == '\n')
			take_line(h);
		else if (h->len < REMOTE_NOTES_LINE_MAX)
			h->line[h->len++] = bytes[i];
	return n > 0 ? (size_t)n : 0;
}

void remote_notes_listen(struct remote_notes *h)
{
	(void)listen_once(h);
}

void remote_notes_end(struct remote_notes *h, bool has_failed)
{
	for (int i = 0; i < STEPS_AT_END && listen_once(h) > 0; i++) {
		/* reads again, since more messages may be there */
	}
	if (!has_failed)
		tell(h);
	if (h->count > REMOTE_NOTES_TOLD_MAX)
		note_print("note: sandbox '%s': %llu more", h->sandbox,
			   (unsigned long long)(h->count - REMOTE_NOTES_TOLD_MAX));
}

char *remote_notes_last(const struct remote_notes *h)
{
	return h->last && *h->last ? text_copy(h->last) : NULL;
}

void remote_notes_done(struct remote_notes *h)
{
	own_close(&h->fd);
	own_free(&h->last);
}
