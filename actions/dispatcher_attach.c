#include "actions/dispatcher.h"
#include "actions/sandbox_info.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "policy/rules.h"
#include "sandbox/launch/instance.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"

/* Connects the instance with the launch. Each refused system call is to come with its
 * session id, so that it is told to the action that made it. */
static void connect(struct instance *g, struct launch *l)
{
	g->sandbox = &l->sandbox;
	g->ports = &l->ports;
	g->protect_watch = &l->protect_watch;
	g->egress = launch_egress(l);
	l->sandbox.denials.looks_at_sessions = true;
	if (l->degraded & DEGRADED_MEMORY)
		g->watched_memory = l->policy->limits.memory;
}

/* Makes the audit log redact the dispatcher's secrets: the policy's, and those of env
 * actions. */
static void share_secrets(struct dispatcher *d, struct launch *l)
{
	/* cannot fail: policy_check() has checked that there is room for all secrets */
	(void)environment_mask(l->policy, &d->secrets, NULL);
	d->audit = &l->audit;
	d->audit->secrets = &d->secrets;
}

void dispatcher_attach(struct dispatcher *d, struct launch *l, struct instance *g)
{
	connect(g, l);
	instance_init(g, dispatcher_now(d));
	share_secrets(d, l);
	d->wire = &g->channel.out;
	d->shell = sandbox_info_shell(l);
	d->sandbox_info = sandbox_info_of(l);
	plugin_table_fill(&d->plugins, &l->policy->plugin_uses);
	d->why = (struct why){ .policy = l->policy, .plan = &l->plan };
	d->rules = rules_new(&l->policy->rules);
	if (l->cgroup.procs < 0)
		return;
	d->cgroup = &l->cgroup;
	d->memory_limit = l->policy->limits.memory;
}
