/* request_log -- a line about each request that has been answered, on stderr: `hutch --log-level
 * info`, and `--log-format json` for an object a line (sandbox/kernel/log_level.h).  Its fields:
 *
 *	method, path	without the query, which may have keys
 *	status		null: the client had gone before the answer
 *	duration_ms	from the request's head to the end of its answer, that of a stream too
 *
 * Requests are answered while stderr takes nothing: their lines are lost, and the next line says
 * how many (`lost`). */
#pragma once
#include <stdint.h>

struct request_log {
	uint64_t lost;
};

struct request_entry {
	const char *method, *path; /* any bytes */
	const char *sandbox;	   /* NULL: the request is about none */
	unsigned status;	   /* 0: none was sent */
	int64_t duration_ms;
};

void request_log_add(struct request_log *l, const struct request_entry *x);

/* Returns the fields of the line, allocated. */
char *request_log_fields(const struct request_log *l, const struct request_entry *x);
