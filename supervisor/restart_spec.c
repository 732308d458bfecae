#include "supervisor/restart_spec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "cli/common/options.h"
#include "policy/environment.h"
#include "policy/json/json.h"
#include "policy/policy.h"
#include "policy/policy_file.h"
#include "policy/port_spec.h"
#include "policy/seccomp/profile.h"

/* --- kept --------------------------------------------------------------------- */

/* Replaces the setting of --cgroup-parent by its absolute path: a relative one would
 * depend on the working directory at the next start. */
static int say_cgroup(const struct policy *p, struct policy_file *said, struct err *e)
{
	if (!p->cgroup_parent)
		return 0;
	policy_file_forget(said, "cgroup-parent");
	return policy_file_say(said, "cgroup-parent", p->cgroup_parent, "/", e);
}

static int say_variables(const struct policy *p, struct policy_file *said, struct err *e)
{
	static const char *const flags[] = { "env", "env-file", "secret", "secret-file" };

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		policy_file_forget(said, flags[i]);
	for (size_t i = 0; i < p->env_set.count; i++) {
		const char *pair = p->env_set.items[i];
		if (!environment_is_secret(p, pair, strcspn(pair, "=")) &&
		    policy_file_say(said, "env", pair, "/", e) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->secrets.count; i++)
		if (policy_file_say(said, "secret", p->secrets.items[i], "/", e) < 0)
			return -1;
	return 0;
}

/* Refuses a text that has the value of a secret in it; `where` says which text it is. */
static int check_shown(const struct redact *m, const char *text, const char *where,
		       struct err *e)
{
	AUTO_FREE char *shown = redact_copy(m, text);

	if (!strcmp(shown, text))
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "--keep would write the value of a secret to disk: it "
		      "stands in %s",
		      where);
	return err_remedy(e, "say that as --secret too, or leave --keep out");
}

static int check_hidden(const struct redact *m, const struct policy *p,
			const struct policy_file *said, struct err *e)
{
	for (size_t i = 0; i < said->count; i++)
		if (check_shown(m, said->items[i].value, said->items[i].kind->key, e) < 0)
			return -1;
	for (size_t i = 0; i < p->argv.count; i++)
		if (check_shown(m, p->argv.items[i], "the words of the main process", e) <
		    0)
			return -1;
	return 0;
}

static bool is_text(const char *text)
{
	return utf8_is_valid((const uint8_t *)text, strlen(text), false);
}

static int check_args(const struct policy *p, struct err *e)
{
	AUTO_FREE char *args = restart_spec_args(p);

	for (size_t i = 0; i < p->argv.count; i++)
		if (!is_text(p->argv.items[i]))
			return err_set(e, ERR_UNSUPPORTED,
				       "--keep keeps only UTF-8 text, and a word "
				       "of the main process is not");
	return strlen(args) <= POLICY_FILE_BYTES_MAX
		       ? 0
		       : err_set(e, ERR_LIMIT,
				 "--keep keeps words of the main process of up to %u "
				 "bytes",
				 POLICY_FILE_BYTES_MAX);
}

/* Refuses options that could not be saved or read back unchanged. */
static int check_readable(const struct policy_file *said, struct err *e)
{
	AUTO_FREE char *text = settings_print(said);

	for (size_t i = 0; i < said->count; i++) {
		const char *value = said->items[i].value;
		if (!is_text(value))
			return err_set(e, ERR_UNSUPPORTED, "--keep keeps only UTF-8 text, and the "
							   "value of %s is not", said->items[i].kind->key);
	}
	if (strlen(text) > POLICY_FILE_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "--keep keeps options of up to %u bytes, variables "
					     "and their names too", POLICY_FILE_BYTES_MAX);
	return 0;
}

int restart_spec_describe(const struct policy *p, struct policy_file *said, struct err *e)
{
	struct redact m = { 0 };

	if (say_variables(p, said, e) < 0 || say_cgroup(p, said, e) < 0 ||
	    check_readable(said, e) < 0 || check_args(p, e) < 0)
		return -1;
	int result = environment_mask(p, &m, e) < 0 ? -1 : check_hidden(&m, p, said, e);
	redact_done(&m);
	return result;
}

