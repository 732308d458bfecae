/* files -- MSG_READ and MSG_WRITE: a file as a whole, or lines of it.
 *
 * Done here and now, as the command's user (user_enter), with nothing of a path
 * looked at before the kernel does.  What is not a regular file is refused after
 * an open that cannot wait; so are files of /proc that tell of processes, since
 * /proc/self would be the executor.  A file system that does not answer keeps the
 * executor waiting: such are mounts of the supervisor's choice only.
 *
 * Lines end with \n and are counted from 0; a carriage return is a byte of its
 * line.  Every piece of what is written, as \n divides it, becomes a line, so a
 * newline is added at the end (the reference's way).
 *
 * A file that is there is replaced by a finished one in the same folder, so that
 * nobody sees a half, where that changes nothing else: it belongs to the user,
 * has one name, no attributes of its own and a mode that can be set.  Else its
 * content is written in place.  A new file gets mode 0664 and folders 0755. */
#pragma once
#include <stdint.h>

struct replies;
struct err;
struct read_request;
struct file_place;
struct user;
struct write_request;

struct files {
	struct replies *replies;	   /* borrowed; the answer goes there */
	const struct user *user;	   /* borrowed; who we are */
	const struct file_place *place; /* borrowed; for whom, and from where */
	uint32_t id;			   /* of the request */
};

/* -1: the executor must end, since it could not become itself again. */
int files_read(const struct files *f, const struct read_request *r, struct err *e);
int files_write(const struct files *f, const struct write_request *r, struct err *e);
