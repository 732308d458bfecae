/* e2b_process -- the commands of a sandbox, for the two files that work with them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/e2b.h"

struct box_stream;

/* The bytes that a client sends to a command; the struct lives as long as its visit. */
struct input {
	struct input *next;
	struct visit *visit;
	uint8_t *bytes; /* owned */
	size_t len, at;
	bool closes; /* stdin, behind the bytes */
};

struct stream;

struct e2b_process {
	struct e2b_process *next;
	struct e2b *owner;
	int64_t number, pid;
	char *tag, *config; /* owned; config: JSON, as its client sent it */
	unsigned flags;	    /* HUTCH_STDIN, HUTCH_TTY */
	struct box_stream *follow;
	struct stream *streams; /* of those that get its output */
	struct input *inputs;	/* the first one is being written */
	bool is_writing;
};

/* Finds the command that `process` of a request names; NULL: the request is answered. */
struct e2b_process *process_selected(struct visit *v, const struct json_at *root);
/* Reads the request, too; the sandbox must run. */
struct e2b_process *process_read(struct visit *v, struct json **ret_doc,
				 struct json_at *ret);
/* Answers what waits to be written to a command that has ended. */
void process_drop_inputs(struct e2b_process *p);
