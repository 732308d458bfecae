#include "cli/common/report.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/term_escape.h"
#include "policy/egress/egress_check.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "sandbox/kernel/log_level.h"
#include "sandbox/launch/result.h"

/* Prints the error as one JSON object on a line (--log-format json). */
static void report_line(const struct err *e)
{
	AUTO_FREE char *remedy = json_write_quoted(e->remedy[0] ? e->remedy : NULL);
	AUTO_FREE char *fields = text_format("\"kind\":\"%s\",\"remedy\":%s",
					     err_kind_name(e->kind), remedy);
	const struct log_level_entry x = { .level = LOG_LEVEL_ERROR,
					   .component = "hutch",
					   .message = e->text,
					   .fields = fields };

	log_level_say(&x);
}

void report_error(const struct err *e)
{
	if (log_level_wants_json()) {
		report_line(e);
		return;
	}
	/* The texts are made safe for the terminal: paths and names in them may be
	 * chosen by strangers. */
	AUTO_FREE char *text = term_escape_line(e->text);
	AUTO_FREE char *remedy = term_escape_line(e->remedy);

	(void)fprintf(stderr, "hutch: %s\n", text);
	if (*remedy)
		(void)fprintf(stderr, "hutch: hint: %s\n", remedy);
}

/* how many refused system calls are printed; the JSON object has all of them */
#define REFUSED_LINES 4
/* The most rules about connections that a launch compares with each other. */
#define RULES_COMPARED 64

static void report_refused(const struct result *r)
{
	const size_t kinds = r->refusal_notes.count / 2;

	for (size_t i = 0; i < kinds && i < REFUSED_LINES; i++) {
		note_print("%s", r->refusal_notes.items[2 * i]);
		note_print("hint: %s", r->refusal_notes.items[2 * i + 1]);
	}
	if (kinds > REFUSED_LINES)
		note_print("note: %zu more kinds of system calls were refused; --json "
			   "tells all of them", kinds - REFUSED_LINES);
}

int report_end(int result, const struct err *e)
{
	if (result == 0)
		return 0;
	report_error(e);
	return EXIT_HUTCH;
}

/* The errno of the first failed write to stdout, because stdio does not keep it. */
static int unwritten;

int report_flush(void)
{
	if (fflush(stdout) != 0 && !unwritten)
		unwritten = errno;
	return ferror(stdout) ? -1 : 0;
}

int report_unwritten(struct err *e)
{
	if (unwritten)
		errno = unwritten;
	return errno ? err_sys(e, "write to stdout")
		     : err_set(e, ERR_SYSTEM,
			       "write to stdout: not all of it could be written");
}

int report_unread(struct err *e)
{
	(void)raise(SIGPIPE);
	errno = EPIPE;
	return err_sys(e, "write to stdout");
}

int report_exit(int code)
{
	struct err e;

	errno = 0;
	if (code == EXIT_HUTCH || report_flush() == 0)
		return code;
	(void)report_unwritten(&e);
	return report_end(-1, &e);
}

void report_begin(void)
{
	static char kept[64 << 10];

	if (!isatty(1))
		(void)setvbuf(stdout, kept, _IOFBF, sizeof(kept)); /* valid arguments */
}

static int write_object(int fd, const char *line)
{
	struct err e;

	/* EPIPE means that the object's reader is gone, which is no error of hutch's. */
	if (io_write_all(fd, line, strlen(line)) == 0 || errno == EPIPE)
		return 0;
	(void)err_sys(&e, "write the object of --json to descriptor %d", fd);
	report_error(&e);
	return -1;
}

int report_made(int json_fd, const char *name, const struct err *e)
{
	if (json_fd < 0)
		return 0;
	AUTO_FREE char *quoted = json_write_quoted(name);
	AUTO_FREE char *error = result_error_json(e);
	AUTO_FREE char *line =
		text_format("{\"version\":1,\"name\":%s,\"error\":%s}\n", quoted, error);

	return write_object(json_fd, line);
}

int report_result(const struct result *r, uint64_t timeout_ms, int json_fd)
{
	if (r->error.kind != ERR_NONE)
		report_error(&r->error);
	else if (r->status == RUN_TIMEOUT)
		(void)fprintf(stderr,
			      "hutch: timed out after %.1f s; everything was ended\n",
			      (double)timeout_ms / 1e3);
	if (r->exit_code != 0)
		report_refused(r);
	if (json_fd < 0)
		return 0;
	AUTO_FREE char *object = result_json(r);
	AUTO_FREE char *line = text_format("%s\n", object);
	return write_object(json_fd, line);
}

/* Returns whether the rule is one of a preset's: an exception before a preset leaves some
 * of these unasked, as it is meant to. */
static bool is_of_preset(const struct egress_rule *rule)
{
	return strstr(rule->text, " (@");
}

static void print_warnings(const struct egress_rules *r, const struct egress_warning *w,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_of_preset(&r->items[w[i].rule]))
			continue;
		AUTO_FREE char *text = egress_warning_text(r, &w[i]);
		note_print("note: %s", text);
	}
}

