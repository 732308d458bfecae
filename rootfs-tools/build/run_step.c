/* Carries out RUN: runs a command in a sandbox over the stage's layers, and makes a
 * layer of the files that the command wrote. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/outcome.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/build/builder.h"
#include "rootfs-tools/build/copying.h"
#include "rootfs-tools/changes/changes.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/result.h"
#include "store/reference.h"
#include "store/rm_tree.h"

#define TAIL_MAX (64u << 10) /* limit of the output that is shown when a quiet build
			      * fails, in bytes */

/* The folder of one RUN, below the store's tmp; it is removed afterwards. */
struct run_dir {
	int folder; /* owned; holds the folder's lock */
	char *name; /* owned */
	char *path; /* owned: path of the upper folder, for hutch run --upper */
};

struct run {
	struct making *m;
	struct list command; /* the words of the command that the sandbox runs */
	struct list words;   /* the words of the host's command line: "hutch run", its
			      * flags and `command` */
	struct run_dir run_dir;
	struct digest key;
	const char *text;
};

/* --- the command ---------------------------------------------------------------- */

/* Returns the shell script of a RUN: the line and its heredocs, or, if a single
 * heredoc is the whole line, the heredoc's text. */
static char *script_of(const struct instruction *i)
{
	const char *line = i->words.items[0];
	char *script;

	if (i->heredoc_count == 1 && instruction_is_heredoc(line))
		return text_copy(i->heredocs[0].text);
	script = text_copy(line);
	for (size_t n = 0; n < i->heredoc_count; n++) {
		char *longer = text_format("%s\n%s%s", script, i->heredocs[n].text,
					   i->heredocs[n].name);
		free(script);
		script = longer;
	}
	return script;
}

static int take_command(struct run *r, const struct instruction *i, struct err *e)
{
	if (i->is_exec) {
		for (size_t n = 0; n < i->words.count; n++)
			list_add(&r->command, i->words.items[n]);
		return i->words.count ? 0 : err_set(e, ERR_USAGE, "it names no command");
	}
	AUTO_FREE char *script = script_of(i);
	if (i->heredoc_count && !strncmp(script, "#!", 2))
		return err_set(e, ERR_UNSUPPORTED,
			       "a heredoc that begins with #! is not "
			       "supported; name the program, as in RUN python3 <<EOF");
	steps_shell(r->m, &r->command);
	list_add(&r->command, script);
	return 0;
}

static const char *const proxies[] = { "HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
				       "https_proxy", "FTP_PROXY",  "ftp_proxy",
				       "NO_PROXY",    "no_proxy",   "ALL_PROXY",
				       "all_proxy" };

static bool is_proxy(const char *pair)
{
	for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
		if (!strncmp(pair, proxies[i], strlen(proxies[i])) &&
		    pair[strlen(proxies[i])] == '=')
			return true;
	return false;
}

/* Collects the command's environment: declared ARGs, and the proxy variables, which
 * need no declaration.  A variable of ENV takes precedence, so names in ENV are left
 * out. */
static void take_environment(struct run *r, struct list *ret)
{
	const struct making *m = r->m;
	const struct list *given = &m->b->options->args;

	for (size_t i = 0; i < given->count; i++)
		if (is_proxy(given->items[i]))
			list_set_env(ret, given->items[i]);
	for (size_t i = 0; i < m->args.count; i++)
		list_set_env(ret, m->args.items[i]);
	for (size_t i = 0; i < m->config.env.count; i++) {
		AUTO_FREE char *name =
			text_format("%.*s", (int)strcspn(m->config.env.items[i], "="),
				    m->config.env.items[i]);
		list_unset_env(ret, name);
	}
}

/* --- the key -------------------------------------------------------------------- */

static void make_key(struct run *r)
{
	struct hash *key = cache_key(r->m, "RUN");

	for (size_t i = 0; i < r->command.count; i++)
		cache_add(key, r->command.items[i]);
	cache_add(key, "");
	for (size_t i = 0; i < r->m->args.count; i++)
		if (!is_proxy(r->m->args.items[i]))
			cache_add(key, r->m->args.items[i]);
	hash_end(key, &r->key);
	hash_free(key);
}

