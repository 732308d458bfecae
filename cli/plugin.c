/* hutch plugin ls|check|install|url: the plugins that --plugin NAME finds. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "cli/common/table.h"
#include "cli/plugin_install.h"
#include "cli/verbs.h"
#include "policy/plugin/manifest.h"
#include "sandbox/launch/result.h"
#include "sandbox/plan/plugin_find.h"

/* --- ls ----------------------------------------------------------------------------- */

static bool is_installed(const char *name)
{
	AUTO_FREE char *venv = plugin_find_installed(name);

	return venv && access(venv, F_OK) == 0;
}

/* Returns the names of the plugin's actions with `between` between them, allocated. */
static char *actions_of(const struct manifest *m, const char *between)
{
	struct list names = { 0 };

	for (size_t i = 0; i < m->action_count; i++)
		list_add(&names, m->actions[i].name);
	char *all = list_join(&names, 0, between);
	list_done(&names);
	return all;
}

/* Returns the word for what `hutch plugin install` has done for the plugin. */
static const char *install_state(const struct manifest *m)
{
	if (!m->install)
		return "not needed";
	return is_installed(m->name) ? "yes" : "no";
}

static void put_row(struct table *t, const struct manifest *m)
{
	table_add(t, text_copy(m->name));
	table_add(t, text_copy(m->version));
	table_add(t, text_copy(install_state(m)));
	table_add(t, m->action_count ? actions_of(m, ", ") : NULL);
}

static void put_object(struct buffer *b, const struct manifest *m, const char *folder)
{
	json_write_open(b, NULL, "{");
	json_write_text(b, "name", m->name);
	json_write_text(b, "version", m->version);
	json_write_text(b, "folder", folder);
	json_write_bool(b, "needs_install", m->install);
	json_write_bool(b, "installed", is_installed(m->name));
	json_write_open(b, "actions", "[");
	for (size_t i = 0; i < m->action_count; i++)
		json_write_text(b, NULL, m->actions[i].name);
	json_write_close(b, "]}");
}

/* Adds the shipped plugin of this name to the table and to the array. */
static int list_one(const char *name, struct table *t, struct buffer *b, struct err *e)
{
	AUTO_FREE char *folder = plugin_find_shipped(name);
	struct manifest m;

	if (!folder || plugin_find_manifest(folder, name, &m, e) < 0)
		return -1;
	put_row(t, &m);
	put_object(b, &m, folder);
	manifest_done(&m);
	return 0;
}

static int is_plugin(const struct dirent *entry)
{
	return manifest_is_name(entry->d_name) && strcmp(entry->d_name, "made") != 0;
}

static int list_all(struct table *t, struct buffer *b, struct err *e)
{
	AUTO_FREE char *root = plugin_find_root();
	struct dirent **names = NULL;
	int count = root ? scandir(root, &names, is_plugin, alphasort) : 0;
	int listed = count < 0 ? err_sys(e, "read %.300s", root) : 0;

	for (int i = 0; i < count; i++) {
		if (listed == 0)
			listed = list_one(names[i]->d_name, t, b, e);
		free(names[i]);
	}
	free(names);
	return listed;
}

