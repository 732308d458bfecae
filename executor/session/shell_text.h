/* shell_text -- the text of a shell's command, in a memfd that only the executor can
 * write.
 *
 * Commands have the user of the shell, and can open its descriptors by /proc/PID/fd.  If
 * they could write to the memfd, bash could run another text than the one that was
 * checked.  So the memfd is sealed with F_SEAL_FUTURE_WRITE (memfd_create(2), fcntl(2);
 * kernel 5.1): write(2) and new mappings for writing fail for every process, and the
 * executor writes through a mapping that it made before.
 *
 * The memory of a sealed memfd cannot be freed before it is closed: after a large text up
 * to SHELL_TEXT_MAX bytes stay in use. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "protocol/action.h"

/* The size of the memfd: a command's text, a prefix of the executor's and a 0 byte. */
#define SHELL_TEXT_MAX (ACTION_TEXT_MAX + 256)

struct bytes;

struct shell_text {
	int fd;	   /* owned; the memfd, whose file offset is where the shell reads next;
		    * -1: none */
	char *map; /* owned; the mapping of SHELL_TEXT_MAX bytes; NULL: none */
};

/* Makes the memfd.  Returns -1 with errno set; then shell_text_done() has nothing to
 * do. */
int shell_text_init(struct shell_text *t);
void shell_text_done(struct shell_text *t);

/* Writes a prefix, the text and a 0 byte, and sets the file offset to 0 for the shell.
 * Returns -1 if they are too long. */
int shell_text_put(struct shell_text *t, const char *prefix, struct bytes text);
/* Returns true if the shell has read from the memfd since the last shell_text_put(). */
bool shell_text_is_read(const struct shell_text *t);
