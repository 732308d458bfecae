#include "docker/mount_args.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "docker/args.h"
#include "store/folders.h"

#define VOLUME_NAME_MAX 64

char *mount_args_volume(const char *name)
{
	AUTO_FREE char *data = folder_path(FOLDER_DATA);

	return data ? text_format("%s-volumes/%s/_data", data, name) : NULL;
}

int mount_args_check_volume(const char *name, struct err *e)
{
	bool is_name = isalnum((unsigned char)name[0]) && strlen(name) <= VOLUME_NAME_MAX;

	for (const char *c = name; *c && is_name; c++)
		is_name = isalnum((unsigned char)*c) || strchr("_.-", *c);
	return is_name ? 0
		       : err_set(e, ERR_USAGE,
				 "'%.60s' is no name of a volume, which has 1 to 64 of "
				 "A-Z a-z 0-9 _ . -, and no absolute path",
				 name);
}

/* Whether there is a socket FOLDER/NAME that is `source` or below it. */
static bool is_shown(const char *source, const char *folder, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);
	AUTO_FREE char *real = realpath(path, NULL);
	const size_t len = strlen(source);
	struct stat st;

	return real && stat(real, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       !strncmp(real, source, len) &&
	       (source[len - 1] == '/' || real[len] == '/' || !real[len]);
}

/* Refuses a folder that shows the socket of an engine: one that lies where engines have
 * theirs, or in the folder itself under such a name. */
static int refuse_folder(const char *real, const char *source, struct err *e)
{
	static const char *const names[] = {
		"docker.sock",	   "podman/podman.sock",
		"podman.sock",	   "containerd/containerd.sock",
		"containerd.sock", "crio/crio.sock",
		"crio.sock"
	};
	AUTO_FREE char *own = text_format("/run/user/%u", (unsigned)getuid());
	const char *folders[] = { real, "/run", "/var/run", own,
				  getenv("XDG_RUNTIME_DIR") };

	for (size_t f = 0; f < ARRAY_LEN(folders); f++)
		for (size_t i = 0; folders[f] && i < ARRAY_LEN(names); i++)
			if (is_shown(real, folders[f], names[i]))
				return err_set(
					e, ERR_REFUSED,
					"%.200s is refused: %.100s/%s is below it, "
					"and whatever reaches that socket is root "
					"on this host",
					source, folders[f], names[i]);
	return 0;
}

/* A socket of an engine is the engine's root for the inside: it can mount the whole host
 * and start privileged containers (docs/threat-model.md). */
static int refuse_engine(const char *source, struct err *e)
{
	static const char *const sockets[] = { "docker.sock", "podman.sock",
					       "containerd.sock", "crio.sock" };
	AUTO_FREE char *real = realpath(source, NULL);
	const char *paths[] = { source, real ? real : source };

	for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
		const char *last = strrchr(paths[p], '/');
		last = last ? last + 1 : paths[p];
		for (size_t i = 0; i < ARRAY_LEN(sockets); i++)
			if (!strcmp(last, sockets[i]))
				return err_set(e, ERR_REFUSED,
					       "%.200s is refused: whatever reaches that "
					       "socket is root on this host",
					       source);
	}
	return real ? refuse_folder(real, source, e) : 0;
}

struct mount {
	const char *source, *target; /* borrowed; NULL: not given */
	const char *mode;	     /* "ro", "rw" or "cow" */
	bool is_volume;
};

static int add_mount(struct args *a, const struct mount *m, struct err *e)
{
	AUTO_FREE char *folder = NULL;

	if (strchr(m->source, ':') || strchr(m->target, ':'))
		return err_set(e, ERR_UNSUPPORTED,
			       "hutch shows no path that has a ':' in it");
	if (m->is_volume && mount_args_check_volume(m->source, e) < 0)
		return -1;
	if (!m->is_volume && refuse_engine(m->source, e) < 0)
		return -1;
	if (m->is_volume) {
		folder = mount_args_volume(m->source);
		if (!folder)
			return err_set(e, ERR_UNSUPPORTED,
				       "volume %s: this user has no data folder (HOME)",
				       m->source);
		list_add_once(&a->volumes, m->source);
	}
	list_add(&a->words, "-v");
	list_addf(&a->words, "%s:%s:%s", folder ? folder : m->source, m->target,
		  m->mode ? m->mode : "rw");
	return 0;
}

int mount_args_bind(struct args *a, const char *source, const char *target,
		    const char *mode, struct err *e)
{
	const struct mount m = { .source = source, .target = target, .mode = mode };

	return add_mount(a, &m, e);
}

/* Takes the options behind the second colon of -v, separated by commas; those about
 * SELinux's labels and about caches of other systems change nothing here. */
