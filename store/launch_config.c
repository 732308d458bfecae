#include "store/launch_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/variables.h"
#include "store/lock.h"
#include "store/store.h"

#define MAGIC "hutch-image 1"
#define FILE_NAME "recipe"

void launch_config_init(struct launch_config *r)
{
	*r = (struct launch_config){ 0 };
}

void launch_config_done(struct launch_config *r)
{
	if (!r)
		return;
	list_done(&r->layers);
	list_done(&r->env);
	list_done(&r->entrypoint);
	list_done(&r->cmd);
	own_free(&r->user);
	own_free(&r->workdir);
	own_free(&r->stop_signal);
	own_free(&r->architecture);
	launch_config_init(r);
}

/* --- values -------------------------------------------------------------------- */

/* Adds a layer's digest.  Returns -1 if the value is no digest, or if there are too
 * many layers. */
static int set_layer(struct launch_config *r, const char *value)
{
	if (!digest_is_hex(value) || r->layers.count == LAUNCH_CONFIG_LAYERS_MAX)
		return -1;
	list_add(&r->layers, value);
	return 0;
}

static int set_env(struct launch_config *r, const char *value)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value || strlen(value) >= VARIABLE_MAX)
		return -1;
	list_add(&r->env, value);
	return 0;
}

static int set_word(struct list *l, const char *value)
{
	if (strlen(value) >= VARIABLE_MAX)
		return -1;
	list_add(l, value);
	return 0;
}

static int set_entrypoint(struct launch_config *r, const char *value)
{
	return set_word(&r->entrypoint, value);
}

static int set_cmd(struct launch_config *r, const char *value)
{
	return set_word(&r->cmd, value);
}

/* Sets a text that may be given only once; -1 if the text is set already, or if the
 * value is empty. */
static int set_text(char **to, const char *value)
{
	if (*to || !*value)
		return -1;
	*to = text_copy(value);
	return 0;
}

static int set_user(struct launch_config *r, const char *value)
{
	return set_text(&r->user, value);
}

static int set_workdir(struct launch_config *r, const char *value)
{
	return value[0] == '/' ? set_text(&r->workdir, value) : -1;
}

static int set_stop_signal(struct launch_config *r, const char *value)
{
	return set_text(&r->stop_signal, value);
}

static int set_architecture(struct launch_config *r, const char *value)
{
	return set_text(&r->architecture, value);
}

static int set_config(struct launch_config *r, const char *value)
{
	if (!digest_is_hex(value) || r->config.hex[0])
		return -1;
	memcpy(r->config.hex, value, sizeof(r->config.hex));
	return 0;
}

/* Reads decimal digits, in exactly the form that launch_config_print() writes. */
static int parse_number(const char *value, uint64_t *ret)
{
	size_t len = strspn(value, "0123456789");

	if (!len || value[len] || len > 19 || (value[0] == '0' && len > 1))
		return -1;
	*ret = strtoull(value, NULL, 10);
	return 0;
}

static int set_created(struct launch_config *r, const char *value)
{
	bool is_before = value[0] == '-';
	uint64_t number;

	if (parse_number(value + is_before, &number) < 0 || number > INT64_MAX)
		return -1;
	r->created = is_before ? -(int64_t)number : (int64_t)number;
	return 0;
}

static int set_size(struct launch_config *r, const char *value)
{
	return parse_number(value, &r->size);
}

static const struct key {
	const char *name;
	int (*set)(struct launch_config *r, const char *value);
} keys[] = {
	{ "layer", set_layer },		    { "env", set_env },
	{ "entrypoint", set_entrypoint },   { "cmd", set_cmd },
	{ "user", set_user },		    { "workdir", set_workdir },
	{ "stop-signal", set_stop_signal }, { "architecture", set_architecture },
	{ "config", set_config },	    { "created", set_created },
	{ "size", set_size },
};

/* --- the text ------------------------------------------------------------------ */

static int parse_one(struct launch_config *r, const char *text, struct err *e)
{
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strlen(keys[i].name) != len || strncmp(text, keys[i].name, len) ||
		    !text[len])
			continue;
		if (keys[i].set(r, text + len + 1) == 0)
			return 0;
		return err_set(e, ERR_PROTOCOL,
			       "the value of %s is not to be understood: '%.100s'",
			       keys[i].name, text + len + 1);
	}
	(void)err_set(e, ERR_UNSUPPORTED,
		      "it says '%.100s', which this hutch does not know", text);
	return err_remedy(
		e, "use the hutch that made the image, or hutch image rm it and get "
		   "it again");
}

static int parse_all(struct launch_config *r, const char *text, size_t len, struct err *e)
{
	if (len < sizeof(MAGIC) || strcmp(text, MAGIC) || text[len - 1])
		return err_set(e, ERR_PROTOCOL,
			       "it is no recipe of an image, or not all of one");
	for (const char *at = text + sizeof(MAGIC); at < text + len; at += strlen(at) + 1)
		if (parse_one(r, at, e) < 0)
			return -1;
	return 0;
}

int launch_config_parse(const char *text, size_t len, struct launch_config *ret,
			struct err *e)
{
	struct launch_config r;

