#include "policy/plugin/manifest.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/regular.h"
#include "policy/json/json.h"

#define READY_S	  60
#define TIMEOUT_S 120
#define GRACE_S	  5

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int is_wrong(const struct json_at *at, const char *expected, struct err *e)
{
	return err_set(e, ERR_USAGE, "%s: %s was expected", at->place, expected);
}

/* --- names ----------------------------------------------------------------- */

bool manifest_is_name(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len <= MANIFEST_NAME_MAX && strchr(LOWER, *text) &&
	       strspn(text, LOWER DIGITS "_-") == len;
}

/* Returns whether the text is the name of an action or of a member. */
static bool is_member_name(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len <= MANIFEST_MEMBER_MAX &&
	       strspn(text, LOWER UPPER DIGITS "_") == len;
}

/* Returns whether hutch itself does the action, so that no plugin is asked. */
static bool is_own_action(const char *name)
{
	static const char *const own[] = {
		"run", "read", "write", "edit", "list", "glob", "grep", "stat", "move",
		"remove", "mkdir", "git_clone", "git_branch", "git_changes", "git_diff",
		"git_setup", "microagents", "install_git_hooks", "run_setup_script",
		"env", "confirm", "cancel"
	};

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!strcmp(own[i], name))
			return true;
	return false;
}

/* Returns whether the text can be shown on a terminal, and stand in a URL, as it is. */
static bool is_visible(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return !*text;
}

/* Returns whether the text is a path that stays below the plugin's folder.  A colon would
 * add a second folder to PATH. */
static bool is_below(const char *text)
{
	if (!*text || *text == '/' || strlen(text) > 255 || strchr(text, ':'))
		return false;
	for (const char *at = text; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
			return false;
	}
	return true;
}

/* --- values ------------------------------------------------------------------- */

static int get_text(const struct json_at *object, const char *key, size_t most,
		    char **ret, struct err *e)
{
	struct json_at at;
	const char *text;

	if (!json_member(object, key, &at))
		return 0;
	if (json_string(&at, &text, e) < 0)
		return -1;
	if (!*text || strlen(text) > most)
		return err_set(e, ERR_USAGE, "%s: a text of 1 to %zu bytes was expected",
			       at.place, most);
	*ret = text_copy(text);
	return 0;
}

static int get_below(const struct json_at *object, const char *key, char **ret,
		     struct err *e)
{
	struct json_at at;

	if (get_text(object, key, 255, ret, e) < 0)
		return -1;
	if (!*ret || is_below(*ret))
		return 0;
	(void)json_member(object, key, &at); /* it is there: its text was read */
	return is_wrong(&at, "a path below the plugin's folder, without a colon,", e);
}

static int get_words(const struct json_at *object, const char *key, struct list *ret,
		     struct err *e)
{
	struct json_at all, one = { 0 };
	const char *text;

	if (!json_member(object, key, &all))
		return 0;
	if (json_expect(&all, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&all, &one)) {
		if (json_string(&one, &text, e) < 0)
			return -1;
		if (ret->count == MANIFEST_WORDS_MAX)
			return is_wrong(&all, "a list of at most 64 texts", e);
		list_add(ret, text);
	}
	return 0;
}

static int get_seconds(const struct json_at *object, const char *key, double other,
		       uint32_t *ret_ms, struct err *e)
{
	struct json_at at = *object;
	double seconds = other;

	if (json_member(object, key, &at) && json_number(&at, &seconds, e) < 0)
		return -1;
	if (!(seconds >= 0.001 && seconds <= MANIFEST_SECONDS_MAX))
		return is_wrong(&at, "a number of seconds from 0.001 to 86400", e);
	*ret_ms = (uint32_t)(seconds * 1000);
	return 0;
}

/* --- the schema of an action ---------------------------------------------------- */

struct type_name {
	const char *name;
	enum plugin_type type;
};

