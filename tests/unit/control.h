/* control -- a supervisor that belongs to the test, without a process, a cgroup
 * or files.  The test sets its time, s.now_ms.  Include it behind cmocka.h. */
#pragma once
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "supervisor/supervisor.h"

#define NOW 1000000ll

struct control {
	struct supervisor s;
	struct policy policy;
	struct launch launch;
	struct registry_entry entry;
	int executor; /* the executor's end of the channel, held by the test */
};

static inline int control_pair(int *ret_theirs)
{
	int ends[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
		0);
	*ret_theirs = ends[1];
	return ends[0];
}

static inline void control_begin(struct control *x)
{
	struct supervisor *s = &x->s;

	*x = (struct control){ .executor = -1 };
	policy_init(&x->policy);
	launch_init(&x->launch, &x->policy);
	registry_init(&x->entry);
	strcpy(x->entry.name, "box");
	x->launch.sandbox.channel = control_pair(&x->executor);
	*s = (struct supervisor){ .now_ms = NOW, .launch = &x->launch, .entry = &x->entry,
				  .ready = -1, .listener = -1, .status = REGISTRY_READY };
	s->instance = (struct instance){ .sandbox = &x->launch.sandbox,
					 .context = s,
					 .state = INSTANCE_READY };
	instance_init(&s->instance, NOW);
	pause_init(&s->pause);
	dispatcher_init(&s->dispatcher);
	methods_init_jobs(s);
	/* The logs get entries but have no file. */
	log_init(&s->outputs.log, -1, "output", 1 << 20);
	s->supervisor_log = (struct supervisor_log){ .entry = &x->entry,
						     .secrets = &s->dispatcher.secrets,
						     .now_ms = &s->now_ms };
	log_init(&s->supervisor_log.log, -1, LOG_LEVEL_FILE, 1 << 20);
}

static inline void control_end(struct control *x)
{
	struct supervisor *s = &x->s;

	clients_done(s);
	pause_done(&s->pause);
	jobs_done(&s->jobs);
	outputs_done(s);
	dispatcher_done(&s->dispatcher);
	instance_done(&s->instance);
	events_done(&s->events);
	supervisor_log_done(&s->supervisor_log);
	own_close(&x->launch.sandbox.channel);
	own_close(&x->executor);
	registry_done(&x->entry);
	launch_done(&x->launch);
	policy_done(&x->policy);
}

/* Adds a connected client; the client's end goes to *ret_fd. */
static inline struct client *control_client(struct control *x, int *ret_fd)
{
	clients_add(&x->s, control_pair(ret_fd));
	return x->s.clients[x->s.client_count - 1];
}

/* Adds a running process.  NULL as `owner`: the client that started it has gone. */
static inline struct job *control_job(struct control *x, struct client *owner)
{
	struct job *j = mem_zeroed(1, sizeof(*j));
	struct err e;

	j->id = (uint32_t)x->s.jobs.alive + 1;
	j->owner = owner;
	assert_int_equal(jobs_add(&x->s.jobs, j, &e), 0);
	j->state = JOB_RUNNING;
	return j;
}
