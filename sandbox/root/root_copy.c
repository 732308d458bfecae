#include "sandbox/root/root_copy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/plan/image_tool.h"
#include "sandbox/plan/plan.h"

/* --- what is copied ---------------------------------------------------------------- */

/* Opens the image's folder, and checks that it is the one that the plan has
 * seen. */
static int open_folder(const struct step *s, struct err *e)
{
	struct stat st;

	AUTO_CLOSE int fd = open(s->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open the image %.300s", s->source);
	if (st.st_dev != s->dev || st.st_ino != s->ino)
		return err_set(e, ERR_REFUSED, "the image %.300s was replaced while the "
					       "sandbox was being made", s->source);
	return fd_take(&fd);
}

/* The lower layers are the paths FOLDER/HEX/fs, with one FOLDER for all.  Opens
 * FOLDER, and adds each HEX to `hexes`. */
static int open_layers(const struct list *lowers, struct list *hexes, struct err *e)
{
	AUTO_FREE char *folder = NULL;

	for (size_t i = 0; i < lowers->count; i++) {
		AUTO_FREE char *path = text_copy(lowers->items[i]);
		*strrchr(path, '/') = '\0';
		char *slash = strrchr(path, '/');
		list_add(hexes, slash + 1);
		*slash = '\0';
		free(folder);
		folder = text_copy(path);
	}
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open %.300s", folder) : fd;
}

/* Refuses an image that contains the folder to copy it to. */
static int check_apart(const struct step *s, struct err *e)
{
	AUTO_FREE char *to = realpath(s->upper, NULL);
	size_t len = strlen(s->source);

	if (!to)
		return err_sys(e, "look at %.300s", s->upper);
	if (strncmp(to, s->source, len) != 0 ||
	    (to[len] != '/' && s->source[len - 1] != '/'))
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "the image %.200s has hutch's own folders in it, where "
		      "it would have to be copied to",
		      s->source);
	return err_remedy(
		e, "XDG_DATA_HOME may name another place for them; or add --read-only");
}

/* --- the copying ------------------------------------------------------------------- */

static int run(const struct root_copy *c, struct image_tool *t, struct err *e)
{
	const struct step *s = c->root;
	AUTO_FREE char *upper = text_format("%s/upper", s->upper);

	AUTO_CLOSE int from = s->source ? open_folder(s, e)
					: open_layers(s->lowers, &t->words, e);
	if (from < 0)
		return -1;
	AUTO_CLOSE int to = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return err_sys(e, "open %.300s", upper);
	t->in = from;
	t->out = to;
	int rc = image_tool_run(t, e);
	if (rc == 0 || e->kind != ERR_GONE)
		return rc;
	return err_set(e, ERR_SYSTEM, "the image could not be copied");
}

int root_copy_fill(const struct root_copy *c, struct err *e)
{
	struct image_tool t = { .errors = c->words, .was_root = c->was_root,
				.doing = "the image was copied" };

	if (c->root->lowers && c->root->lowers->count == 0)
		return 0; /* an image without layers needs no copying */
	if (c->root->source && check_apart(c->root, e) < 0)
		return -1;
	list_add(&t.words, "copy-root");
	list_add(&t.words, c->why->text);
	int rc = run(c, &t, e);
	list_done(&t.words);
	return rc;
}