/* --- the sandbox ---------------------------------------------------------------- */

/* Makes an image of the stage for the sandbox.  Its name marks it as a step's, so that
 * hutch image ls hides the image.  The build leaves the name in the store, where another
 * build with the same step may use it at this moment; a collection removes it. */
static int make_image(struct run *r, char ret[REFERENCE_MAX], struct err *e)
{
	struct making *m = r->m;
	struct reference name;
	struct image_config plain = { .user = m->config.user,
				      .workdir = m->config.workdir,
				      .env = m->config.env };
	AUTO_FREE char *config = image_config_print(&plain);

	cache_name(REFERENCE_STEPS, &r->key, &name);
	if (images_make(&m->b->store, config, &m->config.layers, &m->config.diff_ids,
			&name, NULL, e) < 0)
		return -1;
	reference_print(&name, ret);
	return 0;
}

static void add_flags(struct list *words, const char *flag, const struct list *values)
{
	for (size_t i = 0; i < values->count; i++) {
		list_add(words, flag);
		list_add(words, values->items[i]);
	}
}

static int make_words(struct run *r, struct err *e)
{
	const struct build_network *network = &r->m->b->options->network;
	AUTO_FREE char *hutch = NULL;
	struct list env = { 0 };
	char image[REFERENCE_MAX];

	if (program_find_hutch(&hutch, e) < 0 || make_image(r, image, e) < 0)
		return -1;
	const char *const first[] = { hutch,	    "run",	     "--image",
				      image,	    "--pull",	     "never",
				      "--upper",    r->run_dir.path, "--network",
				      network->mode };
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		list_add(&r->words, first[i]);
	add_flags(&r->words, "--allow", &network->allow);
	add_flags(&r->words, "--add-host", &network->add_hosts);
	take_environment(r, &env);
	add_flags(&r->words, "-e", &env);
	list_done(&env);
	list_add(&r->words, "--");
	for (size_t i = 0; i < r->command.count; i++)
		list_add(&r->words, r->command.items[i]);
	return 0;
}

