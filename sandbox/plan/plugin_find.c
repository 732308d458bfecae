#include "sandbox/plan/plugin_find.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/own.h"
#include "policy/plugin/manifest.h"
#include "policy/plugin_uses.h"
#include "policy/policy.h"
#include "policy/port_spec.h"
#include "sandbox/kernel/program.h"
#include "store/folders.h"

#define IMAGE_PLUGINS "/usr/share/hutch/plugins"
#define TOKEN_DIGITS  32

/* --- where it is ------------------------------------------------------------------ */

static bool is_folder(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *plugin_find_installed(const char *name)
{
	AUTO_FREE char *data = folder_path(FOLDER_DATA);

	return data ? text_format("%s/plugins/%s/venv", data, name) : NULL;
}

char *plugin_find_root(void)
{
	AUTO_FREE char *executor = NULL;

	if (program_find("hutch-executor", &executor, NULL) < 0)
		return NULL;
	return text_format("%.*s/plugins", (int)(strrchr(executor, '/') - executor),
			   executor);
}

char *plugin_find_shipped(const char *name)
{
	AUTO_FREE char *root = plugin_find_root();
	char *found = root ? text_format("%s/%s", root, name) : NULL;

	if (!is_folder(found))
		own_free(&found);
	return found;
}

int plugin_find_absent(const char *name, struct err *e)
{
	static const char *const shipped[] = { "jupyter", "agent_skills", "browser",
					       "file_viewer", "vscode" };
	struct nearest n;

	nearest_init(&n, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(shipped); i++)
		nearest_try(&n, shipped[i]);
	(void)err_set(e, ERR_NOT_FOUND, "there is no plugin '%.64s'", name);
	if (nearest_name(&n) && strcmp(nearest_name(&n), name) != 0)
		return nearest_suggest(&n, "", e);
	return err_remedy(e,
			  "hutch plugin ls lists the plugins; a folder is named with a "
			  "'/': --plugin ./%.64s",
			  name);
}

/* --- its plugin.json --------------------------------------------------------------- */

int plugin_find_manifest(const char *folder, const char *name, struct manifest *ret,
			 struct err *e)
{
	AUTO_FREE char *path = text_format("%s/" MANIFEST_FILE, folder);
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (manifest_load(path, &text, &len, e) < 0)
		return -1;
	return manifest_read(text, len, name, ret, e) < 0 ? err_in(e, "%.200s", folder)
							  : 0;
}

/* --- what it needs ------------------------------------------------------------------ */

/* Adds a volume for a folder of the plugin.  `is_found`: hutch has found the folder by the
 * plugin's name, so it may lie in the store, and in another place at the next start. */
static void show(struct policy *p, const struct plugin_use *use, const char *source,
		 const char *target, bool is_found)
{
	AUTO_FREE char *from = text_format("--plugin %s", use->name);
	struct volume *v = policy_add_volume(p, VOLUME_BIND, from);

	/* A kept sandbox that starts again follows no link on the way to a source. */
	v->source = realpath(source, NULL);
	if (!v->source)
		v->source = text_copy(source); /* the mount fails, and says why */
	v->target = text_copy(target);
	v->is_found = is_found;
}

/* Puts FOLDER/BELOW in front of the folders in *path. */
static void put_first(char **path, const char *folder, const char *below)
{
	if (!below)
		return;
	char *longer = text_format("%s/%s%s%s", folder, below, *path ? ":" : "",
				   *path ? *path : "");
	free(*path);
	*path = longer;
}

/* Returns the URL with the token in it, allocated. */
static char *url_with(const char *url, const char *token)
{
	static const char mark[] = "${token}";
	const char *at = strstr(url, mark);

	if (!at)
		return text_copy(url);
	return text_format("%.*s%s%s", (int)(at - url), url, token,
			   at + sizeof(mark) - 1);
}

static int publish(struct policy *p, struct plugin_use *use, const struct manifest *m,
		   struct err *e)
{
	AUTO_FREE char *word = text_format("127.0.0.1:0:%u", m->port);

	if (!m->port)
		return 0;
	use->port = m->port;
	use->token = mem_new(TOKEN_DIGITS + 1);
	if (hex_random(use->token, TOKEN_DIGITS, e) < 0)
		return -1;
	use->url = url_with(m->url ? m->url : "/", use->token);
	return port_spec_add(p, word, e) < 0 ? err_in(e, "--plugin %s", use->name) : 0;
}

static int take_folder(struct policy *p, struct plugin_use *use, const char *folder,
		       bool is_found, struct err *e)
{
	AUTO_FREE char *venv = plugin_find_installed(use->name);
	struct manifest m;

	if (plugin_find_manifest(folder, use->name, &m, e) < 0)
		return err_in(e, "--plugin");
	use->folder = text_format(PLUGIN_USES_DIR "/%s", use->name);
	show(p, use, folder, use->folder, is_found);
	if (geteuid() != 0 &&
	    is_folder(venv)) { /* root has no store that its sandboxes see */
		use->venv = text_format(PLUGIN_USES_DIR "/%s.venv", use->name);
		show(p, use, venv, use->venv, true);
	}
	put_first(&p->plugin_uses.path, use->folder, m.path);
	put_first(&p->plugin_uses.python_path, use->folder, m.python_path);
	int published = publish(p, use, &m, e);
	manifest_done(&m);
	return published;
}

/* --- the words ---------------------------------------------------------------------- */

static struct plugin_use *add(struct policy *p, const char *name, struct err *e)
{
	for (size_t i = 0; i < p->plugin_uses.count; i++)
		if (!strcmp(p->plugin_uses.items[i].name, name)) {
			(void)err_set(e, ERR_USAGE, "--plugin: '%s' is named twice",
				      name);
			return NULL;
		}
	if (p->plugin_uses.count == PLUGIN_USES_MAX) {
		(void)err_set(e, ERR_LIMIT, "--plugin: %d plugins are the most",
			      PLUGIN_USES_MAX);
		return NULL;
	}
	return plugin_uses_add(&p->plugin_uses, name);
}

static int find_path(struct policy *p, const char *word, struct err *e)
{
	AUTO_FREE char *real = realpath(word, NULL);

	if (!real)
		return err_sys(e, "--plugin %.300s", word);
	const char *name = strrchr(real, '/') + 1;
	if (!manifest_is_name(name))
		return err_set(
			e, ERR_USAGE,
			"--plugin %.300s: the folder's name is the plugin's: 1 to 32 "
			"of a-z 0-9 _ -, first a letter",
			word);
	struct plugin_use *use = add(p, name, e);
	return use ? take_folder(p, use, real, false, e) : -1;
}

static int find_name(struct policy *p, const char *name, struct err *e)
{
	AUTO_FREE char *folder = manifest_is_name(name) ? plugin_find_shipped(name)
							: NULL;

	if (!folder && (p->image == IMAGE_HOST || !manifest_is_name(name))) {
		(void)plugin_find_absent(name, e);
		return err_in(e, "--plugin");
	}
	struct plugin_use *use = add(p, name, e);
	if (!use)
		return -1;
	if (folder)
		return take_folder(p, use, folder, true, e);
	use->folder = text_format(IMAGE_PLUGINS "/%s", name);
	return 0;
}

int plugin_find_all(struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->plugins.count; i++) {
		const char *word = p->plugins.items[i];
		int found = strchr(word, '/') ? find_path(p, word, e)
					      : find_name(p, word, e);
		if (found < 0)
			return -1;
	}
	return 0;
}