/* Compares the rules with each other if they are at most `most`. */
static void check_rules(const struct policy *policy, size_t most)
{
	const struct egress_rules *rules = &policy->egress_rules;
	struct egress_warning *warnings = NULL;
	const size_t count = rules->count <= most
				     ? egress_rules_check(rules, &warnings)
				     : egress_rules_check_alone(rules, &warnings);

	print_warnings(rules, warnings, count);
	free(warnings);
}

void report_rules(const struct policy *policy)
{
	check_rules(policy, EGRESS_RULES_MAX);
}

void report_network(const struct policy *policy)
{
	check_rules(policy, RULES_COMPARED);
}

void report_shared_network(const struct policy *policy)
{
	if (policy->network == NETWORK_HOST)
		note_print("--network host: the sandbox shares this host's network, its "
			   "loopback services included");
	else if (policy->network == NETWORK_NS)
		note_print("--network %s: the sandbox shares that network with all "
			   "programs in it, its loopback services included",
			   policy->netns);
}

void report_secrets(const struct policy *policy)
{
	struct redact m = { 0 };

	for (size_t i = 0; i < policy->secrets.count; i++) {
		const char *name = policy->secrets.items[i];
		bool is_hidden = true;
		(void)redact_add(&m, list_get_env(&policy->env_set, name), &is_hidden,
				 NULL);
		if (!is_hidden)
			note_print("note: the value of %s is shorter than %d bytes, and "
				   "is not hidden", name, REDACT_MIN);
	}
	redact_done(&m);
}

void report_masked(const struct policy *policy, struct err *e)
{
	struct redact m = { 0 };

	(void)environment_mask(policy, &m, NULL); /* environment_mask() cannot fail here:
						   * policy_check() has called it without
						   * an error */
	redact_err(&m, e);
	redact_done(&m);
	report_error(e);
}

void report_degraded(unsigned degraded)
{
	/* The image's flag is left out: the code that copied the image has printed a
	 * note about it. */
	degraded &= ~(unsigned)DEGRADED_IMAGE;
	if (!degraded)
		return;
	struct list names = { 0 };
	for (unsigned i = 0; i < DEGRADED_COUNT; i++)
		if (degraded & 1u << i)
			list_addf(&names, "--%s", result_degraded_name(i));
	AUTO_FREE char *line = list_join(&names, 0, " ");
	note_print("note: weaker here than asked for (--best-effort): %s", line);
	list_done(&names);
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns the path of the first executable NAME in the caller's PATH, allocated, or
 * NULL. */
static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *copy = text_copy(path ? path : "");
	char *rest = copy;

	for (char *dir; (dir = strsep(&rest, ":"));) {
		if (*dir != '/')
			continue;
		char *full = text_format("%s/%s", dir, name);
		if (is_program(full))
			return full;
		free(full);
	}
	return NULL;
}

/* Returns whether a word in the place of a command looks like the name of an image, as
 * in `docker run ubuntu true`. */
static bool is_image(const char *name)
{
	static const char *const known[] = {
		"alpine",     "almalinux", "amazonlinux", "archlinux", "busybox",
		"centos",     "debian",	   "fedora",	  "golang",    "hello-world",
		"httpd",      "mariadb",   "mongo",	  "mysql",     "nginx",
		"node",	      "php",	   "postgres",	  "python",    "redis",
		"rockylinux", "ruby",	   "rust",	  "ubuntu"
	};
	const char *slash = strchr(name, '/');

	if (strchr("./", name[0]) ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-/:@")])
		return false;
	if (strchr(name, ':'))
		return true;
	if (slash) /* such as ghcr.io/me/tool */
		return memchr(name, '.', (size_t)(slash - name)) != NULL;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i], name))
			return true;
	return false;
}

/* Returns -1. */
static int hint_at_image(struct err *e, const char *name)
{
	return is_image(name) ? err_remedy(e,
					   "to run in an image: hutch run --image "
					   "%.100s CMD",
					   name)
			      : -1;
}

/* Returns the host's folder that is the working directory inside, as typed; NULL: there is
 * none. */
static const char *workspace_of(const struct policy *policy)
{
	for (size_t i = 0; i < policy->volume_count; i++)
		if (policy->volumes[i].kind == VOLUME_WORKSPACE)
			return policy->volumes[i].source;
	return NULL;
}

/* Returns -1. */
static int hint_at_folder(struct err *e, const char *path, const struct policy *policy)
{
	if (path[0] != '/')
		return workspace_of(policy)
			       ? -1
			       : err_remedy(e,
					    "--workspace . shows the folder that you are "
					    "in; no folder is inside unless a flag "
					    "names it");
	AUTO_FREE char *dir = text_copy(path);
	*strrchr(dir, '/') = '\0';
	return *dir ? err_remedy(e, "-v %.200s:%.200s:ro shows it", dir, dir) : -1;
}

