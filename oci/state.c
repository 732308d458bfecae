#include "oci/state.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/regular.h"
#include "oci/cgroups.h"
#include "oci/fields.h"
#include "oci/notify.h"
#include "policy/json/json.h"

int state_check_id(const char *id, struct err *e)
{
	const size_t len = strlen(id);
	bool is_good = len > 0 && len <= STATE_ID_MAX && id[0] != '.';

	for (size_t i = 0; i < len; i++)
		is_good = is_good &&
			  (isalnum((unsigned char)id[i]) || strchr("_+-.", id[i]));
	return is_good ? 0
		       : err_set(e, ERR_USAGE,
				 "invalid container id '%.64s': letters, digits and _+-. "
				 "are allowed, and no . in front",
				 id);
}

/* Makes a folder and its parents. */
static int make_folders(const char *path, struct err *e)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return err_set(e, ERR_USAGE, "--root: the path is too long");
	for (char *p = part + 1;; p++) {
		const char c = *p;
		if (c && c != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0700) && errno != EEXIST && errno != EROFS &&
		    errno != EACCES)
			return err_sys(e, "make %s", part);
		if (!c)
			return 0;
		*p = c;
	}
}

int state_check_root(const char *root, struct err *e)
{
	struct stat st;
	AUTO_CLOSE int fd = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(e, ERR_REFUSED, "--root %.300s: it is a link or no folder",
			       root);
	if (fd < 0)
		return err_sys(e, "open --root %.300s", root);
	if (fstat(fd, &st))
		return err_sys(e, "stat --root %.300s", root);
	if (st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	(void)err_set(
		e, ERR_REFUSED,
		"--root %.300s: the folder is another user's, or others may write to it",
		root);
	return err_remedy(e, "--root DIR, a folder of your own with the mode 0700");
}

static int open_folder(struct state *s, struct err *e)
{
	s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->folder >= 0)
		return 0;
	return errno == ENOENT
		       ? err_set(e, ERR_NOT_FOUND, "container '%s' does not exist", s->id)
		       : err_sys(e, "open %s", s->path);
}

static void begin(const char *root, const char *id, struct state *s)
{
	*s = (struct state){ .folder = -1, .id = text_copy(id) };
	s->path = text_format("%s/%s", root, id);
}

