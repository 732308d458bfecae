#include "policy/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/own.h"
#include "policy/egress_policy.h"
#include "policy/json/json.h"

#define EGRESS_RULES   "egress.rules"
#define EGRESS_DEFAULT "egress.default" /* a key that is no setting: it has one value */

static const struct profile {
	const char *name, *text;
} profiles[] = {
#include "gen/profiles.h"
};

const struct setting_kind setting_kinds[] = {
	{ "image", "image", SETTING_TEXT, false },
	{ "pull", "pull", SETTING_TEXT, false },
	{ "entrypoint", "entrypoint", SETTING_TEXT, false },
	{ "upper", "upper", SETTING_TEXT, true },
	{ "keep", "keep", SETTING_YES, false },
	{ "main", "main", SETTING_YES, false },
	{ "restart", "restart", SETTING_TEXT, false },
	{ "stop_signal", "stop-signal", SETTING_TEXT, false },
	{ "stop_timeout", "stop-timeout", SETTING_NUMBER, false },
	{ "read_only", "read-only", SETTING_YES, false },
	{ "workspace", "workspace", SETTING_TEXT, true },
	{ "mounts", "volume", SETTING_LIST, true },
	{ "protected", "protect", SETTING_LIST, false },
	{ "protect_missing", "protect-missing", SETTING_YES, false },
	{ "toolchains", "toolchain", SETTING_LIST, true },
	{ "tmpfs", "tmpfs", SETTING_LIST, false },
	{ "env", "env", SETTING_MAP, false },
	{ "env_pass", "env", SETTING_LIST, false },
	{ "env_files", "env-file", SETTING_LIST, true },
	{ "secrets", "secret", SETTING_LIST, false },
	{ "secret_files", "secret-file", SETTING_LIST, true },
	{ "workdir", "workdir", SETTING_TEXT, false },
	{ "user", "user", SETTING_TEXT, false },
	{ "hostname", "hostname", SETTING_TEXT, false },
	{ "labels", "label", SETTING_MAP, false },
	{ "isolation", "isolation", SETTING_TEXT, false },
	{ "landlock", "landlock", SETTING_TEXT, false },
	{ "idmap", "idmap", SETTING_TEXT, false },
	{ "network", "network", SETTING_TEXT, false },
	{ "add_hosts", "add-host", SETTING_LIST, false },
	{ "publish", "publish", SETTING_LIST, false },
	{ "egress.rules", "allow", SETTING_OBJECTS, false },
	{ "network_join", "network-join", SETTING_LIST, false },
	{ "capabilities.add", "cap-add", SETTING_LIST, false },
	{ "capabilities.drop", "cap-drop", SETTING_LIST, false },
	{ "nesting", "nesting", SETTING_YES, false },
	{ "seccomp", "seccomp", SETTING_TEXT, true },
	{ "limits.memory", "memory", SETTING_TEXT, false },
	{ "limits.cpus", "cpus", SETTING_NUMBER, false },
	{ "limits.pids", "pids-limit", SETTING_NUMBER, false },
	{ "limits.disk", "disk", SETTING_TEXT, false },
	{ "limits.timeout", "timeout", SETTING_TEXT, false },
	{ "limits.ttl", "ttl", SETTING_TEXT, false },
	{ "limits.idle_timeout", "idle-timeout", SETTING_TEXT, false },
	{ "limits.ulimits", "ulimit", SETTING_MAP, false },
	{ "limits.cgroup_parent", "cgroup-parent", SETTING_TEXT, false },
	{ "limits.best_effort", "best-effort", SETTING_YES, false },
	{ "plugins", "plugin", SETTING_LIST, true },
	{ "rules", "rule", SETTING_OBJECTS, false },
	{ "lint", "lint", SETTING_YES, false },
	{ "audit", "audit", SETTING_TEXT, true },
	{ "sample", "sample", SETTING_TEXT, false },
	{ NULL, NULL, SETTING_TEXT, false },
};

/* The keys that are no settings: those about the file itself, and the names of the
 * objects that group settings. */
