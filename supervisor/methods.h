/* methods -- the methods of the control socket (docs/control.md).
 *
 *	methods.c	the table; the sandbox itself, its log, actions
 *	methods_start.c	exec.start, copy.in, copy.out: a job out of params
 *	methods_user.c	the user of an exec.start
 *	methods_port.c	port.add, port.remove, port.list
 *	methods_exec.c	the others about processes, and what is told of these
 *	methods_update.c	update: other limits */
#pragma once
#include <stdbool.h>

struct request;
struct job;
struct returned;

/* Each method returns 0 if the request was answered or will be; else an enum rpc_code
 * and the call's error. */
int methods_start(const struct request *call);
/* Fills in the job's ids, or j->user, which is then looked up inside. */
int methods_get_user(const struct request *call, struct job *j);
/* Returns a bit of job.said if the variable is one of an account's, such as HOME; else
 * 0. */
unsigned methods_user_variable(const char *name);
/* Handles the result of a user's look-up; a callback of jobs.h. */
bool methods_looked_up(void *who, struct job *j, const struct returned *x);
int methods_copy_in(const struct request *call);
int methods_copy_out(const struct request *call);
int methods_wait(const struct request *call);
int methods_signal(const struct request *call);
int methods_resize(const struct request *call);
int methods_attach(const struct request *call);
int methods_write(const struct request *call);
int methods_list(const struct request *call);
int methods_port_add(const struct request *call);
int methods_port_remove(const struct request *call);
int methods_port_list(const struct request *call);
int methods_update(const struct request *call);
