/* The facts about a sandbox: the answer of the method info, which hutch inspect prints. */
#include <string.h>

#include "actions/redact_json.h"
#include "base/json_write.h"
#include "base/own.h"
#include "base/redact.h"
#include "policy/label.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "supervisor/confine.h"
#include "supervisor/supervisor.h"

/* The most bytes of JSON that the info has of the errors of all plugins: the inside writes
 * most of them, and the copy of the info in the registry is bounded (REGISTRY_TEXT_MAX). */
#define ERRORS_SHOWN 8192

char *supervisor_limits(const struct supervisor *s)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_count(&b, "memory", s->limits.memory);
	if (s->limits.cpus)
		json_write_format(&b, "cpus", "%.3f", s->limits.cpus / 1000.0);
	else
		json_write_raw(&b, "cpus", "null");
	json_write_count(&b, "pids", s->limits.pids);
	json_write_count(&b, "disk", s->limits.disk);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

/* Returns the absolute path on the host of what is mounted for the volume; NULL: nothing
 * of the host's is. */
static const char *source_of(const struct supervisor *s, const struct volume *v)
{
	const struct plan *p = &s->launch->plan;

	/* A volume's step stands behind one of the image's with the same target. */
	for (size_t i = p->count; v->kind != VOLUME_TMPFS && i > 0; i--) {
		const struct step *step = &p->steps[i - 1];
		if ((step->kind == STEP_BIND || step->kind == STEP_COW) && step->source &&
		    step->target && !strcmp(step->target, v->target))
			return step->source;
	}
	return NULL;
}

static void put_mounts(const struct supervisor *s, struct buffer *b)
{
	const struct policy *p = s->launch->policy;

	json_write_open(b, "mounts", "[");
	for (size_t i = 0; i < p->volume_count; i++) {
		const struct volume *v = &p->volumes[i];
		json_write_open(b, NULL, "{");
		json_write_text(b, "source", source_of(s, v));
		json_write_text(b, "target", v->target);
		json_write_text(b, "mode",
				v->kind == VOLUME_TMPFS ? "tmpfs" :
				v->is_cow		? "cow" :
				v->is_writable		? "rw" :
							  "ro");
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

static void put_ports(const struct ports *p, struct buffer *b)
{
	json_write_open(b, "ports", "[");
	for (size_t i = 0; i < p->count; i++) {
		json_write_open(b, NULL, "{");
		json_write_text(b, "host", p->all[i].at.host);
		json_write_number(b, "guest", p->all[i].guest);
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

/* Values of variables may be secrets, so the names alone are written. */
static void put_environment(const struct list *env, struct buffer *b)
{
	json_write_open(b, "env", "[");
	for (size_t i = 0; i < env->count; i++)
		json_write_bytes(b, NULL, env->items[i], strcspn(env->items[i], "="));
	json_write_close(b, "]");
}

static const char *workspace_of(const struct supervisor *s)
{
	const struct policy *p = s->launch->policy;

	for (size_t i = 0; i < p->volume_count; i++)
		if (p->volumes[i].kind == VOLUME_WORKSPACE)
			return source_of(s, &p->volumes[i]);
	return NULL;
}

static void put_network(const struct launch *l, struct buffer *b)
{
	json_write_open(b, "network", "{");
	json_write_text(b, "mode", policy_network_word(l->policy));
	json_write_text(b, "form", egress_form_name(l->egress.form));
	json_write_open(b, "joins", "[");
	for (size_t i = 0; i < l->policy->joins.count; i++)
		json_write_text(b, NULL, l->policy->joins.items[i]);
	json_write_close(b, "]");
	json_write_close(b, "}");
}

/* Returns the address of the plugin's published port, allocated; NULL: it has none. */
static char *url_of(const struct ports *ports, const struct known_plugin *p)
{
	for (size_t i = 0; p->url && i < ports->count; i++)
		if (ports->all[i].guest == p->port)
			return text_format("http://%s%s", ports->all[i].at.host, p->url);
	return NULL;
}

/* Returns the reason of a failure as JSON of `most` bytes at most, allocated.  The
 * secrets are redacted before the cut, which could halve one. */
static char *error_of(const struct supervisor *s, const struct known_plugin *p,
		      size_t most)
{
	AUTO_FREE char *all = p->reason ? redact_copy(&s->dispatcher.secrets, p->reason)
					: NULL;
	char *error = NULL;

	for (size_t len = all ? strlen(all) : 0; !error || strlen(error) > most;
	     len /= 2) {
		struct buffer b;
		free(error);
		json_write_begin(&b);
		if (all)
			json_write_bytes(&b, NULL, all, len);
		else
			json_write_raw(&b, NULL, "null");
		error = json_write_end(&b);
	}
	return error;
}

static void put_plugins(const struct supervisor *s, struct buffer *b)
{
	const struct plugin_table *t = &s->dispatcher.plugins;

	json_write_open(b, "plugins", "[");
	for (size_t i = 0; i < t->count; i++) {
		AUTO_FREE char *url = url_of(&s->launch->ports, &t->all[i]);
		json_write_open(b, NULL, "{");
		AUTO_FREE char *error = error_of(s, &t->all[i], ERRORS_SHOWN / t->count);
		json_write_text(b, "name", t->all[i].name);
		json_write_text(b, "state", plugin_table_state_name(&t->all[i]));
		json_write_raw(b, "error", error);
		json_write_text(b, "version", t->all[i].version);
		json_write_text(b, "url", url);
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

char *supervisor_info(const struct supervisor *s)
{
	const struct launch *l = s->launch;
	const struct policy *p = l->policy;
	AUTO_FREE char *path = p->image == IMAGE_DIR
				       ? text_format("dir:%s%s", p->image_path,
						     p->is_image_writable ? ":rw" : "")
			       : p->image == IMAGE_STORE ? text_copy(l->store_image.name)
							 : text_copy("host");
	AUTO_FREE char *labels = label_print(&p->labels);
	AUTO_FREE char *limits = supervisor_limits(s);
	AUTO_FREE char *egress = net_info(s);
	AUTO_FREE char *cgroup = l->cgroup.procs >= 0 ? cgroup_commands_path(&l->cgroup)
						      : NULL;
	AUTO_FREE char *user = text_format("%u:%u", l->plan.uid, l->plan.gid);
	const struct err *lost = &s->pause.lost;
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "name", s->entry->name);
	json_write_text(&b, "id", s->entry->id);
	json_write_text(&b, "image", path);
	json_write_text(&b, "state", registry_status_name(s->status));
	json_write_text(&b, "created", s->created);
	json_write_raw(&b, "labels", labels);
	json_write_text(&b, "isolation", "namespaces");
	json_write_text(&b, "workspace", workspace_of(s));
	put_mounts(s, &b);
	put_ports(&l->ports, &b);
	put_environment(&l->plan.env, &b);
	json_write_text(&b, "user", user);
	json_write_raw(&b, "limits", limits);
	put_network(l, &b);
	json_write_raw(&b, "egress", egress);
	put_plugins(s, &b);
	main_process_put(s, &b);
	json_write_number(&b, "pid", l->sandbox.pid);
	json_write_text(&b, "cgroup", cgroup);
	json_write_text(&b, "version", HUTCH_VERSION);
	json_write_text(&b, "confined", confine_name(s->has_landlock));
	result_write_degraded(&b, l->degraded);
	json_write_text(&b, "unprotected", lost->kind != ERR_NONE ? lost->text : NULL);
	json_write_close(&b, "}");
	char *info = json_write_end(&b);
	redact_json_text(&s->dispatcher.secrets, &info);
	return info;
}