static const char *const others[] = {
	"$schema", "version",	   "about",  "why",
	"extends", "capabilities", "egress", "limits",
};

/* A file or profile that is being read. */
struct source {
	struct policy_file *into;
	const char *name;   /* the source's name as the user gave it, for errors */
	const char *origin; /* the origin of this source's settings: the source's name,
			     * kept in `into` */
	const char *folder; /* the file's folder; NULL: the source is a profile */
	const struct source *above; /* the source whose `extends` names this one; NULL:
				     * none */
	dev_t dev; /* with `ino`: identifies the file, to detect one that extends
		    * itself */
	ino_t ino;
};

/* --- the list --------------------------------------------------------------------- */

static const char *keep_origin(struct policy_file *s, const char *name)
{
	s->origins = mem_resize(s->origins, s->origin_count + 1, sizeof(*s->origins));
	s->origins[s->origin_count] = text_copy(name);
	return s->origins[s->origin_count++];
}

static void forget(struct policy_file *s, const struct setting_kind *kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].kind == kind)
			free(s->items[i].value);
		else
			s->items[kept++] = s->items[i];
	s->count = kept;
}

/* Removes the setting of the same map that has the same KEY as `value`, KEY=VALUE. */
static void forget_same(struct policy_file *s, const struct setting_kind *kind,
			const char *value)
{
	size_t len = strcspn(value, "=") + 1;

	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].kind != kind || strncmp(s->items[i].value, value, len))
			continue;
		free(s->items[i].value);
		memmove(&s->items[i], &s->items[i + 1],
			(--s->count - i) * sizeof(*s->items));
		return;
	}
}

/* Adds a setting and takes over `value`.  It replaces an earlier setting of the same
 * key; settings of a list are all kept, and in a map only the same KEY is replaced. */
static int add(const struct source *from, const struct setting_kind *kind, char *value,
	       struct err *e)
{
	struct policy_file *s = from->into;

	if (kind->type == SETTING_MAP)
		forget_same(s, kind, value);
	else if (kind->type != SETTING_LIST && kind->type != SETTING_OBJECTS)
		forget(s, kind);
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 32;
		s->items = mem_resize(s->items, s->room, sizeof(*s->items));
	}
	s->items[s->count++] = (struct setting){ kind, value, from->origin };
	if (s->count > POLICY_FILE_MAX)
		return err_set(e, ERR_LIMIT, "a policy has more than %d settings",
			       POLICY_FILE_MAX);
	return 0;
}

void policy_file_done(struct policy_file *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free(s->items[i].value);
	for (size_t i = 0; i < s->origin_count; i++)
		free(s->origins[i]);
	free(s->items);
	free(s->origins);
	*s = (struct policy_file){ 0 };
}

static bool has_suffix(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && !strcmp(name + len - 5, ".json");
}

/* Returns whether the name is the path of a file; otherwise it names a profile. */
static bool is_file(const char *name)
{
	return strchr(name, '/') || has_suffix(name);
}

/* --- values ----------------------------------------------------------------------- */

/* Returns the path in the form that the flag gets.  A relative path in a file is
 * relative to the file's folder. */
static char *host_path(const struct source *from, const char *value)
{
	const char *home = getenv("HOME");

	if (!strncmp(value, "~/", 2) && home)
		return text_format("%s%s", home, value + 1);
	if (value[0] == '/' || !from->folder || !value[0])
		return text_copy(value);
	return text_format("%s/%s", from->folder,
			   value + (strncmp(value, "./", 2) ? 0 : 2));
}

/* Returns the verdict of the rules of a flag, --allow, --deny or --ask; of a file, whose
 * rules are objects, any. */
static enum egress_verdict verdict_of(const char *flag)
{
	return !strcmp(flag, "deny")  ? EGRESS_DENY
	       : !strcmp(flag, "ask") ? EGRESS_ASK
				      : EGRESS_ALLOW;
}

/* Returns the value in the form that the flag takes.  A relative path, also that of an
 * image "dir:PATH" and of a network "ns:PATH", is completed by host_path(). */