static int explain_path(struct err *e, const char *path, const struct policy *policy)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		(void)err_set(e, ERR_NOT_FOUND,
			      "%.200s: command not found inside, nor on this host", path);
		return is_image(path) ? hint_at_image(e, path)
		       : *path == '/' ? -1
				      : hint_at_folder(e, path, policy);
	}
	if (S_ISDIR(st.st_mode)) {
		(void)err_set(e, ERR_NOT_FOUND,
			      "%.200s: command not found inside; on this host it is a "
			      "folder",
			      path);
		return err_remedy(
			e, "hutch run --workspace %.200s CMD runs a command in it", path);
	}
	(void)err_set(e, ERR_NOT_FOUND,
		      "%.200s: command not found inside; on this host it is there%s",
		      path, is_program(path) ? "" : ", but is not executable (chmod +x)");
	return hint_at_folder(e, path, policy);
}

/* Returns whether the word is a command that shells have built in. */
static bool is_builtin(const char *name)
{
	static const char *const names[] = { "cd",   "source", ".",	"export", "alias",
					     "set",  "unset",  "ulimit", "umask", "exec",
					     "eval", "if",     "for",	"while" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Returns whether the word is NAME=VALUE, as shells take it in front of a command. */
static bool is_assignment(const char *word)
{
	const size_t len = strspn(word,
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789_");

	return len > 0 && word[len] == '=' && (*word < '0' || *word > '9');
}

bool report_hint_at_shell(struct err *e, const char *command)
{
	const bool can_be_quoted = !strchr(command, '\'') && !strchr(command, '\n');

	if (is_builtin(command))
		return err_remedy(e, "%s is a word of shells: sh -c '%s ...'", command,
				  command) < 0;
	if (!strcmp(command, "sudo") || !strcmp(command, "doas"))
		return err_remedy(e, "it is not needed: with -u root the command is root "
				     "inside") < 0;
	if (is_assignment(command) && !strpbrk(command, " \t\n"))
		return err_remedy(e, "each variable has a flag of its own: -e %.200s",
				  command) < 0;
	if (!strpbrk(command, " \t\n|&;<>$"))
		return false;
	(void)err_remedy(e, "the quotes make one word of it; for a shell: sh -c '%.200s'",
			 can_be_quoted ? command : "...");
	return true;
}

/* Explains a name that is nowhere on the host's PATH: a file of the folder that is, or
 * could be, the working directory; a program with another name; or an image. */
static int explain_unknown(struct err *e, const char *name, const struct policy *policy)
{
	const char *dir = workspace_of(policy);
	struct stat st;
	AUTO_FREE char *file = text_format("%s/%s", dir ? dir : ".", name);
	AUTO_FREE char *python3 = strcmp(name, "python") ? NULL : find_in_path("python3");

	(void)err_set(e, ERR_NOT_FOUND,
		      "%.200s: command not found inside, nor on this host's PATH", name);
	if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
		return err_remedy(e, "of the working directory it is ./%.100s%s", name,
				  dir ? "" : ", with --workspace . in front");
	if (python3)
		return err_remedy(e, "here it is python3");
	return hint_at_image(e, name);
}

static int explain_name(struct err *e, const char *name, const struct policy *policy)
{
	AUTO_FREE char *found = find_in_path(name);

	if (!found)
		return explain_unknown(e, name, policy);
	(void)err_set(e, ERR_NOT_FOUND,
		      "%.200s: command not found inside; on this host it is %.300s", name,
		      found);
	*strrchr(found, '/') = '\0';
	return err_remedy(
		e, "-v %.100s:%.100s:ro -e PATH=%.100s:" ENVIRONMENT_PATH " shows it",
		found, found, found);
}

void report_explain_missing_in(struct err *e, const char *command, const char *image)
{
	(void)err_set(e, ERR_NOT_FOUND, "%.200s: command not found in the image %.200s",
		      command, image);
	(void)report_hint_at_shell(e, command);
}

/* A program of the host would not run in another root, which has other libraries. */
static int explain_dir(struct err *e, const char *name, const char *image)
{
	AUTO_FREE char *bin = text_format("%s/bin", image);
	AUTO_FREE char *usr = text_format("%s/usr/bin", image);

	(void)err_set(e, ERR_NOT_FOUND,
		      "%.200s: command not found in the image dir:%.200s", name, image);
	if (access(bin, F_OK) == 0 || access(usr, F_OK) == 0)
		return -1;
	return err_remedy(e,
			  "dir: takes a whole root with programs in /bin; for a folder: "
			  "hutch run --workspace %.100s CMD",
			  image);
}

void report_explain_missing(struct err *e, const struct policy *policy)
{
	const char *name = policy->argv.items[0];

	if (policy->image == IMAGE_DIR)
		(void)explain_dir(e, name, policy->image_path);
	else
		(void)(strchr(name, '/') ? explain_path(e, name, policy)
					 : explain_name(e, name, policy));
	(void)report_hint_at_shell(e, name);
}
