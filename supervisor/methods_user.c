#include "supervisor/methods.h"

#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "protocol/action.h"
#include "sandbox/launch/launch.h"
#include "sandbox/plan/store_image.h"
#include "supervisor/records.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

/* --- what is asked for -------------------------------------------------------------- */

static const char *const variables[] = { "HOME", "USER", "LOGNAME" };

unsigned methods_user_variable(const char *name)
{
	for (unsigned i = 0; i < ARRAY_LEN(variables); i++)
		if (!strcmp(name, variables[i]))
			return 1u << i;
	return 0;
}

/* Returns the bits of those account variables that have values already.  Values from
 * the policy, the image or an agent's `env` action take precedence over the account's. */
static unsigned already_said(const struct supervisor *s)
{
	const struct list *set = &s->launch->policy->env_set;
	const struct store_image *store_image = s->launch->plan.store_image;
	unsigned said = 0;

	for (unsigned i = 0; i < ARRAY_LEN(variables); i++)
		if (list_get_env(set, variables[i]) ||
		    (store_image &&
		     list_get_env(&store_image->launch_config.env, variables[i])))
			said |= 1u << i;
	for (size_t i = 0; i < s->dispatcher.variables.count; i++)
		said |= methods_user_variable(s->dispatcher.variables.all[i].name);
	return said;
}

/* Prepares the look-up of a user in the sandbox's files.  With --idmap ranges the
 * sandbox's root reads the files. */
static int look_up(const struct request *call, struct job *j, const char *user)
{
	if (!*user || *user == ':' || strlen(user) >= ACCOUNT_TEXT)
		return err_set(call->e, ERR_USAGE,
			       "-u takes USER or USER:GROUP, not '%.60s'", user);
	j->user = text_copy(user);
	j->said = already_said(call->s);
	if (call->s->launch->plan.has_ranges)
		j->exec.uid = j->exec.gid = 0;
	return 0;
}

/* Returns the name of the sandbox's own user, where the image's files define it. */
static const char *own_user(const struct plan *plan)
{
	return plan->store_image ? plan->store_image->user.name : plan->dir_user.name;
}

/* Gets the ids of a user of the image.  If only one id is mapped and `user` names that
 * one, nothing needs to be looked up. */
static int get_image_user(const struct request *call, struct job *j, const char *user)
{
	const struct plan *plan = &call->s->launch->plan;
	AUTO_FREE char *id = text_format("%u", j->exec.uid);
	AUTO_FREE char *ids = text_format("%u:%u", j->exec.uid, j->exec.gid);

	if (!plan->has_ranges &&
	    (!strcmp(user, own_user(plan)) || !strcmp(user, id) || !strcmp(user, ids)))
		return 0;
	return look_up(call, j, user);
}

/* Refuses a user whose ids are not mapped.  Otherwise setuid(2) would fail with
 * "Invalid argument", which does not tell why. */
static int not_mapped(const struct supervisor *s, const char *user, struct err *e)
{
	const struct plan *plan = &s->launch->plan;
	AUTO_FREE char *id = text_format("%u", plan->uid);
	const char *name = own_user(plan)      ? own_user(plan)
			   : plan->uid == 1000 ? "agent"
			   : plan->uid	       ? id
					       : "root";

	(void)err_set(e, ERR_USAGE,
		      "-u %.60s: only one id is mapped, and in this sandbox it "
		      "stands for %.60s (%u:%u)",
		      user, name, plan->uid, plan->gid);
	return err_remedy(e,
			  "make the sandbox with -u %.60s; or with --idmap ranges, which "
			  "maps 65536 ids",
			  user);
}

/* Reads the user of an exec.start, in the form of -u: a name or number that the id map
 * contains.  With --idmap ranges it may also be a name that was added to the sandbox's
 * /etc/passwd later. */
int methods_get_user(const struct request *call, struct job *j)
{
	struct policy p = *call->s->launch->policy; /* a shallow copy: its members are
						     * not freed */
	const struct plan *plan = &call->s->launch->plan;
	const char *user = NULL;
	AUTO_FREE char *copy = NULL;

	if (request_text(call, "user", &user) < 0)
		return -1;
	if (!user)
		return 0;
	if (own_user(plan))
		return get_image_user(call, j, user);
	p.user = copy = text_copy(user);
	if (policy_user(&p, &j->exec.uid, &j->exec.gid, call->e) < 0)
		return plan->has_ranges ? look_up(call, j, user) : -1;
	if (plan->has_ranges || (j->exec.uid == plan->uid && j->exec.gid == plan->gid))
		return 0;
	return not_mapped(call->s, user, call->e);
}

/* --- what was found ----------------------------------------------------------------- */

struct person {
	uint32_t uid, gid;
	uint32_t groups[EXEC_MAX_GROUPS];
	uint32_t group_count;
	const char *name, *home; /* borrowed; from the account's entry in passwd; NULL:
				  * there is no entry */
};

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* Parses a line "KEY VALUE" of the look-up's result, which a process inside has
 * written. */
static bool take_line(struct person *p, char *line)
{
	char *value = strchr(line, ' ');

	if (!value || !is_printable(line))
		return false;
	*value++ = '\0';
	if (!strcmp(line, "uid"))
		return account_id(value, &p->uid);
	if (!strcmp(line, "gid"))
		return account_id(value, &p->gid);
	if (!strcmp(line, "group"))
		return p->group_count < EXEC_MAX_GROUPS &&
		       account_id(value, &p->groups[p->group_count++]);
	if (!strcmp(line, "name"))
		p->name = value;
	else if (!strcmp(line, "home") && *value == '/')
		p->home = value;
	else
		return false;
	return true;
}