static char *as_flag_takes_it(const struct source *from, const struct setting_kind *kind,
			      const char *value)
{
	/* "on" and the name of a plugin are no paths. */
	bool is_word = (!strcmp(kind->key, "audit") || !strcmp(kind->key, "plugins")) &&
		       !strchr(value, '/');
	if (kind->is_path && !is_word)
		return host_path(from, value);
	if (!strcmp(kind->key, EGRESS_RULES))
		return egress_policy_text(verdict_of(from->name), value);
	const char *prefix = !strcmp(kind->key, "image")     ? "dir:"
			     : !strcmp(kind->key, "network") ? "ns:"
							     : NULL;
	if (!prefix || strncmp(value, prefix, strlen(prefix)) != 0)
		return text_copy(value);
	AUTO_FREE char *path = host_path(from, value + strlen(prefix));
	return text_format("%s%s", prefix, path);
}

static int add_string(const struct source *from, const struct setting_kind *kind,
		      const struct json_at *at, struct err *e)
{
	const char *value;

	if (json_string(at, &value, e) < 0)
		return -1;
	/* Other users may be able to read a policy file, so it may name secrets but not
	 * contain their values. */
	if (!strcmp(kind->key, "secrets") && strchr(value, '='))
		return err_set(e, ERR_USAGE,
			       "%s: the name of a variable was expected, without "
			       "its value",
			       at->place);
	return add(from, kind, as_flag_takes_it(from, kind, value), e);
}

/* Adds an object as a setting whose value is the object's JSON text. */
static int add_object(const struct source *from, const struct setting_kind *kind,
		      const struct json_at *at, struct err *e)
{
	size_t len;
	const char *text = json_source(at, &len);

	if (json_expect(at, JSON_OBJECT, e) < 0)
		return -1;
	AUTO_FREE char *object = text_format("%.*s", (int)len, text);
	if (!strcmp(kind->key, EGRESS_RULES) && egress_policy_check_text(object, e) < 0)
		return err_in(e, "%s", at->place);
	return add(from, kind, text_copy(object), e);
}

static int add_number(const struct source *from, const struct setting_kind *kind,
		      const struct json_at *at, struct err *e)
{
	if (json_type(at) == JSON_STRING)
		return add_string(from, kind, at, e);
	size_t len;
	const char *source = json_source(at, &len);
	if (json_expect(at, JSON_NUMBER, e) < 0)
		return -1;
	return add(from, kind, text_format("%.*s", (int)len, source), e);
}

static int add_yes(const struct source *from, const struct setting_kind *kind,
		   const struct json_at *at, struct err *e)
{
	bool value;

	if (json_bool(at, &value, e) < 0)
		return -1;
	return add(from, kind, text_copy(value ? "true" : "false"), e);
}

/* Reads a list, written as [...] or as {"replace": [...]}. */
static int add_list(const struct source *from, const struct setting_kind *kind,
		    const struct json_at *at, struct err *e)
{
	static const char *const keys[] = { "replace", NULL };
	struct json_at list = *at, item = { 0 };

	if (json_type(at) == JSON_OBJECT) {
		if (json_only(at, keys, e) < 0)
			return -1;
		if (!json_member(at, "replace", &list))
			return err_set(e, ERR_USAGE,
				       "%s: an array was expected, or an object "
				       "with 'replace'",
				       at->place);
		forget(from->into, kind);
	}
	if (json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&list, &item))
		if ((kind->type == SETTING_LIST ? add_string : add_object)(from, kind,
									   &item, e) < 0)
			return -1;
	return 0;
}

