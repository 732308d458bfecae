#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/extra_host.h"
#include "policy/policy_file.h"
#include "policy/port_spec.h"
#include "policy/volume.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/learn/learn.h"

/* Writes a JSON object, one member a line; an object within an object is
 * indented by one more. */
struct writer {
	FILE *to;
	int depth;
	bool has_members;
};

static void key(struct writer *w, const char *name)
{
	(void)fprintf(w->to, "%s\n%*s\"%s\": ", w->has_members ? "," : "", 2 * w->depth,
		      "", name);
	w->has_members = true;
}

static void text(struct writer *w, const char *name, const char *value)
{
	AUTO_FREE char *quoted = json_write_quoted(value);

	if (!value)
		return;
	key(w, name);
	(void)fputs(quoted, w->to);
}

static void yes(struct writer *w, const char *name, bool value)
{
	if (!value)
		return;
	key(w, name);
	(void)fputs("true", w->to);
}

/* Writes a list of texts.  An empty list is left out. */
static void array(struct writer *w, const char *name, const struct list *l)
{
	if (!l->count)
		return;
	key(w, name);
	for (size_t i = 0; i < l->count; i++) {
		AUTO_FREE char *quoted = json_write_quoted(l->items[i]);
		(void)fprintf(w->to, "%s\n%*s%s", i ? "," : "[", 2 * w->depth + 2, "",
			      quoted);
	}
	(void)fprintf(w->to, "\n%*s]", 2 * w->depth, "");
}

static void open_object(struct writer *w, const char *name)
{
	key(w, name);
	(void)fputc('{', w->to);
	w->depth++;
	w->has_members = false;
}

static void close_object(struct writer *w)
{
	w->depth--;
	(void)fprintf(w->to, "\n%*s}", 2 * w->depth, "");
	w->has_members = true;
}

/* --- what is in it ---------------------------------------------------------------- */

/* Makes a path absolute, so that it means the same file wherever the policy file
 * lies. */
static char *real_path(const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;

	return real || !path ? real : text_copy(path);
}

static void add_volume(struct list *to, const struct volume *v)
{
	AUTO_FREE char *real = real_path(v->source);
	/* A learned path is absolute already, and is kept as the command named it,
	 * though it may be a link. */
	const char *source = v->source && *v->source == '/' ? v->source : real;
	AUTO_FREE char *word = volume_word(v, source);

	list_add(to, word);
}

static void write_volumes(struct writer *w, const struct policy *p, const char *name,
			  enum volume_kind kind)
{
	struct list l = { 0 };

	for (size_t i = 0; i < p->volume_count; i++)
		if (p->volumes[i].kind == kind)
			add_volume(&l, &p->volumes[i]);
	if (kind == VOLUME_WORKSPACE)
		text(w, name, l.count ? l.items[0] : NULL);
	else
		array(w, name, &l);
	list_done(&l);
}

static void write_variables(struct writer *w, const struct policy *p)
{
	bool is_open = false;

	for (size_t i = 0; i < p->env_set.count; i++) {
		const char *word = p->env_set.items[i], *value = strchr(word, '=');
		AUTO_FREE char *name = text_format("%.*s", (int)strcspn(word, "="), word);
		AUTO_FREE char *quoted = json_write_quoted(name);

		if (!value || list_has(&p->secrets, name))
			continue;
		if (!is_open)
			open_object(w, "env");
		is_open = true;
		quoted[strlen(quoted) - 1] = '\0'; /* text() writes quotes of its own,
						    * so the last quote here is cut off */
		text(w, quoted + 1, value + 1);
	}
	if (is_open)
		close_object(w);
	array(w, "secrets", &p->secrets);
}

static void list_caps(struct list *to, uint64_t caps)
{
	for (int i = 0; i < 64; i++)
		if (caps & 1ull << i)
			list_add(to, caps_name(i).text);
}

static void write_caps(struct writer *w, const struct policy *p)
{
	struct list added = { 0 }, dropped = { 0 };

	list_caps(&added, p->cap_add);
	if (p->drops_all_caps)
		list_add(&dropped, "ALL");
	list_caps(&dropped, p->cap_drop);
	if (added.count || dropped.count) {
		open_object(w, "capabilities");
		array(w, "add", &added);
		array(w, "drop", &dropped);
		close_object(w);
	}
	list_done(&added);
	list_done(&dropped);
}

static void amount(struct writer *w, const char *name, uint64_t value, const char *unit)
{
	AUTO_FREE char *said = text_format("%llu%s", (unsigned long long)value, unit);

	text(w, name, value ? said : NULL);
}

