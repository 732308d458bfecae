/* apply_job -- a small file that an apply makes under a temporary name, as plain data, so
 * that another process (apply_maker.h) can make it, too. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct err;
struct meeting;

#define APPLY_JOB_MAX (64u << 10) /* bytes: the most that the file may have */

/* Group, mode and time of a new file.  Its group is that of the host's file, if this user
 * may give it: files in a shared folder often have another group than ours. */
struct apply_attributes {
	mode_t mode;
	gid_t group; /* (gid_t)-1: the one that the kernel gives */
	struct timespec mtime;
};

struct apply_attributes apply_attributes_of(const struct meeting *m);
void apply_attributes_set(const struct apply_attributes *a, int fd);

enum apply_job_end {
	APPLY_JOB_MADE,	     /* the temporary file is there */
	APPLY_JOB_SAME,	     /* the host's file has this content; no file was made */
	APPLY_JOB_UNMADE,    /* no file could be made; `error` is the errno */
	APPLY_JOB_UNWRITTEN, /* the file could not be written, and is removed; `error` too */
};

struct apply_job {
	char compared[NAME_MAX + 1]; /* the host's file that may be the same; "": none */
	struct apply_attributes attributes;
	size_t len; /* the length of the content */
	enum apply_job_end end;
	int error;
	uint8_t data[APPLY_JOB_MAX]; /* the content; last, since most files are short */
};

/* Returns whether the meeting is one of a file that a job can make. */
bool apply_job_can(const struct meeting *m);

/* Makes a job of the meeting, and reads the content, which can fail as
 * changes_stream_read() does.  Content behind APPLY_JOB_MAX is dropped, which is safe:
 * the stream ends with an error if the content is longer than its announced size. */
int apply_job_fill(struct apply_job *j, const struct meeting *m, struct err *e);

/* Returns whether the file to compare with, in the folder `at`, has the same content. */
bool apply_job_is_same(const struct apply_job *j, int at);

/* Makes the temporary file in the folder `at`, and sets the job's end. */
void apply_job_make(struct apply_job *j, int at, const char *temporary);
