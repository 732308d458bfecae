#include "executor/process/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "archive/pack.h"
#include "archive/unpack.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "protocol/message.h"

/* --- messages --------------------------------------------------------------- */

/* Prints one line on descriptor 2, escaped so that no character of the text begins
 * another line. */
static void say(const char *text)
{
	AUTO_FREE char *line = term_escape_line(text);
	AUTO_FREE char *whole = text_format("%s\n", line);

	(void)io_write_all(2, whole, strlen(whole)); /* fails when the client has gone;
						      * then nothing reads the message */
}

static void on_left_out(void *context, const char *path, const char *why)
{
	AUTO_FREE char *text = text_format("left out %s: %s", path, why);

	(void)context;
	say(text);
}

static enum copy_exit exit_of_kind(int kind)
{
	switch (kind) {
	case ERR_NOT_FOUND:
		return COPY_NOT_FOUND;
	case ERR_REFUSED:
		return COPY_REFUSED;
	case ERR_EXISTS:
		return COPY_EXISTS;
	case ERR_LIMIT:
		return COPY_LIMIT;
	case ERR_USAGE:
	case ERR_PROTOCOL:
		return COPY_INVALID;
	default:
		return COPY_FAILED;
	}
}

static enum copy_exit exit_of(const struct err *e)
{
	switch (e->sys) {
	case ENOSPC:
	case EDQUOT:
		return COPY_NO_SPACE;
	case EROFS:
		return COPY_REFUSED;
	case EISDIR:
	case EEXIST:
		return COPY_EXISTS;
	default:
		return exit_of_kind(e->kind);
	}
}

/* --- places ------------------------------------------------------------------ */

/* A source or a target of the copy.  Its path may lead through symbolic links, as for any
 * command. */
struct place {
	char *path;	  /* owned; without trailing slashes */
	const char *name; /* the path's last component; points into `path` */
	bool has_slash;	  /* the path had a trailing slash, so it must lead to a folder */
	bool is_content;  /* the path ends in "/", "." or "..": the content of the folder
			   * is meant */
};

static int place_init(struct place *p, const char *path, struct err *e)
{
	size_t len = strlen(path), kept = len;

	if (len == 0)
		return err_set(e, ERR_USAGE, "an empty path");
	while (kept > 1 && path[kept - 1] == '/')
		kept--;
	p->path = text_copy(path);
	p->path[kept] = '\0';
	p->has_slash = kept < len;
	char *slash = strrchr(p->path, '/');
	p->name = slash ? slash + 1 : p->path;
	p->is_content = !*p->name || !strcmp(p->name, ".") || !strcmp(p->name, "..");
	return 0;
}

static void place_done(struct place *p)
{
	free(p->path);
}

static int open_folder(const char *path, int flags, struct err *e)
{
	int fd = open(path, flags | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open the folder %.200s", path) : fd;
}

/* Opens the folder that contains the path's last component. */
static int open_above(const struct place *p, int flags, struct err *e)
{
	AUTO_FREE char *above = text_copy(p->path);
	char *slash = strrchr(above, '/');

	if (!slash)
		return open_folder(".", flags, e);
	slash[slash == above] = '\0';
	return open_folder(above, flags, e);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Makes a client's descriptor blocking: a client may have made it non-blocking, and then
 * the copy would fail with EAGAIN. */
static void make_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK); /* valid arguments */
}

/* --- out ---------------------------------------------------------------------- */

/* Checks that the source exists.  An error about the source names its whole path; errors
 * about files below it name their paths in the tar. */