char *restart_spec_args(const struct policy *p)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "[");
	for (size_t i = 0; i < p->argv.count; i++)
		json_write_text(&b, NULL, p->argv.items[i]);
	json_write_close(&b, "]");
	return json_write_end(&b);
}

int restart_spec_take_args(const char *text, struct list *to, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), e);
	struct json_at root, item = { 0 };
	const char *word;

	if (!doc)
		return -1;
	json_root(doc, "args", &root);
	if (json_expect(&root, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&root, &item)) {
		if (json_string(&item, &word, e) < 0)
			return -1;
		list_add(to, word);
	}
	return 0;
}

char *restart_spec_profile(const struct policy *p)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int fd = p->seccomp ? open(p->seccomp, flags) : -1;
	char *text = NULL;
	size_t len;

	if (fd < 0 || io_read_file(fd, "it", PROFILE_BYTES_MAX, &text, &len, NULL) < 0)
		return NULL;
	return text;
}

/* --- taken up again ------------------------------------------------------------ */

/* Removes the settings for which is_done() returns true. */
static void drop(struct policy_file *s, bool (*is_done)(struct policy *, const struct setting *),
		 struct policy *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_done(p, &s->items[i]))
			free(s->items[i].value);
		else
			s->items[kept++] = s->items[i];
	s->count = kept;
}

static bool has_value(const struct policy *p, const char *name)
{
	return list_get_env(&p->env_set, name) != NULL;
}

static bool is_said_by_flag(struct policy *p, const struct setting *s)
{
	if (!strcmp(s->kind->flag, "env")) {
		AUTO_FREE char *name = text_format("%.*s", (int)strcspn(s->value, "="), s->value);
		return has_value(p, name);
	}
	if (strcmp(s->kind->flag, "secret") != 0 || !has_value(p, s->value))
		return false;
	/* An option -e has set the variable.  It must stay a secret all the same. */
	if (!environment_is_secret(p, s->value, strlen(s->value)))
		list_add(&p->secrets, s->value);
	return true;
}

/* Refuses settings that restart_spec_describe() never writes.  A user could add them to
 * the saved spec, so that root reads files which that user may not read. */
static int check_kept(const struct policy_file *s, const char *name, struct err *e)
{
	for (size_t i = 0; i < s->count; i++) {
		const char *flag = s->items[i].kind->flag;
		const bool is_pair = strchr(s->items[i].value, '=');
		if ((!strcmp(flag, "env") && !is_pair) || !strcmp(flag, "env-file") ||
		    !strcmp(flag, "secret-file"))
			return err_set(e, ERR_REFUSED, "the kept options of sandbox '%s' have %s, "
						       "which is never kept in that form", name, flag);
	}
	return 0;
}

static int check_secrets(const struct policy_file *s, struct err *e)
{
	struct list missing = { 0 };

	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->items[i].kind->flag, "secret") && !getenv(s->items[i].value))
			list_add(&missing, s->items[i].value);
	if (!missing.count)
		return 0;
	AUTO_FREE char *names = list_join(&missing, 0, ", ");
	list_done(&missing);
	(void)err_set(e, ERR_USAGE, "secrets are not kept, and these have no value: %.300s",
		      names);
	return err_remedy(e, "give them again: hutch start --secret NAME=VALUE, --secret-file FILE, "
			     "or as variables of yours");
}

int restart_spec_apply(struct run_options *o, const char *name, struct policy_file *kept, struct err *e)
{
	const enum verb verb = o->verb;

	drop(kept, is_said_by_flag, o->policy);
	if (check_kept(kept, name, e) < 0 || check_secrets(kept, e) < 0)
		return -1;
	o->verb = VERB_CREATE; /* the saved settings were written by `hutch create`, so
				* parse them as its options */
	int result = options_apply(o, kept, e);
	o->verb = verb;
	/* The settings contain the volumes of all policies and options.  If several
	 * have the same target, the last one counts. */
	policy_prefer(o->policy, o->policy->volume_count);
	return result;
}