static _Noreturn void become_hutch(const struct run *r, pid_t parent, int output)
{
	int null = open("/dev/null", O_RDONLY);

	/* If the build dies, this signal kills the launcher; the sandbox dies with its
	 * launcher. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 ||
	    dup2(output, 2) < 0)
		_exit(EXIT_HUTCH);
	(void)execv(r->words.items[0], r->words.items);
	_exit(EXIT_HUTCH);
}

/* Reads the output of a quiet build's RUN to its end, and keeps the last TAIL_MAX
 * bytes. */
static void keep_tail(int from, struct list *to)
{
	AUTO_FREE char *tail = mem_new(2 * TAIL_MAX);
	size_t len = 0;
	ssize_t n;

	while ((n = read(from, tail + len, 2 * TAIL_MAX - 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		len += (size_t)n;
		if (len > TAIL_MAX + TAIL_MAX / 2) {
			memmove(tail, tail + len - TAIL_MAX, TAIL_MAX);
			len = TAIL_MAX;
		}
	}
	tail[len] = '\0';
	list_add(to, tail);
}

/* Names the flag that a RUN may need, since many fail for want of a network. */
static int suggest_network(const struct run *r, struct err *e)
{
	const char *network = r->m->b->options->network.mode;

	if (!strcmp(network, "none"))
		return err_remedy(e, "a RUN has no network unless the build has --allow "
				     "HOST, or --network host");
	if (!strcmp(network, "allow"))
		return err_remedy(e, "a RUN connects only to what --allow names");
	return -1;
}

static int failed(const struct run *r, int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYSTEM, "the command was ended by signal %d",
			       WTERMSIG(status));
	if (WEXITSTATUS(status) == EXIT_HUTCH)
		return err_set(e, ERR_SYSTEM, "its sandbox failed");
	(void)err_set(e, ERR_SYSTEM, "'%.200s' ended with exit code %d", r->text,
		      WEXITSTATUS(status));
	return suggest_network(r, e);
}

static int run_hutch(const struct run *r, struct err *e)
{
	bool is_quiet = r->m->b->options->is_quiet;
	struct list tail = { 0 };
	int ends[2] = { -1, 2 };
	pid_t parent = getpid();

	if (is_quiet && pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		become_hutch(r, parent, ends[1]);
	if (is_quiet) {
		(void)close(ends[1]);
		keep_tail(ends[0], &tail);
		(void)close(ends[0]);
	}
	const int status = worker_reap(pid);
	bool is_done = status == 0;
	if (!is_done && is_quiet)
		(void)io_write_all(2, tail.items[0], strlen(tail.items[0]));
	list_done(&tail);
	return is_done ? 0 : failed(r, status, e);
}

/* --- what it has written -------------------------------------------------------- */

static int take_changes(struct run *r, struct blob *blob, struct err *e)
{
	AUTO_CLOSE int upper = openat(r->run_dir.folder, "up/upper",
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int tar =
		openat(r->run_dir.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct outcome outcome = { 0 };

	if (upper < 0 || tar < 0)
		return err_sys(e, "open the files that the command has written");
	int64_t newest = r->m->b->newest;
	const struct changes c = { .upper = upper, .out = tar,
				   .newest = newest < INT64_MAX ? newest : 0 };
	if (changes_tar(&c, &outcome, e) < 0)
		return -1;
	if (outcome.left_out > 0)
		(void)fprintf(stderr, "hutch: %llu left out: %s\n",
			      (unsigned long long)outcome.left_out, outcome.first);
	if (lseek(tar, 0, SEEK_SET) < 0)
		return err_sys(e, "read the files that the command has written");
	return copying_pour(tar, blob, e);
}

static int keep_changes(struct run *r, struct err *e)
{
	struct blob *blob = NULL;

	if (blob_begin(&r->m->b->store, NULL, &blob, e) < 0)
		return -1;
	int rc = take_changes(r, blob, e);
	if (rc == 0)
		rc = cache_keep(r->m, blob, &r->key, r->text, e);
	blob_done(blob);
	return rc;
}

static int run_dir_make(struct run *r, struct err *e)
{
	const struct store *s = &r->m->b->store;

	r->run_dir.folder = store_stage(s, &r->run_dir.name, e);
	if (r->run_dir.folder < 0)
		return -1;
	if (mkdirat(r->run_dir.folder, "up", 0700) < 0)
		return err_sys(e, "make a folder in the store");
	r->run_dir.path = text_format("%s/" STORE_TMP "/%s/up", s->path, r->run_dir.name);
	return 0;
}

static void run_dir_done(struct run *r)
{
	struct err none;
	AUTO_CLOSE int tmp = store_folder(&r->m->b->store, STORE_TMP, &none);

	if (r->run_dir.name && tmp >= 0)
		rm_tree_remove(tmp, r->run_dir.name);
	own_close(&r->run_dir.folder);
	free(r->run_dir.name);
	free(r->run_dir.path);
}

static int run_anew(struct run *r, struct err *e)
{
	int rc = run_dir_make(r, e);

	if (rc == 0)
		rc = make_words(r, e);
	if (rc == 0)
		rc = run_hutch(r, e);
	if (rc == 0)
		rc = keep_changes(r, e);
	run_dir_done(r);
	return rc;
}

int run_step(struct making *m, const struct instruction *i, struct err *e)
{
	struct run r = { .m = m, .text = i->text, .run_dir = { .folder = -1 } };
	int rc = take_command(&r, i, e);

	if (rc == 0) {
		make_key(&r);
		rc = cache_find(m, &r.key, i->text, e);
		steps_show(m, i->text, rc > 0);
		if (rc == 0)
			rc = run_anew(&r, e);
	}
	list_done(&r.command);
	list_done(&r.words);
	return rc < 0 ? -1 : 0;
}
