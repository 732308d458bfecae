/* progress -- shows a person the progress of a pull, on stderr.
 *
 * On a terminal it is one line, redrawn at most ten times a second and only
 * after news, as wide as the terminal is at that moment; elsewhere it is a line
 * for each layer.
 *
 * `now` is in ms of clock.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum progress_style { PROGRESS_NONE, PROGRESS_LINES, PROGRESS_BAR };

struct progress {
	enum progress_style style;
	const char *name;     /* borrowed; the image's name */
	size_t count, done;   /* count of layers, and of those that are done */
	uint64_t total, have; /* bytes of all layers' blobs, and how many of them are
			       * in the store */
	uint64_t *at;	      /* owned; for each layer, its bytes in the store */
	int64_t began_ms, drawn_ms;
	bool is_drawn; /* the progress line is on the terminal now */
};

/* Chooses a style: PROGRESS_NONE if `is_quiet` is set or notes are off (base/note.h);
 * PROGRESS_BAR if `may_bar` is set and stderr is a terminal that can redraw a line. */
enum progress_style progress_style(bool is_quiet, bool may_bar);

/* Begins to show a pull.  `at[i]` bytes of layer i are in the store already; `total`
 * is the size of all layers. */
void progress_begin(struct progress *p, const char *name, size_t count, uint64_t total,
		    int64_t now);
void progress_end(struct progress *p); /* erases the line from the terminal */

void progress_at(struct progress *p, size_t layer, uint64_t at, int64_t now);
void progress_fetched(struct progress *p, size_t layer, uint64_t size, int64_t now);
void progress_unpacked(struct progress *p, size_t layer, int64_t now);

/* Returns the line for a terminal of that many columns, allocated. */
char *progress_line(const struct progress *p, size_t columns, int64_t now);

/* Writes a number of bytes for people, such as "45.2 MB". */
void progress_bytes(uint64_t bytes, char ret[16]);