static const struct type_name arg_types[] = {
	{ "text", PLUGIN_TEXT }, { "number", PLUGIN_NUMBER }, { "flag", PLUGIN_FLAG },
	{ "any", PLUGIN_ANY },
};
static const struct type_name answer_types[] = {
	{ "text", PLUGIN_TEXT }, { "number", PLUGIN_NUMBER }, { "flag", PLUGIN_FLAG },
	{ "png", PLUGIN_PNG },
};
_Static_assert(ARRAY_LEN(arg_types) == ARRAY_LEN(answer_types), "one loop reads both");

static int get_type(const struct json_at *at, const struct type_name *types,
		    enum plugin_type *ret, struct err *e)
{
	const char *text;

	if (json_string(at, &text, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(arg_types); i++)
		if (!strcmp(types[i].name, text)) {
			*ret = types[i].type;
			return 0;
		}
	return is_wrong(at,
			types == arg_types ? "text, number, flag or any"
					   : "text, number, flag, png or a list of one",
			e);
}

/* Reads the type of a member.  Only an answer may have a list, [TYPE]. */
static int get_member_type(const struct json_at *at, const struct type_name *types,
			   struct plugin_member *m, struct err *e)
{
	struct json_at item = { 0 }, second;

	if (types == arg_types || json_type(at) != JSON_ARRAY)
		return get_type(at, types, &m->type, e);
	m->is_list = true;
	if (!json_step(at, &item))
		return is_wrong(at, "a list with one type in it", e);
	second = item;
	if (json_step(at, &second))
		return is_wrong(at, "a list with one type in it", e);
	return get_type(&item, types, &m->type, e);
}

static int get_members(const struct json_at *object, const char *key,
		       const struct type_name *types, struct plugin_members *ret,
		       struct err *e)
{
	struct json_at all, one = { 0 };
	const char *name;

	if (!json_member(object, key, &all))
		return 0;
	if (json_expect(&all, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&all, &one, &name)) {
		if (!is_member_name(name))
			return is_wrong(&one, "a name of 1 to 64 letters, digits and _",
					e);
		if (ret->count == MANIFEST_MEMBERS_MAX)
			return is_wrong(&all, "an object of at most 64 members", e);
		ret->items = mem_resize(ret->items, ret->count + 1, sizeof(*ret->items));
		struct plugin_member *m = &ret->items[ret->count++];
		*m = (struct plugin_member){ .name = text_copy(name) };
		if (get_member_type(&one, types, m, e) < 0)
			return -1;
	}
	return 0;
}

static int get_required(const struct json_at *object, struct plugin_members *args,
			struct err *e)
{
	struct json_at all, one = { 0 };
	const char *name;

	if (!json_member(object, "required", &all))
		return 0;
	if (json_expect(&all, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&all, &one)) {
		if (json_string(&one, &name, e) < 0)
			return -1;
		struct plugin_member *m =
			(struct plugin_member *)manifest_member(args, name);
		if (!m)
			return is_wrong(&one, "a name of \"args\"", e);
		m->is_required = true;
	}
	return 0;
}

static int get_action(const struct json_at *at, const char *name, struct plugin_action *a,
		      struct err *e)
{
	static const char *const keys[] = { "args",	   "required", "answer",
					    "observation", "message",  NULL };