static int check_source(const struct place *from, bool follows, struct err *e)
{
	struct stat st;

	if (fstatat(AT_FDCWD, from->path, &st, follows ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "%.400s", from->path);
	errno = ENOTDIR;
	return from->has_slash && !S_ISDIR(st.st_mode) ? err_sys(e, "%.400s/", from->path)
						       : 0;
}

static int add_place(struct pack *p, const struct place *from, struct err *e)
{
	if (check_source(from, p->follows || from->is_content, e) < 0)
		return -1;
	if (from->is_content) {
		AUTO_CLOSE int folder = open_folder(from->path, O_RDONLY, e);
		return folder < 0 ? -1 : pack_add(p, folder, ".", ".", e);
	}
	AUTO_CLOSE int above = open_above(from, O_PATH, e);
	return above < 0 ? -1 : pack_add(p, above, from->name, from->name, e);
}

static int copy_out(const struct exec *x, struct err *e)
{
	struct pack p = { .out = 1,
			  .follows = x->flags & EXEC_FOLLOW,
			  .has_no_links = x->flags & EXEC_CONTENTS,
			  .on_left_out = on_left_out };
	struct place from = { 0 };

	make_blocking(1);
	if (place_init(&from, x->argv[1], e) < 0)
		return -1;
	p.follows = p.follows || from.has_slash;
	int rc = add_place(&p, &from, e);
	if (rc == 0)
		rc = pack_end(&p, e);
	pack_done(&p);
	place_done(&from);
	return rc;
}

/* --- in ------------------------------------------------------------------------ */

/* Opens the folder to unpack into.  A missing folder is made first, with the usual mode
 * (0777 less the umask). */
static int open_or_make(const char *path, struct err *e)
{
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_sys(e, "make the folder %.200s", path);
	return open_folder(path, O_RDONLY, e);
}

static int check_name(const char *name, struct err *e)
{
	if (*name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, ".."))
		return 0;
	return err_set(e, ERR_USAGE, "'%.100s' is no name of a file", name);
}

/* Opens the folder to unpack into, and chooses the name of the entry in it: if the target
 * is a folder, the entry keeps its own name; otherwise the entry gets the target's last
 * name. */
static int choose(const struct place *to, const char **name, struct err *e)
{
	if (!*name)
		return open_or_make(to->path, e);
	if (check_name(*name, e) < 0)
		return -1;
	if (to->is_content || to->has_slash || is_folder(to->path))
		return open_folder(to->path, O_RDONLY, e);
	*name = to->name;
	return open_above(to, O_RDONLY, e);
}

/* Makes missing parent folders of the target, with the usual mode (0777 less the
 * umask). */
static int make_parents(const struct place *to, struct err *e)
{
	for (char *at = to->path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		int made = mkdir(to->path, 0777);
		if (made < 0 && errno != EEXIST && !is_folder(to->path))
			return err_sys(e, "make the folder %.200s", to->path);
		*at = '/';
	}
	return 0;
}

/* Checks that the target may be replaced by a file: it may not be a folder, and an
 * existing file must be writable for the command's user, although a rename(2) over it
 * would not require that. */
static int check_file(const struct place *to, struct err *e)
{
	errno = EISDIR;
	if (to->has_slash || to->is_content || is_folder(to->path))
		return err_sys(e, "%.400s", to->path);
	if (faccessat(AT_FDCWD, to->path, W_OK, AT_EACCESS) < 0 && errno != ENOENT)
		return err_sys(e, "write to %.400s", to->path);
	return 0;
}

static int prepare_file(const struct place *to, uint32_t flags, struct err *e)
{
	if (flags & EXEC_PARENTS && !to->has_slash && make_parents(to, e) < 0)
		return -1;
	return check_file(to, e);
}

static int copy_in(const struct exec *x, struct err *e)
{
	struct place to = { 0 };
	const char *name = x->argv[2]; /* the name that the copied file gets; NULL, which
				        * ends the arguments, if none was given */

	make_blocking(0);
	if (place_init(&to, x->argv[1], e) < 0)
		return -1;
	bool is_good = !(x->flags & EXEC_FILE) || prepare_file(&to, x->flags, e) == 0;
	AUTO_CLOSE int root = is_good ? choose(&to, &name, e) : -1;
	struct unpack u = { .in = 0, .root = root, .rename = name,
			    .on_left_out = on_left_out };
	int rc = root < 0 ? -1 : unpack_all(&u, e);
	place_done(&to);
	return rc;
}

_Noreturn void copy_run(const struct exec *x)
{
	struct err e = { 0 };
	int code = COPY_DONE;

	(void)prctl(PR_SET_NAME, "hutch-copy"); /* sets the name that users on the host
						 * see in ps(1) */
	if ((x->flags & EXEC_PACK ? copy_out(x, &e) : copy_in(x, &e)) < 0) {
		say(e.text);
		code = exit_of(&e);
	}
	(void)syscall(SYS_exit_group, code);
	__builtin_trap(); /* the command's own seccomp filter may refuse exit_group(2),
			   * but no filter can keep a fault from ending the process */
}