/* Reads a map, written as {"KEY": "VALUE"}. */
static int add_map(const struct source *from, const struct setting_kind *kind,
		   const struct json_at *at, struct err *e)
{
	struct json_at item = { 0 };
	const char *key, *value;

	if (json_expect(at, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(at, &item, &key)) {
		if (json_string(&item, &value, e) < 0)
			return -1;
		if (!*key || strchr(key, '='))
			return err_set(e, ERR_USAGE, "%s: '%.60s' is no name", at->place,
				       key);
		if (add(from, kind, text_format("%s=%s", key, value), e) < 0)
			return -1;
	}
	return 0;
}

static int (*const ways[])(const struct source *, const struct setting_kind *,
			   const struct json_at *, struct err *) = {
	[SETTING_TEXT] = add_string, [SETTING_NUMBER] = add_number,
	[SETTING_YES] = add_yes,     [SETTING_LIST] = add_list,
	[SETTING_MAP] = add_map,     [SETTING_OBJECTS] = add_list,
};

/* --- keys ------------------------------------------------------------------------- */

/* Finds the value of a key; "limits.memory" is the member "memory" of the object
 * "limits".  Returns false if it is absent. */
static bool find(const struct json_at *root, const char *key, struct json_at *ret)
{
	const char *dot = strchr(key, '.');
	struct json_at outer = *root;

	if (dot) {
		AUTO_FREE char *front = text_format("%.*s", (int)(dot - key), key);
		if (!json_member(root, front, &outer))
			return false;
		key = dot + 1;
	}
	return json_member(&outer, key, ret);
}

/* Returns whether `inner` is a known key in the object `outer`; "" is the outermost
 * object. */
static bool is_key(const char *outer, const char *inner)
{
	AUTO_FREE char *key = text_format("%s%s%s", outer, *outer ? "." : "", inner);

	if (strchr(inner, '.'))
		return false; /* "a.b" as one key; it must not match the path "a.b" */
	if (!strcmp(key, EGRESS_DEFAULT))
		return true;
	for (size_t i = 0; !*outer && i < ARRAY_LEN(others); i++)
		if (!strcmp(others[i], inner))
			return true;
	for (const struct setting_kind *k = setting_kinds; k->key; k++)
		if (!strcmp(k->key, key))
			return true;
	return false;
}

static int check_keys(const struct json_at *object, const char *outer, struct err *e)
{
	struct json_at item = { 0 };
	const char *key;

	if (json_expect(object, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(object, &item, &key)) {
		if (is_key(outer, key))
			continue;
		(void)err_set(e, ERR_USAGE, "%s: unknown key '%.64s'", object->place,
			      key);
		return err_remedy(e, "man hutch-policy lists them");
	}
	return 0;
}

static int check_version(const struct json_at *root, struct err *e)
{
	struct json_at at;
	uint64_t version;

	if (!json_member(root, "version", &at))
		return err_set(e, ERR_USAGE, "%s: \"version\": %d is missing",
			       root->place, POLICY_FILE_VERSION);
	if (json_uint(&at, &version, e) < 0)
		return -1;
	if (version != POLICY_FILE_VERSION)
		return err_set(e, ERR_USAGE, "%s: this hutch reads version %d, not %llu",
			       at.place, POLICY_FILE_VERSION,
			       (unsigned long long)version);
	return 0;
}

/* Checks "about" and "why"; each member of "why" must explain a key that the file
 * contains. */
static int check_words(const struct json_at *root, struct err *e)
{
	struct json_at about, why, item = { 0 }, meant;
	const char *key, *text;

	if (json_member(root, "about", &about) && json_string(&about, &text, e) < 0)
		return -1;
	if (!json_member(root, "why", &why))
		return 0;
	if (json_expect(&why, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&why, &item, &key)) {
		if (json_string(&item, &text, e) < 0)
			return -1;
		if (!find(root, key, &meant))
			return err_set(e, ERR_USAGE,
				       "%s: there is no '%.60s' in this file", item.place,
				       key);
	}
	return 0;
}

/* Checks "egress.default".  It has one value, which a file may have so that it is whole:
 * what no rule allows is refused. */
static int check_default(const struct json_at *root, struct err *e)
{
	struct json_at at;
	const char *text;

	if (!find(root, EGRESS_DEFAULT, &at))
		return 0;
	if (json_string(&at, &text, e) < 0)
		return -1;
	if (!strcmp(text, "deny"))
		return 0;
	(void)err_set(e, ERR_USAGE, "%s: 'deny', not '%.40s'", at.place, text);
	return err_remedy(e, "a last rule {\"%s\": \"*\"} is about each public name",
			  !strcmp(text, "ask") ? "ask" : "allow");
}

static int check_object(const struct json_at *root, struct err *e)
{
	static const char *const objects[] = { "capabilities", "egress", "limits" };

	if (check_keys(root, "", e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		struct json_at at;
		if (json_member(root, objects[i], &at) &&
		    check_keys(&at, objects[i], e) < 0)
			return -1;
	}
	if (check_version(root, e) < 0 || check_default(root, e) < 0)
		return -1;
	return check_words(root, e);
}

/* --- files ------------------------------------------------------------------------ */

static int read_policy(struct policy_file *s, const char *name,
		       const struct source *above, struct err *e);

static int extend(const struct source *from, const struct json_at *at, struct err *e)
{
	const char *name;

	if (json_string(at, &name, e) < 0)
		return -1;
	AUTO_FREE char *path = is_file(name) ? host_path(from, name) : text_copy(name);
	return read_policy(from->into, path, from, e) < 0 ? err_in(e, "%s", at->place)
							  : 0;
}

static int extend_all(const struct source *from, const struct json_at *root,
		      struct err *e)
{
	struct json_at at, item = { 0 };

	if (!json_member(root, "extends", &at))
		return 0;
	if (json_type(&at) != JSON_ARRAY)
		return extend(from, &at, e);
	while (json_step(&at, &item))
		if (extend(from, &item, e) < 0)
			return -1;
	return 0;
}

static int take_text(const struct source *from, const char *text, size_t len,
		     struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root, at;

	if (!doc)
		return -1;
	json_root(doc, "policy", &root);
	if (check_object(&root, e) < 0 || extend_all(from, &root, e) < 0)
		return -1;
	for (const struct setting_kind *k = setting_kinds; k->key; k++)
		if (find(&root, k->key, &at) && ways[k->type](from, k, &at, e) < 0)
			return -1;
	return 0;
}

static const struct profile *find_profile(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(profiles); i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}

/* Adds to the error about a missing file that hutch's own policies are no files. */
static int no_file(const char *name, struct err *e)
{
	const char *slash = strrchr(name, '/');
	AUTO_FREE char *own = text_copy(slash ? slash + 1 : name);

	own[strlen(own) - strlen(".json")] = '\0';
	return find_profile(own)
		       ? err_remedy(e,
				    "without .json it is a policy that hutch "
				    "has: %s",
				    own)
		       : err_remedy(e, "hutch policy list shows the policies that "
				       "hutch has, whose names have no .json");
}

static int take_file(struct source *from, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct stat st;
	size_t len;

	AUTO_CLOSE int fd = open(from->name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)err_sys(e, "open the policy");
		return e->sys == ENOENT && has_suffix(from->name) ? no_file(from->name, e)
								  : -1;
	}
	from->dev = st.st_dev;
	from->ino = st.st_ino;
	for (const struct source *s = from->above; s; s = s->above)
		if (s->folder && s->dev == st.st_dev && s->ino == st.st_ino)
			return err_set(e, ERR_USAGE, "it extends itself");
	if (io_read_file(fd, "the policy", POLICY_FILE_BYTES_MAX, &text, &len, e) < 0)
		return -1;
	return take_text(from, text, len, e);
}

static int unknown_profile(const char *name, struct err *e)
{
	struct nearest n;

	nearest_init(&n, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(profiles); i++)
		nearest_try(&n, profiles[i].name);
	(void)err_set(e, ERR_NOT_FOUND, "there is no policy '%.100s'", name);
	(void)nearest_suggest(&n, "", e);
	return err_remedy(
		e,
		"hutch policy list shows those that hutch has; a file is named with "
		"a / in it, such as ./%.100s",
		name);
}

static int check_depth(const struct policy_file *s, const struct source *above,
		       struct err *e)
{
	int depth = 0;

	for (; above; above = above->above)
		depth++;
	if (depth > POLICY_FILE_DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "more than %d policies extend one another",
			       POLICY_FILE_DEPTH_MAX);
	if (s->origin_count >= POLICY_FILE_FILES_MAX)
		return err_set(e, ERR_LIMIT, "a policy is made of more than %d files",
			       POLICY_FILE_FILES_MAX);
	return 0;
}

static int read_policy(struct policy_file *s, const char *name,
		       const struct source *above, struct err *e)
{
	const char *slash = strrchr(name, '/');
	struct source from = { .into = s, .name = name, .above = above };

	if (check_depth(s, above, e) < 0)
		return -1;
	from.origin = keep_origin(s, name);
	if (!is_file(name)) {
		const struct profile *p = find_profile(name);
		if (!p)
			return unknown_profile(name, e);
		return take_text(&from, p->text, strlen(p->text), e) < 0
			       ? err_in(e, "%s", name)
			       : 0;
	}
	AUTO_FREE char *folder = slash ? text_format("%.*s", (int)(slash - name), name)
				       : text_copy(".");
	from.folder = slash == name ? "" : folder;
	return take_file(&from, e) < 0 ? err_in(e, "%.300s", name) : 0;
}

int policy_file_read(struct policy_file *s, const char *name, struct err *e)
{
	if (!*name)
		return err_set(e, ERR_USAGE, "no policy is named");
	return read_policy(s, name, NULL, e);
}

/* --- what flags say --------------------------------------------------------------- */

/* Finds the kind of a flag's setting.  The flag "env" has two kinds: -e KEY=VALUE is an
 * entry of a map, and -e KEY, which passes the caller's value on, an entry of a list.
 * --allow, --deny and --ask make one list, since the order of all counts. */
static const struct setting_kind *kind_of(const char *flag, const char *value)
{
	if (!strcmp(flag, "deny") || !strcmp(flag, "ask"))
		flag = "allow";
	for (const struct setting_kind *k = setting_kinds; k->key; k++) {
		const bool is_pair = value && strchr(value, '=');
		if (!strcmp(k->flag, flag) &&
		    (strcmp(flag, "env") || is_pair == (k->type == SETTING_MAP)))
			return k;
	}
	return NULL;
}

int policy_file_say(struct policy_file *s, const char *flag, const char *value,
		    const char *origin, struct err *e)
{
	const struct setting_kind *kind = kind_of(flag, value);
	struct source from = { .into = s, .name = flag, .folder = origin };

	if (!kind)
		return 0;
	from.origin = keep_origin(s, origin);
	return add(&from, kind,
		   value ? as_flag_takes_it(&from, kind, value) : text_copy("true"), e);
}

void policy_file_forget(struct policy_file *s, const char *flag)
{
	for (const struct setting_kind *k = setting_kinds; k->key; k++)
		if (!strcmp(k->flag, flag))
			forget(s, k);
}

/* --- what hutch has --------------------------------------------------------------- */

const char *const *policy_file_profiles(void)
{
	static const char *names[ARRAY_LEN(profiles) + 1];

	for (size_t i = 0; i < ARRAY_LEN(profiles); i++)
		names[i] = profiles[i].name;
	return names;
}

char *policy_file_about(const char *profile)
{
	const struct profile *p = find_profile(profile);
	const char *about = "";
	struct json_at root, at;

	AUTO_JSON struct json *doc = p ? json_parse(p->text, strlen(p->text), NULL)
				       : NULL;
	if (doc) {
		json_root(doc, "policy", &root);
		if (json_member(&root, "about", &at))
			(void)json_string(&at, &about, NULL);
	}
	return text_copy(about);
}

void policy_file_protected(const char *profile, struct list *ret)
{
	const struct profile *p = find_profile(profile);
	struct json_at root, at, item = { 0 };
	const char *pattern;

	AUTO_JSON struct json *doc = p ? json_parse(p->text, strlen(p->text), NULL)
				       : NULL;
	if (!doc)
		return;
	json_root(doc, "policy", &root);
	if (!json_member(&root, "protected", &at))
		return;
	while (json_step(&at, &item))
		if (json_string(&item, &pattern, NULL) == 0)
			list_add(ret, pattern);
}
