#include "apptainer/sandbox_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apptainer/env_args.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rule.h"

/* The words before -- are variables.  Their values win over those of the files. */
#define ENTER                                                     \
	"for hutch_file in /" SANDBOX_ENV "/*.sh; do\n"           \
	"\t[ ! -f \"$hutch_file\" ] || . \"$hutch_file\"\n"       \
	"done\n"                                                  \
	"unset hutch_file\n"                                      \
	"while [ \"$1\" != -- ]; do export \"$1\"; shift; done\n" \
	"shift\n"                                                 \
	"exec \"$@\""

void sandbox_dir_enter(const struct list *env, struct list *ret)
{
	list_add(ret, "/bin/sh");
	list_add(ret, "-c");
	list_add(ret, ENTER);
	list_add(ret, "sh");
	for (size_t i = 0; i < env->count; i++)
		list_add(ret, env->items[i]);
	list_add(ret, "--");
}

/* --- the texts --------------------------------------------------------------------- */

static void put(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text));
}

/* Puts a word in single quotes, for a shell. */
static void put_word(struct buffer *b, const char *word)
{
	put(b, "'");
	for (; *word; word++)
		if (*word == '\'')
			put(b, "'\\''");
		else
			buffer_append(b, word, 1);
	put(b, "'");
}

static void put_words(struct buffer *b, struct json_view array)
{
	struct json_view_place place = { 0 };

	while (json_view_step(array, &place)) {
		AUTO_FREE char *word = json_view_string(place.value);
		put(b, " ");
		put_word(b, word ? word : "");
	}
}

/* A name that no shell can export is left out, as Apptainer leaves it out. */
static char *env_text(struct json_view env)
{
	struct json_view_place place = { 0 };
	struct buffer b;

	json_write_begin(&b);
	put(&b, "#!/bin/sh\n");
	while (json_view_step(env, &place)) {
		AUTO_FREE char *one = json_view_string(place.value);
		const size_t len = one ? env_args_name(one) : 0;
		if (!len || one[len] != '=')
			continue;
		put(&b, "export ");
		buffer_append(&b, one, len + 1);
		put_word(&b, one + len + 1);
		put(&b, "\n");
	}
	return json_write_end(&b);
}

/* As in docker, words given replace Cmd and stand behind Entrypoint. */
static char *run_text(struct json_view info)
{
	struct json_view entrypoint = json_view_get(info, "entrypoint");
	struct json_view_place place = { 0 };
	struct json_view cmd = json_view_get(info, "cmd");
	struct buffer b;

	json_write_begin(&b);
	put(&b, "#!/bin/sh\n[ $# -gt 0 ] || set --");
	put_words(&b, cmd);
	if (!json_view_step(entrypoint, &place) &&
	    !json_view_step(cmd, &(struct json_view_place){ 0 }))
		put(&b, " /bin/sh");
	put(&b, "\nexec");
	put_words(&b, entrypoint);
	put(&b, " \"$@\"\n");
	return json_write_end(&b);
}

static char *label_text(struct json_view info)
{
	struct json_view labels = json_view_get(info, "configuration.config.Labels");

	return labels.text ? text_format("%.*s\n", (int)labels.len, labels.text)
			   : text_copy("{}\n");
}

/* --- the files --------------------------------------------------------------------- */

static int write_file(int folder, const char *name, const char *text, struct err *e)
{
	AUTO_CLOSE int fd = openat(
		folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0)
		return err_sys(e, "write %s", name);
	return 0;
}

static int open_made(int parent, const char *name, struct err *e)
{
	if (mkdirat(parent, name, 0755) < 0)
		return err_sys(e, "make %s", name);
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open %s", name) : fd;
}

static int write_all(int folder, struct json_view info, struct err *e)
{
	AUTO_FREE char *env = env_text(json_view_get(info, "env"));
	AUTO_FREE char *script = run_text(info), *labels = label_text(info);

	AUTO_CLOSE int of_env = open_made(folder, "env", e);
	if (of_env < 0 || write_file(of_env, "10-docker2singularity.sh", env, e) < 0 ||
	    write_file(folder, "runscript", script, e) < 0 ||
	    write_file(folder, "labels.json", labels, e) < 0)
		return -1;
	return 0;
}

/* Writes a file, unless there is one of that name. */
static int write_missing(int etc, const char *name, const char *text, struct err *e)
{
	struct stat st;

	return fstatat(etc, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		       ? 0
		       : write_file(etc, name, text, e);
}

/* An image that has no folder /etc, or a link in its place, goes without. */
static int write_etc(int root, struct err *e)
{
	AUTO_CLOSE int etc =
		openat(root, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (etc < 0)
		return 0;
	if (write_missing(etc, "resolv.conf", "nameserver " EGRESS_RESOLVER "\n", e) < 0)
		return -1;
	return write_missing(etc, "hosts", "127.0.0.1\tlocalhost\n::1\tlocalhost\n", e);
}

int sandbox_dir_write(const char *path, struct json_view info, struct err *e)
{
	struct stat st;

	AUTO_CLOSE int root = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0)
		return err_sys(e, "open %.300s", path);
	if (write_etc(root, e) < 0)
		return -1;
	if (fstatat(root, SANDBOX_DIR, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		AUTO_CLOSE int folder = open_made(root, SANDBOX_DIR, e);
		return folder < 0 ? -1 : write_all(folder, info, e);
	}
	return S_ISDIR(st.st_mode) ? 0
				   : err_set(e, ERR_UNSUPPORTED,
					     "the image has a file %s, in the place of "
					     "Apptainer's folder",
					     SANDBOX_DIR);
}
