/* methods -- the methods of the control socket (docs/control.md).
 *
 * 	methods.c	the table of all; methods about the sandbox, its log, actions
 * 	methods_start.c	exec.start, copy.in, copy.out: make a job from the params
 * 	methods_user.c	the user of a process that exec.start begins
 * 	methods_port.c	port.add, port.remove, port.list
 * 	methods_net.c	net.list, net.set, net.add, net.remove, net.answer,
 * 			net.connect
 * 	methods_exec.c	the other methods about processes, and the answers about jobs
 * 	methods_update.c	update: changes limits */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct request;
struct supervisor;
struct job;
struct returned;

/* Each method returns 0 if the request was answered or will be answered later;
 * otherwise an enum rpc_code, with the error in call->e. */
int methods_start(const struct request *call);
/* Returns a number that no process has, for a new one. */
uint32_t methods_new_process(struct supervisor *s);
/* Fills in the ids of the job's user; or j->user, if the user must be looked up in the
 * sandbox's files first. */
int methods_get_user(const struct request *call, struct job *j);
/* Returns the bit in job.said for a variable that comes from the user's account, such
 * as HOME; 0: it is none of these. */
unsigned methods_user_variable(const char *name);
/* The callback on_looked_up of jobs.h: handles the result of a user's look-up. */
bool methods_looked_up(void *context, struct job *j, const struct returned *x);
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
int methods_net_list(const struct request *call);
int methods_net_set(const struct request *call);
int methods_net_add(const struct request *call);
int methods_net_remove(const struct request *call);
int methods_net_answer(const struct request *call);
int methods_net_connect(const struct request *call);
int methods_update(const struct request *call);