	a->name = text_copy(name);
	if (!is_member_name(name))
		return is_wrong(at,
				"an action with a name of 1 to 64 letters, digits and _",
				e);
	if (is_own_action(name))
		return is_wrong(at, "an action that hutch does not do itself", e);
	if (json_only(at, keys, e) < 0 ||
	    get_members(at, "args", arg_types, &a->args, e) < 0 ||
	    get_required(at, &a->args, e) < 0 ||
	    get_members(at, "answer", answer_types, &a->answer, e) < 0 ||
	    get_text(at, "observation", MANIFEST_MEMBER_MAX, &a->observation, e) < 0 ||
	    get_text(at, "message", 200, &a->message, e) < 0)
		return -1;
	if (a->observation && !is_member_name(a->observation))
		return is_wrong(at, "an observation of 1 to 64 letters, digits and _", e);
	const struct plugin_member *content = manifest_member(&a->answer, "content");
	if (content && (content->is_list || content->type != PLUGIN_TEXT))
		return is_wrong(at, "a text for \"content\"", e);
	if (!a->observation)
		a->observation = text_copy(name);
	if (!a->message)
		a->message = text_copy("");
	return 0;
}

static int get_actions(const struct json_at *root, struct manifest *m, struct err *e)
{
	struct json_at all, one = { 0 };
	const char *name;

	if (!json_member(root, "actions", &all))
		return 0;
	if (json_expect(&all, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&all, &one, &name)) {
		if (m->action_count == MANIFEST_ACTIONS_MAX)
			return is_wrong(&all, "an object of at most 32 actions", e);
		m->actions = mem_resize(m->actions, m->action_count + 1,
					sizeof(*m->actions));
		struct plugin_action *a = &m->actions[m->action_count++];
		*a = (struct plugin_action){ 0 };
		if (get_action(&one, name, a, e) < 0)
			return -1;
	}
	if (m->action_count > 0 && m->command.count == 0)
		return is_wrong(root, "a command, which answers the actions,", e);
	return 0;
}

/* --- the file ------------------------------------------------------------------- */

static int get_name(const struct json_at *root, const char *name, struct manifest *m,
		    struct err *e)
{
	if (get_text(root, "name", MANIFEST_NAME_MAX, &m->name, e) < 0 ||
	    get_text(root, "version", MANIFEST_NAME_MAX, &m->version, e) < 0)
		return -1;
	if (!m->name || !manifest_is_name(m->name))
		return err_set(e, ERR_USAGE, "%s.name: a name of 1 to 32 of a-z 0-9 _ -, "
					     "first a letter, was expected",
			       root->place);
	if (name && strcmp(m->name, name) != 0)
		return err_set(e, ERR_USAGE,
			       "%s.name: it is '%s', and the folder's name is '%.64s'",
			       root->place, m->name, name);
	if (!m->version || !is_visible(m->version))
		return err_set(e, ERR_USAGE,
			       "%s.version: a text of 1 to 32 visible ASCII "
			       "characters, without blanks, was expected",
			       root->place);
	return 0;
}

static int get_requires(const struct json_at *root, struct manifest *m, struct err *e)
{
	static const char *const keys[] = { "programs", "files", NULL };
	struct json_at at;

	if (!json_member(root, "requires", &at))
		return 0;
	if (json_only(&at, keys, e) < 0 ||
	    get_words(&at, "programs", &m->programs, e) < 0 ||
	    get_words(&at, "files", &m->files, e) < 0)
		return -1;
	for (size_t i = 0; i < m->files.count; i++)
		if (*m->files.items[i] != '/')
			return err_set(e, ERR_USAGE,
				       "%s.files[%zu]: a path that begins with / was "
				       "expected",
				       at.place, i);
	return 0;
}

static int get_start(const struct json_at *root, struct manifest *m, struct err *e)
{
	struct json_at at;
	const char *text;

	if (!json_member(root, "start", &at))
		return 0;
	if (json_string(&at, &text, e) < 0)
		return -1;
	m->starts_at_launch = !strcmp(text, "launch");
	return m->starts_at_launch || !strcmp(text, "lazy")
		       ? 0
		       : is_wrong(&at, "lazy or launch", e);
}

static int get_environment(const struct json_at *root, struct manifest *m, struct err *e)
{
	struct json_at all, one = { 0 };
	const char *name, *text;

	if (!json_member(root, "environment", &all))
		return 0;
	if (json_expect(&all, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&all, &one, &name)) {
		if (!is_member_name(name) || strchr(DIGITS, *name))
			return is_wrong(
				&one, "a name of letters, digits and _, first no digit,",
				e);
		if (m->environment.count == MANIFEST_WORDS_MAX)
			return is_wrong(&all, "an object of at most 64 variables", e);
		if (json_string(&one, &text, e) < 0)
			return -1;
		list_addf(&m->environment, "%s=%s", name, text);
	}
	return 0;
}

/* Reads what follows http://HOST:PORT.  A text that began otherwise could name another host,
 * to which a browser would take the token: http://127.0.0.1:8010@HOST/. */
static int get_url(const struct json_at *root, struct manifest *m, struct err *e)
{
	struct json_at at;

	if (get_text(root, "url", 255, &m->url, e) < 0)
		return -1;
	if (!m->url || (*m->url == '/' && is_visible(m->url)))
		return 0;
	(void)json_member(root, "url", &at); /* it is there: its text was read */
	return is_wrong(
		&at, "a path and query of visible ASCII characters, which begin with /,",
		e);
}

static int get_port(const struct json_at *root, struct manifest *m, struct err *e)
{
	static const char *const keys[] = { "inside", NULL };
	struct json_at at, inside;
	uint64_t port = 0;

	if (get_url(root, m, e) < 0)
		return -1;
	if (!json_member(root, "port", &at))
		return m->url ? is_wrong(root, "a port beside \"url\"", e) : 0;
	if (json_only(&at, keys, e) < 0)
		return -1;
	if (!json_member(&at, "inside", &inside))
		return is_wrong(&at, "a member \"inside\"", e);
	if (json_uint(&inside, &port, e) < 0)
		return -1;
	if (port == 0 || port > UINT16_MAX)
		return is_wrong(&inside, "a port from 1 to 65535", e);
	m->port = (uint16_t)port;
	return 0;
}

static int get_install(const struct json_at *root, struct manifest *m, struct err *e)
{
	static const char *const keys[] = { "program", "allow", NULL };
	struct json_at at;

	if (!json_member(root, "install", &at))
		return 0;
	if (json_only(&at, keys, e) < 0 || get_below(&at, "program", &m->install, e) < 0)
		return -1;
	return m->install ? get_words(&at, "allow", &m->allow, e)
			  : is_wrong(&at, "a member \"program\"", e);
}

static int get_all(const struct json_at *root, const char *name, struct manifest *m,
		   struct err *e)
{
	static const char *const keys[] = {
		"name",	     "version",	    "command", "actions",     "requires", "start",
		"ready_s",   "timeout_s",   "grace_s", "environment", "path",
		"python_path", "port",	    "url",     "install",     NULL,
	};