static bool take_text(struct person *p, char *text)
{
	char *line;

	*p = (struct person){ .uid = UINT32_MAX, .gid = UINT32_MAX };
	while ((line = strsep(&text, "\n")))
		if (!take_line(p, line))
			return false;
	return p->uid != UINT32_MAX && p->gid != UINT32_MAX;
}

static int not_found(const struct supervisor *s, const struct job *j,
		     const struct returned *x, struct err *e)
{
	const bool is_group = !strcmp(x->path, "group");
	const char *colon = strchr(j->user, ':');
	const int len = (int)strcspn(j->user, ":");

	if (is_group)
		(void)err_set(e, ERR_USAGE,
			      "-u %.60s: unable to find group %.60s: no matching "
			      "entries in group file",
			      j->user, colon ? colon + 1 : "");
	else
		(void)err_set(e, ERR_USAGE,
			      "-u %.60s: unable to find user %.*s: no matching "
			      "entries in passwd file",
			      j->user, len < 60 ? len : 60, j->user);
	return err_remedy(
		e,
		"names are those of the sandbox's own /etc/%s, which hutch exec %.63s "
		"cat /etc/%s shows; numbers need no line there",
		is_group ? "group" : "passwd", s->entry->name,
		is_group ? "group" : "passwd");
}

static int check_outcome(const struct supervisor *s, const struct job *j,
			 const struct returned *x, const char *text, struct err *e)
{
	if (x->outcome == OUTCOME_DONE)
		return 0;
	if (x->outcome == OUTCOME_NOT_FOUND)
		return not_found(s, j, x, e);
	if (x->outcome == OUTCOME_REFUSED) {
		(void)err_set(e, ERR_LIMIT, "-u %.60s: %.100s", j->user, text);
		err_sanitize(e);
		return err_remedy(e, "-u USER:GROUP asks for that group alone");
	}
	(void)err_set(e, ERR_SYSTEM,
		      "-u %.60s: look in /etc/passwd and /etc/group of the sandbox: "
		      "%s",
		      j->user,
		      x->outcome == OUTCOME_TIMED_OUT ? "they do not answer"
						      : strerror((int)x->sys));
	return err_remedy(
		e, "hutch exec %.63s ls -l /etc/passwd /etc/group shows what they are",
		s->entry->name);
}

/* Checks that the user's ids are in the sandbox's range.  EXECUTOR_ID, the first id
 * after those for users, is mapped too, but belongs to the executor. */
static int check_ranges(const struct job *j, const struct person *p, struct err *e)
{
	uint32_t most = p->uid > p->gid ? p->uid : p->gid;

	for (uint32_t i = 0; i < p->group_count; i++)
		most = p->groups[i] > most ? p->groups[i] : most;
	if (most < EXECUTOR_ID) /* layer: user-ids */
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "-u %.60s: %u is not among the ids 0 to %d that --idmap "
		      "ranges maps",
		      j->user, most, EXECUTOR_ID - 1);
	return err_remedy(e, "a user whose number, and those of its groups, are below");
}

static int check_mapped(const struct supervisor *s, const struct job *j, struct person *p,
			struct err *e)
{
	const struct plan *plan = &s->launch->plan;

	if (plan->has_ranges)
		return check_ranges(j, p, e);
	if (p->uid != plan->uid || p->gid != plan->gid)
		return not_mapped(s, j->user, e);
	p->group_count = 0; /* with only one mapped id, no supplementary group is
			     * possible */
	return 0;
}

static void set_variables(struct job *j, const struct person *p)
{
	AUTO_FREE char *number = text_format("%u", p->uid);
	const char *name = p->name ? p->name : p->uid ? number : "root";
	const char *values[] = { p->home ? p->home : p->uid ? "/" : "/root", name, name };

	for (unsigned i = 0; i < ARRAY_LEN(variables); i++) {
		AUTO_FREE char *pair = text_format("%s=%s", variables[i], values[i]);
		if (!(j->said & 1u << i))
			list_set_env(&j->env, pair);
	}
	j->exec.env = j->env.items;
}

static int take_account(struct supervisor *s, struct job *j, const struct returned *x,
			struct err *e)
{
	AUTO_FREE char *text = text_format("%.*s", (int)buffer_len(&j->found),
					   (const char *)buffer_data(&j->found));
	struct person p;

	if (check_outcome(s, j, x, text, e) < 0)
		return -1;
	if (!take_text(&p, text))
		return err_set(e, ERR_PROTOCOL,
			       "-u %.60s: the executor sent an invalid account", j->user);
	if (check_mapped(s, j, &p, e) < 0)
		return -1;
	j->exec.uid = p.uid;
	j->exec.gid = p.gid;
	j->exec.group_count = p.group_count;
	memcpy(j->exec.groups, p.groups, sizeof(p.groups));
	set_variables(j, &p);
	return records_begin(s, j->owner, j, e);
}

bool methods_looked_up(void *context, struct job *j, const struct returned *x)
{
	struct supervisor *s = context;
	struct err e = { 0 };

	if (take_account(s, j, x, &e) == 0)
		return true;
	redact_err(&s->dispatcher.secrets, &e);
	client_error(j->owner, j->request, e.kind == ERR_USAGE ? RPC_PARAMS : RPC_FAILED,
		     &e);
	j->owner->under_way--;
	return false;
}
