/* job -- a request of the front's that the spawner works at (order.h).
 *
 * Each job ends by one of job_succeed(), job_fail_...() and job_say_...(), which send the answer
 * and free the job. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "gateway/loop.h"
#include "gateway/order.h"

struct command;
struct err;
struct hutch;
struct hutch_error;
struct job;
struct serve;

struct spawner {
	const struct serve *serve;
	struct loop loop;
	struct watch link, signals;
	unsigned jobs;
	struct job *builds; /* those under way */
	bool is_over, is_told;
	char *packet;	   /* owned: room for a request */
	struct list names; /* of this server's sandboxes: made, or listed by the label */
};

struct job {
	struct spawner *s;
	struct order order;
	struct hutch *handle; /* owned; NULL: none */
	struct watch watch;
	int file; /* owned: the variables, or the context of a build; -1: none */
	struct timer timer;
	/* The rest is for builds alone. */
	struct job *next;
	struct command *command;
	bool is_late;
};

/* `fd`: a descriptor that goes with the answer, and stays the caller's; -1: none. */
void job_succeed(struct job *j, int fd);
void job_fail(struct job *j, const char *kind, const char *message);
void job_fail_err(struct job *j, const struct err *e);
void job_fail_hutch(struct job *j, const struct hutch_error *e);
/* The same with a text of any length, which goes in a file, and with a number. */
void job_say_text(struct job *j, const char *text);
void job_say_number(struct job *j, unsigned number);

/* Frees a job without an answer. */
void job_free(struct job *j);
/* Reads requests, or none while too many are under way. */
void jobs_watch(struct spawner *s);

/* Lets a connection to a sandbox fail that is not there in time: a supervisor that does not answer
 * would keep its place among the requests under way for ever. */
#define JOB_CONNECT_MS 20000
void job_limit(struct job *j);

/* Makes a sandbox (ORDER_CREATE), or connects to one of this server's. */
void job_create(struct job *j);
void job_attach(struct job *j);

/* Builds an image by `hutch image build` (ORDER_BUILD). */
void job_build(struct job *j);
/* Takes a job off the list of builds, if it is one. */
void job_build_forget(struct job *j);
/* Ends all builds under way: the spawner ends. */
void job_build_end_all(struct spawner *s);
