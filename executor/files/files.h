/* files -- MSG_READ and MSG_WRITE: a file as a whole, or lines of it.
 *
 * The executor does this itself, as the command's user (user_enter), and passes a path
 * to the kernel without looking at it before. A file that is not regular is refused
 * after an open that cannot block. Files in /proc/PID are refused too, since /proc/self
 * would be the executor. A file system that does not answer blocks the executor: only
 * mounts that the supervisor chose can do that.
 *
 * Lines end with \n and are counted from 0; a carriage return is a byte of its line.
 * The written text is split at \n, and each piece becomes a line; so a newline is
 * always added at the end, as in OpenHands.
 *
 * An existing file is replaced by a complete new one in the same folder, so that no
 * reader sees half of the content. That is done only if it changes nothing else: the
 * file belongs to the user, has one name, no extended attributes and a mode that can be
 * set. Otherwise its content is overwritten in place. A new file gets mode 0664 and new
 * folders 0755. */
#pragma once
#include <stdint.h>

struct send_queue;
struct err;
struct read_request;
struct file_place;
struct user;
struct write_request;

struct files {
	struct send_queue *replies;	   /* borrowed; the answer goes into this queue */
	const struct user *user;	   /* borrowed; the executor's own ids, to become
					    * its own user again */
	const struct file_place *place; /* borrowed; the user that the file is opened as,
					 * and the working directory */
	uint32_t id;			   /* the id of the request */
};

/* Both answer the request, also when it failed, and return 0. -1: the executor must end,
 * since it could not become its own user again. */
int files_read(const struct files *f, const struct read_request *r, struct err *e);
int files_write(const struct files *f, const struct write_request *r, struct err *e);
