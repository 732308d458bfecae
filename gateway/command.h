/* command -- runs `hutch` for the spawner: without waiting, its output collected. */
#pragma once
#include <stddef.h>

#include "base/buffer.h"
#include "gateway/loop.h"

struct err;

#define COMMAND_OUT_MAX (8u << 20)
#define COMMAND_ERR_MAX 4096

/* A program that runs.  The struct is allocated by command_start() and freed behind
 * `ended`. */
struct command {
	struct loop *loop;
	int pid, pidfd;		       /* pidfd: owned */
	struct watch out, err, life;   /* out, err: the pipes, owned; -1: closed */
	struct buffer said, complaint; /* what it wrote to stdout, and its last words on
					* stderr */
	int exit_code;		       /* at its end; 128 + N: signal N ended it */
	void *context;
	void (*ended)(void *context, struct command *p);
};

/* Starts `path` with `argv`; descriptor `in` becomes its stdin (-1: /dev/null), and no other
 * is handed on but 1 and 2, which are pipes.  `ended` is called once, when it has ended and its
 * output is there.  NULL, with an error. */
struct command *command_start(struct loop *l, const char *path, char *const *argv, int in,
			      void *context,
			      void (*ended)(void *context, struct command *p),
			      struct err *e);

/* Kills it; `ended` is called as for any end. */
void command_kill(struct command *p);
/* Kills it, and waits for its end, of which nothing is told: the caller ends, too. */
void command_end(struct command *p);