	if (json_only(root, keys, e) < 0 || get_name(root, name, m, e) < 0 ||
	    get_words(root, "command", &m->command, e) < 0 ||
	    get_actions(root, m, e) < 0 || get_requires(root, m, e) < 0 ||
	    get_start(root, m, e) < 0 || get_environment(root, m, e) < 0)
		return -1;
	if (get_seconds(root, "ready_s", READY_S, &m->ready_ms, e) < 0 ||
	    get_seconds(root, "timeout_s", TIMEOUT_S, &m->timeout_ms, e) < 0 ||
	    get_seconds(root, "grace_s", GRACE_S, &m->grace_ms, e) < 0)
		return -1;
	if (get_below(root, "path", &m->path, e) < 0 ||
	    get_below(root, "python_path", &m->python_path, e) < 0 ||
	    get_port(root, m, e) < 0)
		return -1;
	return get_install(root, m, e);
}

int manifest_load(const char *path, char **ret_text, size_t *ret_len, struct err *e)
{
	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, 0, path, e);

	if (fd < 0)
		return -1;
	return io_read_file(fd, path, MANIFEST_MAX, ret_text, ret_len, e);
}

int manifest_read(const char *text, size_t len, const char *name, struct manifest *ret,
		  struct err *e)
{
	struct json_at root;