/* --- where it leads ------------------------------------------------------------- */

typedef int place_visit(const char *shown, char **path, void *to, struct err *e);

/* Calls `visit` for the folder of a published unix socket.  The socket itself does not
 * exist yet, but a link may have replaced its folder; the socket is created in the
 * folder to which the path leads now. */
static int visit_folder(struct port_spec *at, place_visit *visit, void *to, struct err *e)
{
	const size_t len = (size_t)(strrchr(at->path, '/') - at->path);
	AUTO_FREE char *folder = text_format("%.*s", len ? (int)len : 1, at->path);

	free(at->folder);
	at->folder = realpath(folder, NULL);
	return visit(at->from, at->folder ? &at->folder : &folder, to, e);
}

/* Calls `visit` for each path of the host that the sandbox shows, with its place
 * inside, and for the folder of each published unix socket; not for a plugin that hutch
 * finds by its name, which another release of hutch, or `hutch plugin install`, may have
 * put elsewhere.  Stops when a call fails. */
static int each_place(struct policy *p, place_visit *visit, void *to, struct err *e)
{
	int result = p->image == IMAGE_DIR ? visit("/", &p->image_path, to, e) : 0;

	if (result == 0 && p->upper)
		result = visit("--upper", &p->upper, to, e);
	for (size_t i = 0; i < p->volume_count && result == 0; i++)
		if (p->volumes[i].source && !p->volumes[i].is_found)
			result = visit(p->volumes[i].target, &p->volumes[i].source, to, e);
	for (size_t i = 0; i < p->publish_count && result == 0; i++)
		if (p->publishes[i].path)
			result = visit_folder(&p->publishes[i], visit, to, e);
	return result;
}

static char *place_line(const char *shown, const char *real)
{
	AUTO_FREE char *at = json_write_quoted(shown), *where = json_write_quoted(real);

	return text_format("%s %s", at, where);
}

/* Adds a line that says where a path leads.  A path that does not exist is skipped; the
 * launch reports it later. */
static int note_place(const char *shown, char **path, void *to, struct err *e)
{
	AUTO_FREE char *real = realpath(*path, NULL);
	AUTO_FREE char *line = real ? place_line(shown, real) : NULL;

	(void)e;
	if (line)
		list_add(to, line);
	return 0;
}

char *restart_spec_places(struct policy *p)
{
	struct list places = { 0 };

	(void)each_place(p, note_place, &places, NULL); /* note_place() never fails */
	list_add(&places, ""); /* an empty last item, so that each line ends with a
				* newline */
	char *text = list_join(&places, 0, "\n");
	list_done(&places);
	return text;
}

static bool has_line(const char *text, const char *line)
{
	const size_t len = strlen(line);

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") == len && !strncmp(at, line, len))
			return true;
	return false;
}

static int leads_elsewhere(const char *place, struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "a path that the sandbox shows leads elsewhere than when "
				      "the sandbox was made: %.300s", place);
	return err_remedy(e, "put back what was there, or make the sandbox anew; a link may have "
			     "been put there from inside");
}

static int hold_place(const char *shown, char **path, void *to, struct err *e)
{
	AUTO_FREE char *real = realpath(*path, NULL);

	if (!real)
		return err_sys(e, "look at %.300s, which the sandbox shows at %.300s", *path, shown);
	AUTO_FREE char *line = place_line(shown, real);
	if (!has_line(to, line)) /* layer: kept-target */
		return leads_elsewhere(line, e);
	free(*path);
	*path = real;
	real = NULL;
	return 0;
}

int restart_spec_hold_places(struct policy *p, char *kept, struct err *e)
{
	if (each_place(p, hold_place, kept, e) < 0)
		return -1;
	p->is_resolved = true; /* layer: kept-resolved */
	return 0;
}
