/* progress -- what a pull has come to, for a person, on stderr.
 *
 * On a terminal one line that is drawn anew, at most ten times a second and only when
 * there is news, as wide as the terminal is at that moment; elsewhere a line for each layer.
 *
 * `now` is in ms of clock.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum progress_style { PROGRESS_NONE, PROGRESS_LINES, PROGRESS_BAR };

struct progress {
	enum progress_style style;
	const char *name;     /* borrowed; what is pulled */
	size_t count, done;   /* layers */
	uint64_t total, have; /* bytes of their blobs */
	uint64_t *at;	      /* owned; of each layer */
	int64_t began_ms, drawn_ms;
	bool is_drawn; /* the line is not empty */
};

/* A bar where stderr is a terminal that can draw one and `may_bar`. */
enum progress_style progress_style(bool is_quiet, bool may_bar);

/* `at[i]` bytes of layer i are there already; in all there are `total`. */
void progress_begin(struct progress *p, const char *name, size_t count, uint64_t total,
		    int64_t now);
void progress_end(struct progress *p); /* takes the line away */

void progress_at(struct progress *p, size_t layer, uint64_t at, int64_t now);
void progress_fetched(struct progress *p, size_t layer, uint64_t size, int64_t now);
void progress_unpacked(struct progress *p, size_t layer, int64_t now);

/* The line for a terminal of that many columns, allocated. */
char *progress_line(const struct progress *p, size_t columns, int64_t now);

/* "45.2 MB" */
void progress_bytes(uint64_t bytes, char ret[16]);