static int read_modes(char *options, struct mount *m, struct err *e)
{
	static const char *const modes[] = { "ro", "rw", "cow" };
	static const char *const without_effect[] = { "z", "Z", "cached", "delegated",
						      "consistent" };
	char *rest = options;

	for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_LEN(modes); i++)
			if (!strcmp(word, modes[i]) && !m->mode) {
				m->mode = modes[i];
				is_known = true;
			}
		for (size_t i = 0; i < ARRAY_LEN(without_effect); i++)
			is_known |= !strcmp(word, without_effect[i]);
		if (!is_known)
			return err_set(
				e, ERR_UNSUPPORTED,
				"hutch has no mount option '%.60s'; there are ro, rw "
				"and cow, one of them",
				word);
	}
	return 0;
}

int mount_args_volume_flag(struct args *a, const char *value, struct err *e)
{
	AUTO_FREE char *copy = text_copy(value);
	struct mount m = { 0 };
	char *rest = copy;

	m.source = strsep(&rest, ":");
	m.target = strsep(&rest, ":");
	if (!m.target || !*m.target)
		return err_set(
			e, ERR_UNSUPPORTED,
			"-v %.200s: hutch has no volumes without a name; give one, "
			"or use --tmpfs",
			value);
	if (rest && read_modes(rest, &m, e) < 0)
		return err_in(e, "-v %.200s", value);
	m.is_volume = m.source[0] != '/' && m.source[0] != '.' && m.source[0] != '~';
	return add_mount(a, &m, e) < 0 ? err_in(e, "-v %.200s", value) : 0;
}

/* --- --mount ----------------------------------------------------------------- */

enum key { KEY_TYPE, KEY_SOURCE, KEY_TARGET, KEY_READ_ONLY, KEY_SIZE, KEY_COUNT };

static const struct {
	const char *name;
	enum key key;
} keys[] = { { "type", KEY_TYPE },	    { "source", KEY_SOURCE },
	     { "src", KEY_SOURCE },	    { "target", KEY_TARGET },
	     { "dst", KEY_TARGET },	    { "destination", KEY_TARGET },
	     { "readonly", KEY_READ_ONLY }, { "ro", KEY_READ_ONLY },
	     { "tmpfs-size", KEY_SIZE } };

static int read_key(char *word, const char *values[KEY_COUNT], struct err *e)
{
	char *value = word;
	const char *name = strsep(&value, "=");

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i].name, name)) {
			values[keys[i].key] = value ? value : "true";
			return 0;
		}
	return err_set(e, ERR_UNSUPPORTED, "hutch has no key '%.60s'", name);
}

static int add_tmpfs(struct args *a, const char *target, const char *size, struct err *e)
{
	if (strchr(target, ':') || (size && strchr(size, ':')))
		return err_set(e, ERR_UNSUPPORTED,
			       "hutch shows no path that has a ':' in it");
	list_add(&a->words, "--tmpfs");
	list_addf(&a->words, "%s%s%s", target, size ? ":size=" : "", size ? size : "");
	return 0;
}

static int add_keys(struct args *a, const char *const values[KEY_COUNT], struct err *e)
{
	const char *type = values[KEY_TYPE] ? values[KEY_TYPE] : "volume";
	const char *read_only = values[KEY_READ_ONLY];
	struct mount m = { .source = values[KEY_SOURCE], .target = values[KEY_TARGET] };
	bool is_read_only = false;

	if (!m.target)
		return err_set(e, ERR_USAGE, "target is required");
	if (!strcmp(type, "tmpfs") && !m.source && !read_only)
		return add_tmpfs(a, m.target, values[KEY_SIZE], e);
	m.is_volume = !strcmp(type, "volume");
	if (!m.is_volume && strcmp(type, "bind") != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "hutch has no such mount of type '%.60s'", type);
	if (!m.source || values[KEY_SIZE])
		return err_set(e, ERR_USAGE,
			       "a mount of type %s takes a source and no size", type);
	if (read_only && !args_read_switch(read_only, &is_read_only))
		return err_set(e, ERR_USAGE, "invalid value for readonly: %.60s",
			       read_only);
	m.mode = is_read_only ? "ro" : "rw";
	return add_mount(a, &m, e);
}

int mount_args_mount_flag(struct args *a, const char *value, struct err *e)
{
	AUTO_FREE char *copy = text_copy(value);
	const char *values[KEY_COUNT] = { NULL };
	char *rest = copy;

	for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ","))
		if (read_key(word, values, e) < 0)
			return err_in(e, "--mount %.200s", value);
	return add_keys(a, values, e) < 0 ? err_in(e, "--mount %.200s", value) : 0;
}

/* A tmpfs of hutch is always nosuid and nodev, and its programs can be executed. */
int mount_args_tmpfs_flag(struct args *a, const char *value, struct err *e)
{
	static const char *const always[] = { "rw", "nosuid", "nodev", "exec" };
	AUTO_FREE char *copy = text_copy(value);
	char *rest = copy, *target = strsep(&rest, ":");
	const char *size = NULL;

	for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_LEN(always); i++)
			is_known |= !strcmp(word, always[i]);
		if (!strncmp(word, "size=", 5))
			size = word + 5;
		else if (!is_known)
			return err_set(e, ERR_UNSUPPORTED,
				       "--tmpfs %.100s: hutch has no option '%.60s'",
				       value, word);
	}
	return add_tmpfs(a, target, size, e);
}
