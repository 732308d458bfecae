#include "apptainer/inside.h"

#include <stdbool.h>

#include "apptainer/action_args.h"
#include "apptainer/launch.h"
#include "apptainer/sandbox_dir.h"
#include "apptainer/source.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "docker/describe.h"

/* Returns the label of a sandbox, whose name has a dot in it; allocated, or NULL. */
static char *label_of(struct json_view info, const char *name)
{
	struct json_view labels = json_view_get(info, "labels");
	struct json_view_place place = { 0 };

	while (json_view_step(labels, &place))
		if (json_view_is(place.key, name))
			return json_view_string(place.value);
	return NULL;
}

char *inside_image(struct json_view info)
{
	return label_of(info, LABEL_IMAGE);
}

char *inside_find(const char *name, struct json_view *ret, struct err *e)
{
	AUTO_FREE char *text = describe_info(name, ret, e);
	AUTO_FREE char *image = text ? inside_image(*ret) : NULL;

	if (!text && e->kind != ERR_NOT_FOUND)
		return NULL;
	/* The record of one that has ended has an exit. */
	if (image && json_view_type(json_view_get(*ret, "exit")) != JSON_OBJECT) {
		char *taken = text;
		text = NULL;
		return taken;
	}
	(void)err_set(e, ERR_NOT_FOUND, "no instance found with name %.100s", name);
	return NULL;
}

/* An instance has its folders, limits and network from its start. */
static int check_flags(const struct action *a, struct err *e)
{
	if (a->args.words.count == 0 && !a->network && !a->home)
		return 0;
	(void)err_set(
		e, ERR_UNSUPPORTED,
		"an instance has its folders, limits, capabilities and network from "
		"`instance start`; exec takes --env, --env-file and --pwd");
	return err_remedy(e, "give these flags to apptainer instance start");
}

int inside_words(const struct launch *l, struct action *a, struct list *ret,
		 struct err *e)
{
	struct list env = { 0 };
	struct json_view info;

	if (check_flags(a, e) < 0)
		return -1;
	AUTO_FREE char *text = inside_find(l->source->word, &info, e);
	if (!text)
		return -1;
	AUTO_FREE char *enters = label_of(info, LABEL_ENTER);
	if (l->kind == LAUNCH_RUN && !enters)
		return err_set(e, ERR_UNSUPPORTED,
			       "run %.100s: its image is no folder with a runscript",
			       l->shown);
	action_args_env(a, &env);
	list_add(ret, "exec");
	launch_add_stdio(ret);
	if (a->directory) {
		list_add(ret, "-w");
		list_add(ret, a->directory);
	}
	for (size_t i = 0; i < env.count; i++) {
		list_add(ret, "-e");
		list_add(ret, env.items[i]);
	}
	list_add(ret, l->source->word);
	list_add(ret, "--");
	if (enters)
		sandbox_dir_enter(&env, ret);
	if (l->kind == LAUNCH_RUN)
		list_add(ret, "/" SANDBOX_RUN);
	for (char **word = l->command; *word; word++)
		list_add(ret, *word);
	list_done(&env);
	return 0;
}