int state_create(const char *root, const char *id, struct state *ret, struct err *e)
{
	struct state s;

	if (state_check_id(id, e) || make_folders(root, e) || state_check_root(root, e))
		return -1;
	begin(root, id, &s);
	if (mkdir(s.path, 0700)) {
		(void)(errno == EEXIST ? err_set(e, ERR_EXISTS,
						 "container '%s' already exists", id)
				       : err_sys(e, "make %s", s.path));
		state_done(&s);
		return -1;
	}
	if (open_folder(&s, e)) {
		state_done(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

static char *copy_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
}

static int read_members(const struct json_at *root, struct state *s, struct err *e)
{
	const char *bundle = NULL, *dir = NULL, *cgroup = NULL, *v1 = NULL, *scope = NULL,
		   *created = NULL, *version = NULL;
	struct json_at notes;
	int64_t pid = 0;

	if (json_expect(root, JSON_OBJECT, e) || fields_int(root, "pid", &pid, e) ||
	    fields_u64(root, "born", &s->born, e) ||
	    fields_text(root, "bundle", &bundle, e) ||
	    fields_text(root, "rootfs", &dir, e) ||
	    fields_text(root, "cgroup", &cgroup, e) ||
	    fields_text(root, "cgroupV1", &v1, e) ||
	    fields_text(root, "scope", &scope, e) ||
	    fields_text(root, "created", &created, e) ||
	    fields_text(root, "ociVersion", &version, e) ||
	    fields_bool(root, "ready", &s->is_ready, e))
		return -1;
	if (pid < 0 || pid > INT32_MAX)
		return err_set(e, ERR_USAGE, "state.json.pid: no process id");
	s->pid = (pid_t)pid;
	s->bundle = copy_or_null(bundle);
	s->root = copy_or_null(dir);
	s->cgroup = copy_or_null(cgroup);
	s->v1 = copy_or_null(v1);
	s->scope = copy_or_null(scope);
	s->created = copy_or_null(created);
	s->version = copy_or_null(version);
	if (json_member(root, "annotations", &notes)) {
		size_t len;
		const char *source = json_source(&notes, &len);
		s->annotations = text_format("%.*s", (int)len, source);
	}
	return 0;
}

static int read_state(struct state *s, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct json_at root;
	struct err why;
	size_t len;

	AUTO_FREE char *name = text_format("%s/state.json", s->path);
	AUTO_CLOSE int fd = regular_open(s->folder, "state.json", O_NOFOLLOW, name, &why);
	if (fd < 0 && why.sys == ENOENT)
		return 0; /* `create` has not come to it yet */
	if (fd < 0) {
		*e = why;
		return -1;
	}
	if (io_read_file(fd, name, FIELDS_FILE_MAX, &text, &len, e))
		return -1;
	AUTO_JSON struct json *doc = json_parse_wide(text, len, e);
	if (!doc)
		return err_in(e, "%s", name);
	json_root(doc, "state.json", &root);
	return read_members(&root, s, e);
}

int state_open(const char *root, const char *id, struct state *ret, struct err *e)
{
	struct state s;

	if (state_check_id(id, e) || state_check_root(root, e))
		return -1;
	begin(root, id, &s);
	if (open_folder(&s, e) || read_state(&s, e)) {
		state_done(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int state_ids(const char *root, struct list *ret, struct err *e)
{
	if (state_check_root(root, e))
		return -1;
	DIR *dir = opendir(root);
	if (!dir)
		return errno == ENOENT ? 0 : err_sys(e, "open --root %.300s", root);
	for (struct dirent *d; (d = readdir(dir));)
		if (state_check_id(d->d_name, NULL) == 0)
			list_add(ret, d->d_name);
	(void)closedir(dir); /* it was only read */
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
	return 0;
}

/* Writes a file of the folder as a whole or not at all. */
static int write_file(const struct state *s, const char *name, const char *text,
		      size_t len, struct err *e)
{
	AUTO_FREE char *temp = text_format(".%s", name);
	AUTO_CLOSE int fd = openat(s->folder, temp,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
				   0600);

	if (fd < 0 || io_write_all(fd, text, len) ||
	    renameat(s->folder, temp, s->folder, name))
		return err_sys(e, "write %s/%s", s->path, name);
	return 0;
}

int state_save(struct state *s, struct err *e)
{
	struct buffer b;

	if (s->pid && !s->born)
		s->born = state_birth(s->pid);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "ociVersion", s->version);
	json_write_number(&b, "pid", s->pid);
	json_write_number(&b, "born", (int64_t)s->born);
	json_write_text(&b, "bundle", s->bundle);
	json_write_text(&b, "rootfs", s->root);
	json_write_text(&b, "cgroup", s->cgroup);
	json_write_text(&b, "cgroupV1", s->v1);
	json_write_text(&b, "scope", s->scope);
	json_write_text(&b, "created", s->created);
	json_write_bool(&b, "ready", s->is_ready);
	if (s->annotations)
		json_write_raw(&b, "annotations", s->annotations);
	json_write_close(&b, "}\n");
	AUTO_FREE char *text = json_write_end(&b);
	return write_file(s, "state.json", text, strlen(text), e);
}

int state_keep_config(const struct state *s, const char *text, size_t len, struct err *e)
{
	return write_file(s, "config.json", text, len, e);
}

char *state_config_path(const struct state *s)
{
	return text_format("%s/config.json", s->path);
}

void state_done(struct state *s)
{
	own_close(&s->folder);
	free(s->id);
	free(s->path);
	free(s->bundle);
	free(s->root);
	free(s->cgroup);
	free(s->v1);
	free(s->scope);
	free(s->created);
	free(s->version);
	free(s->annotations);
	*s = (struct state){ .folder = -1 };
}

int state_remove(const struct state *s, struct err *e)
{
	static const char *const names[] = {
		"start",       "state.json",   "config.json",
		".state.json", ".config.json", NOTIFY_FOLDER "/notify.sock"
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (unlinkat(s->folder, names[i], 0) && errno != ENOENT)
			return err_sys(e, "remove %s/%s", s->path, names[i]);
	if (unlinkat(s->folder, NOTIFY_FOLDER, AT_REMOVEDIR) && errno != ENOENT)
		return err_sys(e, "remove %s/" NOTIFY_FOLDER, s->path);
	/* `create` and `delete --force` may remove it at the same time. */
	return rmdir(s->path) && errno != ENOENT ? err_sys(e, "remove %s", s->path) : 0;
}

uint64_t state_birth(pid_t pid)
{
	char path[64], text[1024];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid); /* fits */
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : io_read_full(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name in parentheses may hold anything; the fields follow its last ")". */
	const char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || strchr("ZX", at[2]))
		return 0;
	at += 2;
	for (int field = 3; field < 22 && at; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

struct cgroups_place state_place(const struct state *s)
{
	return (struct cgroups_place){ .folder = s->cgroup,
				       .v1 = s->v1,
				       .scope = s->scope };
}

void state_set_place(struct state *s, const struct cgroups_place *p)
{
	s->cgroup = p->folder;
	s->v1 = p->v1;
	s->scope = p->scope;
}

enum state_status state_status(const struct state *s)
{
	const uint64_t born = s->pid ? state_birth(s->pid) : 0;

	if (s->pid && (!born || born != s->born))
		return STATE_STOPPED;
	if (!s->is_ready)
		return STATE_CREATING;
	if (cgroups_is_frozen(s->cgroup))
		return STATE_PAUSED;
	return faccessat(s->folder, "start", F_OK, 0) == 0 ? STATE_CREATED
							   : STATE_RUNNING;
}

const char *state_word(enum state_status status)
{
	static const char *const words[] = { "creating", "created", "running", "paused",
					     "stopped" };

	return words[status];
}

char *state_json(const struct state *s, enum state_status status)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "ociVersion", s->version ? s->version : "1.0.0");
	json_write_text(&b, "id", s->id);
	json_write_text(&b, "status", state_word(status));
	json_write_number(&b, "pid", status == STATE_STOPPED ? 0 : s->pid);
	json_write_text(&b, "bundle", s->bundle);
	json_write_text(&b, "rootfs", s->root);
	json_write_text(&b, "created", s->created);
	if (s->annotations)
		json_write_raw(&b, "annotations", s->annotations);
	json_write_close(&b, "}\n");
	return json_write_end(&b);
}