	launch_config_init(&r);
	if (len > LAUNCH_CONFIG_MAX)
		return err_set(e, ERR_LIMIT, "it has more than %u bytes",
			       LAUNCH_CONFIG_MAX);
	if (parse_all(&r, text, len, e) < 0) {
		launch_config_done(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

static void add(struct buffer *b, const char *key, const char *value)
{
	if (!value)
		return;
	AUTO_FREE char *line = text_format("%s=%s", key, value);
	if (!buffer_append(b, line, strlen(line) + 1))
		b->is_cut = true;
}

static void add_all(struct buffer *b, const char *key, const struct list *values)
{
	for (size_t i = 0; i < values->count; i++)
		add(b, key, values->items[i]);
}

int launch_config_print(const struct launch_config *r, struct buffer *to, struct err *e)
{
	char created[24], size[24];
	struct launch_config again;

	(void)snprintf(created, sizeof(created), "%lld", (long long)r->created);
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)r->size);
	to->is_cut = !buffer_append(to, MAGIC, sizeof(MAGIC));
	add_all(to, "layer", &r->layers);
	add_all(to, "env", &r->env);
	add_all(to, "entrypoint", &r->entrypoint);
	add_all(to, "cmd", &r->cmd);
	add(to, "user", r->user);
	add(to, "workdir", r->workdir);
	add(to, "stop-signal", r->stop_signal);
	add(to, "architecture", r->architecture);
	add(to, "config", r->config.hex[0] ? r->config.hex : NULL);
	add(to, "created", created);
	add(to, "size", size);
	if (to->is_cut)
		return err_set(e, ERR_LIMIT,
			       "the image's configuration has more than %u bytes",
			       LAUNCH_CONFIG_MAX);
	/* A recipe that could not be read back is not written. */
	if (launch_config_parse((const char *)buffer_data(to), buffer_len(to), &again,
				e) < 0)
		return err_in(e, "the image's configuration");
	launch_config_done(&again);
	return 0;
}

/* --- the file ------------------------------------------------------------------ */

/* Opens and locks the file images/HEX, and checks that the file is still there: gc may
 * have removed it between the open and the lock. */
static int open_locked(int images, const char *hex, int operation)
{
	for (;;) {
		AUTO_CLOSE int fd = openat(
			images, hex, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || lock_take(fd, operation) < 0)
			return -1;
		if (lock_is_at(images, hex, fd))
			return fd_take(&fd);
	}
}

static int read_open(int fd, const char *hex, struct launch_config *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (io_read_file(fd, "the image's recipe", LAUNCH_CONFIG_MAX, &text, &len, e) <
		    0 ||
	    launch_config_parse(text, len, ret, e) < 0)
		return err_in(e, "image %.12s", hex);
	return 0;
}

int launch_config_open(const struct store *s, const struct digest *image,
		       struct launch_config *ret, int *ret_lock, struct err *e)
{
	AUTO_CLOSE int images = store_folder(s, STORE_IMAGES, e);

	if (images < 0)
		return -1;
	AUTO_CLOSE int fd = open_locked(images, image->hex, LOCK_SH);
	if (fd < 0 && errno == ENOENT) {
		(void)err_set(e, ERR_NOT_FOUND, "there is no image %.12s in the store",
			      image->hex);
		return err_remedy(e, "hutch image ls lists the images");
	}
	if (fd < 0)
		return err_sys(e, "open image %.12s", image->hex);
	if (read_open(fd, image->hex, ret, e) < 0)
		return -1;
	*ret_lock = fd_take(&fd);
	return 0;
}

static int write_new(int folder, const struct buffer *text)
{
	AUTO_CLOSE int fd = openat(folder, FILE_NAME,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				   0400);

	if (fd < 0 || io_write_all(fd, buffer_data(text), buffer_len(text)) < 0)
		return -1;
	return fsync(fd);
}

/* Puts the text in place as images/HEX by link(2), not by rename(2): a recipe that is
 * there already must stay, since another process may hold its lock. */
static int put_text(const struct store *s, const char *hex, const struct buffer *text,
		    struct err *e)
{
	AUTO_FREE char *name = NULL;
	AUTO_CLOSE int images = store_folder(s, STORE_IMAGES, e);
	AUTO_CLOSE int tmp = images < 0 ? -1 : store_folder(s, STORE_TMP, e);
	AUTO_CLOSE int stage = tmp < 0 ? -1 : store_stage(s, &name, e);

	if (stage < 0)
		return -1;
	int rc = write_new(stage, text);
	if (rc == 0)
		rc = linkat(stage, FILE_NAME, images, hex, 0);
	if (rc < 0 && errno != EEXIST)
		(void)err_sys(e, "write image %.12s into the store", hex);
	else
		rc = 0;
	(void)unlinkat(stage, FILE_NAME, 0); /* if this fails, the next store_stage()
					      * removes the file */
	(void)unlinkat(tmp, name, AT_REMOVEDIR);
	return rc;
}

int launch_config_put(const struct store *s, const struct digest *image,
		      const struct launch_config *r, struct err *e)
{
	struct buffer text;

	buffer_init(&text, LAUNCH_CONFIG_MAX);
	int rc = launch_config_print(r, &text, e);
	if (rc == 0)
		rc = put_text(s, image->hex, &text, e);
	buffer_done(&text);
	return rc;
}

int launch_config_remove_unused(const struct store *s, const struct digest *image,
			 int *ret_is_removed, struct err *e)
{
	AUTO_CLOSE int images = store_folder(s, STORE_IMAGES, e);

	if (images < 0)
		return -1;
	AUTO_CLOSE int fd = open_locked(images, image->hex, LOCK_EX | LOCK_NB);
	if (fd < 0 && errno != EWOULDBLOCK)
		return err_sys(e, "lock image %.12s", image->hex);
	if (fd >= 0 && unlinkat(images, image->hex, 0) < 0)
		return err_sys(e, "remove image %.12s", image->hex);
	*ret_is_removed = fd >= 0;
	return 0;
}