	*ret = (struct manifest){ 0 };
	if (len > MANIFEST_MAX)
		return err_set(e, ERR_LIMIT, MANIFEST_FILE ": it has more than %u bytes",
			       MANIFEST_MAX);
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	if (!doc)
		return err_in(e, MANIFEST_FILE);
	json_root(doc, MANIFEST_FILE, &root);
	if (get_all(&root, name, ret, e) == 0)
		return 0;
	manifest_done(ret);
	return -1;
}

static void members_done(struct plugin_members *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->items[i].name);
	free(m->items);
}

void manifest_done(struct manifest *m)
{
	for (size_t i = 0; i < m->action_count; i++) {
		struct plugin_action *a = &m->actions[i];
		free(a->name);
		free(a->observation);
		free(a->message);
		members_done(&a->args);
		members_done(&a->answer);
	}
	free(m->actions);
	free(m->name);
	free(m->version);
	free(m->path);
	free(m->python_path);
	free(m->url);
	free(m->install);
	list_done(&m->command);
	list_done(&m->programs);
	list_done(&m->files);
	list_done(&m->environment);
	list_done(&m->allow);
	*m = (struct manifest){ 0 };
}

/* --- use ---------------------------------------------------------------------------- */

const struct plugin_action *manifest_action(const struct manifest *m, const char *name)
{
	for (size_t i = 0; i < m->action_count; i++)
		if (!strcmp(m->actions[i].name, name))
			return &m->actions[i];
	return NULL;
}

const struct plugin_member *manifest_member(const struct plugin_members *m,
					    const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->items[i].name, name))
			return &m->items[i];
	return NULL;
}

char *manifest_expand(const char *text, const char *folder)
{
	static const char mark[] = "${plugin}";
	char *all = text_copy("");

	for (;;) {
		const char *at = strstr(text, mark);
		int len = at ? (int)(at - text) : (int)strlen(text);
		char *longer = text_format("%s%.*s%s", all, len, text, at ? folder : "");
		free(all);
		all = longer;
		if (!at)
			return all;
		text = at + sizeof(mark) - 1;
	}
}

static int check_arg(const struct plugin_member *m, const struct json_at *at,
		     struct err *e)
{
	const char *text;
	double number;
	bool flag;

	switch (m->type) {
	case PLUGIN_TEXT:
		return json_string(at, &text, e);
	case PLUGIN_NUMBER:
		return json_number(at, &number, e);
	case PLUGIN_FLAG:
		return json_bool(at, &flag, e);
	case PLUGIN_PNG:
	case PLUGIN_ANY:
	default:
		return 0;
	}
}

/* Checks that each argument is one of the schema's, and of its type. */
static int check_types(const struct plugin_action *a, const struct json_at *args,
		       struct err *e)
{
	struct json_at one = { 0 };
	const char *name;

	while (json_step_key(args, &one, &name)) {
		const struct plugin_member *m = manifest_member(&a->args, name);
		if (!m)
			return err_set(e, ERR_USAGE, "args: '%.64s' takes no '%.64s'",
				       a->name, name);
		if (json_type(&one) != JSON_NULL && check_arg(m, &one, e) < 0)
			return -1;
	}
	return 0;
}

int manifest_check_args(const struct plugin_action *a, const struct json_at *args,
			struct err *e)
{
	struct json_at one;

	if (json_type(args) != JSON_NONE && (json_expect(args, JSON_OBJECT, e) < 0 ||
					     check_types(a, args, e) < 0))
		return -1;
	for (size_t i = 0; i < a->args.count; i++)
		if (a->args.items[i].is_required &&
		    !json_member(args, a->args.items[i].name, &one))
			return err_set(e, ERR_USAGE, "args.%s: it is missing",
				       a->args.items[i].name);
	return 0;
}
