#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "gateway/command.h"
#include "gateway/job.h"
#include "gateway/serve.h"

#define BUILDS_MAX 4
#define BUILD_MS \
	1800000 /* OpenHands' client asks for a build's state no longer than that */

void job_build_forget(struct job *j)
{
	struct spawner *s = j->s;

	for (struct job **at = &s->builds; *at; at = &(*at)->next) {
		if (*at != j)
			continue;
		*at = j->next;
		return;
	}
}

void job_build_end_all(struct spawner *s)
{
	for (const struct job *j = s->builds; j; j = j->next)
		command_end(j->command);
}

/* Refuses what a front could have from elsewhere: a file that is none, and the name of an
 * image that the operator uses. */
static int check(const struct job *j, struct err *e)
{
	const struct list *tags = &j->order.tags;
	unsigned count = 0;
	struct stat st;

	for (const struct job *other = j->s->builds; other; other = other->next)
		count++;
	if (count >= BUILDS_MAX)
		return err_set(e, ERR_LIMIT, "%d builds are under way", BUILDS_MAX);
	if (j->file < 0 || fstat(j->file, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "a build needs a file: its context");
	if (tags->count == 0)
		return err_set(e, ERR_USAGE, "a build needs a name");
	for (size_t i = 0; i < tags->count; i++)
		if (strncmp(tags->items[i], ORDER_BUILT, strlen(ORDER_BUILT)) != 0)
			return err_set(e, ERR_REFUSED,
				       "image '%.200s': the name of a built image begins "
				       "with " ORDER_BUILT,
				       tags->items[i]);
	return lseek(j->file, 0, SEEK_SET) < 0 ? err_sys(e, "read the context") : 0;
}

static void on_end(void *context, struct command *p)
{
	struct job *j = context;
	AUTO_FREE char *why = text_format("%.*s", (int)buffer_len(&p->complaint),
					  (const char *)buffer_data(&p->complaint));

	if (p->exit_code == 0)
		job_succeed(j, -1);
	else if (j->is_late)
		job_fail(j, "timeout", "the build has taken 30 minutes");
	else
		job_fail(j, "invalid", *why ? why : "hutch ended without saying why");
}

static void on_late(void *context)
{
	struct job *j = context;

	j->is_late = true;
	command_kill(j->command); /* on_end() answers */
}

static void add_words(const struct job *j, struct list *args)
{
	const struct serve *s = j->s->serve;

	list_add(args, "hutch");
	list_add(args, "image");
	list_add(args, "build");
	list_add(args, "--quiet");
	if (s->build_network)
		list_addf(args, "--network=%s", s->build_network);
	for (size_t i = 0; i < s->build_allow.count; i++)
		list_addf(args, "--allow=%s", s->build_allow.items[i]);
	for (size_t i = 0; i < j->order.tags.count; i++)
		list_addf(args, "--tag=%s", j->order.tags.items[i]);
	list_add(args, "-");
}

void job_build(struct job *j)
{
	struct list args = { 0 };
	struct err e;

	if (check(j, &e) < 0) {
		job_fail_err(j, &e);
		return;
	}
	add_words(j, &args);
	j->command = command_start(&j->s->loop, j->s->serve->hutch, args.items, j->file,
				   j, on_end, &e);
	list_done(&args);
	if (!j->command) {
		job_fail_err(j, &e);
		return;
	}
	j->next = j->s->builds;
	j->s->builds = j;
	j->timer = (struct timer){ .context = j, .expired = on_late };
	loop_start(&j->s->loop, &j->timer, BUILD_MS);
}