static void write_ulimits(struct writer *w, const struct policy *p)
{
	if (!p->ulimit_count)
		return;
	open_object(w, "ulimits");
	for (size_t i = 0; i < p->ulimit_count; i++) {
		const char *word = strrchr(p->ulimits[i].from, ' ');
		word = word ? word + 1 : p->ulimits[i].from;
		AUTO_FREE char *name = text_format("%.*s", (int)strcspn(word, "="), word);
		const char *value = strchr(word, '=');
		text(w, name, value ? value + 1 : NULL);
	}
	close_object(w);
}

static void write_limits(struct writer *w, const struct policy *p)
{
	const struct limits *l = &p->limits;

	if (!l->memory && !l->cpus && !l->pids && !l->disk && !p->timeout_ms &&
	    !p->ulimit_count && !p->cgroup_parent && !p->is_best_effort)
		return;
	open_object(w, "limits");
	amount(w, "memory", l->memory, "");
	if (l->cpus) {
		key(w, "cpus");
		(void)fprintf(w->to, "%u.%03u", l->cpus / 1000, l->cpus % 1000);
	}
	if (l->pids) {
		key(w, "pids");
		(void)fprintf(w->to, "%llu", (unsigned long long)l->pids);
	}
	amount(w, "disk", l->disk, "");
	amount(w, "timeout", p->timeout_ms, "ms");
	write_ulimits(w, p);
	text(w, "cgroup_parent", p->cgroup_parent);
	yes(w, "best_effort", p->is_best_effort);
	close_object(w);
}

static void write_audit(struct writer *w, const struct policy *p)
{
	bool is_folder = p->audit && strchr(p->audit, '/');
	AUTO_FREE char *real = is_folder ? real_path(p->audit) : NULL;

	text(w, "audit", real ? real : p->audit);
}

static void write_publishes(struct writer *w, const struct policy *p)
{
	struct list words = { 0 };

	for (size_t i = 0; i < p->publish_count; i++)
		list_add(&words, port_spec_word(&p->publishes[i]));
	array(w, "publish", &words);
	list_done(&words);
}

/* Names of this host's loopback stand in the rules already (extra_host.h). */
static void write_add_hosts(struct writer *w, const struct policy *p)
{
	struct list addresses = { 0 };
	struct extra_host host;

	for (size_t i = 0; i < p->add_hosts.count; i++)
		if (extra_host_parse(p->add_hosts.items[i], &host, NULL) == 0 &&
		    !host.is_gateway)
			list_add(&addresses, p->add_hosts.items[i]);
	array(w, "add_hosts", &addresses);
	list_done(&addresses);
}

/* Writes the rules about connections, each of which is JSON already.  Those of networks of
 * sandboxes are among them. */
static void write_egress(struct writer *w, const struct policy *p)
{
	if (!p->egress.count)
		return;
	open_object(w, "egress");
	key(w, "rules");
	for (size_t i = 0; i < p->egress.count; i++)
		(void)fprintf(w->to, "%s\n%*s%s", i ? "," : "[", 2 * w->depth + 2, "",
			      p->egress.items[i]);
	(void)fprintf(w->to, "\n%*s]", 2 * w->depth, "");
	close_object(w);
}

char *learn_write(const struct policy *p, const char *about)
{
	struct writer w = { .depth = 1 };
	char *made = NULL;
	size_t len;

	w.to = mem_or_abort(open_memstream(&made, &len));
	(void)fputc('{', w.to);
	key(&w, "version");
	(void)fprintf(w.to, "%d", POLICY_FILE_VERSION);
	text(&w, "about", about);
	yes(&w, "read_only", p->is_read_only);
	write_volumes(&w, p, "workspace", VOLUME_WORKSPACE);
	write_volumes(&w, p, "mounts", VOLUME_BIND);
	array(&w, "protected", &p->protects);
	yes(&w, "protect_missing", p->protects_missing);
	write_volumes(&w, p, "toolchains", VOLUME_TOOLCHAIN);
	write_volumes(&w, p, "tmpfs", VOLUME_TMPFS);
	write_variables(&w, p);
	text(&w, "workdir", p->workdir);
	text(&w, "user", p->user);
	text(&w, "hostname", p->hostname);
	text(&w, "network", policy_network_word(p));
	write_egress(&w, p);
	array(&w, "network_join", &p->joins);
	write_add_hosts(&w, p);
	write_publishes(&w, p);
	write_caps(&w, p);
	write_limits(&w, p);
	write_audit(&w, p);
	(void)fputs("\n}\n", w.to);
	if (fclose(w.to))
		abort(); /* closing a stream in memory fails only for lack of memory */
	return made;
}