static int ls_main(char **argv)
{
	bool as_json = false;
	const struct flag flags[] = {
		{ 0, "json", NULL, "as an array of objects", &as_json, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch plugin ls [--json]",
		.about = "The plugins that --plugin NAME finds, and what they answer.",
		.flags = flags, .count = ARRAY_LEN(flags),
	};
	struct table table = { .columns = 4 };
	struct buffer b;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	table_add(&table, text_copy("NAME"));
	table_add(&table, text_copy("VERSION"));
	table_add(&table, text_copy("INSTALLED"));
	table_add(&table, text_copy("ACTIONS"));
	json_write_begin(&b);
	json_write_open(&b, NULL, "[");
	int listed = list_all(&table, &b, &e);
	json_write_close(&b, "]\n");
	AUTO_FREE char *text = json_write_end(&b);
	if (listed == 0 && as_json)
		(void)fputs(text, stdout);
	else if (listed == 0)
		table_print(&table, stdout);
	table_done(&table);
	return report_end(listed, &e);
}

/* --- check -------------------------------------------------------------------------- */

#define FOLDER_MARK "${plugin}/"

/* Checks that a file or folder of the plugin's exists, which the manifest names as
 * ${plugin}/FILE or, relative to its folder, as FILE. */
static int check_file(const char *folder, const char *word, bool is_run, struct err *e)
{
	AUTO_FREE char *path = manifest_expand(word, folder);
	struct stat st;

	if (stat(path, &st) < 0 || (is_run && access(path, X_OK) < 0))
		return err_sys(e, is_run ? "run %.400s" : "find %.400s", path);
	if (is_run && !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "run %.400s: it is no file", path);
	return 0;
}

static int check_command(const char *folder, const struct manifest *m, struct err *e)
{
	for (size_t i = 0; i < m->command.count; i++) {
		const char *word = m->command.items[i];
		if (!strncmp(word, FOLDER_MARK, strlen(FOLDER_MARK)) &&
		    check_file(folder, word, i == 0, e) < 0)
			return err_in(e, "%.100s: command[%zu]", m->name, i);
	}
	return 0;
}

static int check_files(const char *folder, const struct manifest *m, struct err *e)
{
	const struct {
		const char *member, *file;
		bool is_run;
	} rows[] = {
		{ "path", m->path, false },
		{ "python_path", m->python_path, false },
		{ "install.program", m->install, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *word =
			text_format(FOLDER_MARK "%s", rows[i].file ? rows[i].file : "");
		if (rows[i].file && check_file(folder, word, rows[i].is_run, e) < 0)
			return err_in(e, "%.100s: %s", m->name, rows[i].member);
	}
	return check_command(folder, m, e);
}

static int check(const char *word, struct err *e)
{
	AUTO_FREE char *folder = realpath(word, NULL);
	struct manifest m;

	if (!folder)
		return err_sys(e, "read %.300s", word);
	if (plugin_find_manifest(word, strrchr(folder, '/') + 1, &m, e) < 0)
		return -1;
	int checked = check_files(folder, &m, e);
	if (checked == 0)
		(void)printf("%s %s: ok\n", m.name, m.version);
	manifest_done(&m);
	return checked;
}

static int check_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch plugin check DIR",
		.about = "Reads the folder's plugin.json, and names the first fault.",
		.operands_min = 1, .operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(check(argv[0], &e), &e);
}

/* --- url ---------------------------------------------------------------------------- */

/* Prints the address of this plugin, unless the plugin has failed: nothing would answer
 * there. */
static int print_url_of(struct json_view plugin, const char *name, struct err *e)
{
	AUTO_FREE char *url = json_view_string(json_view_get(plugin, "url"));
	AUTO_FREE char *error = json_view_string(json_view_get(plugin, "error"));

	if (!url)
		return err_set(e, ERR_NOT_FOUND, "the plugin '%.64s' has no port", name);
	if (error) {
		(void)err_set(e, ERR_NOT_FOUND, "%.250s", error);
		return err_remedy(e,
				  "nothing answers at its address; hutch inspect shows "
				  "the whole reason");
	}
	(void)printf("%s\n", url);
	return 0;
}

/* Prints the address that the supervisor's information has for the plugin. */
static int print_url(struct json_view info, const char *name, struct err *e)
{
	struct json_view plugins = json_view_get(info, "plugins");
	struct json_view_place at = { 0 };

	while (json_view_step(plugins, &at)) {
		AUTO_FREE char *its = json_view_string(json_view_get(at.value, "name"));
		if (its && !strcmp(its, name))
			return print_url_of(at.value, name, e);
	}
	(void)err_set(e, ERR_NOT_FOUND, "the sandbox has no plugin '%.64s'", name);
	return err_remedy(e, "hutch inspect lists its plugins; hutch create --plugin %.64s "
			     "makes a sandbox with it", name);
}

static int tell_url(char **argv, struct err *e)
{
	struct client c = { 0 };
	struct json_view info;
	int told = client_open(&c, argv[0], e);

	if (told == 0) {
		told = client_call(&c, "info", "{}", &info, e);
		if (told == 0)
			told = print_url(info, argv[1], e);
		client_done(&c);
	}
	return told;
}

static int url_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch plugin url SANDBOX NAME",
		.about = "Prints the address of the plugin's published port.",
		.operands_min = 2, .operands_max = 2,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(tell_url(argv, &e), &e);
}

int plugin_main(char **argv)
{
	static const struct part list[] = {
		{ "ls", "those that hutch ships, and what they answer", ls_main },
		{ "check", "whether a folder is a plugin", check_main },
		{ "install", "make what a plugin needs", plugin_install_main },
		{ "url", "the address of a plugin's published port", url_main },
	};
	static const struct subcommands subcommands = {
		.verb = "plugin",
		.about = "Programs inside a sandbox that answer actions.",
		.list = list, .count = ARRAY_LEN(list),
	};

	return subcommands_main(argv, &subcommands);
}
