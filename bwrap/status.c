#include "bwrap/status.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "bwrap/args.h"

/* The namespaces that bwrap tells of; it leaves out the user namespace. */
static const struct {
	const char *name;
	uint64_t flag;
} told[] = {
	{ "cgroup", CLONE_NEWCGROUP }, { "ipc", CLONE_NEWIPC }, { "mnt", CLONE_NEWNS },
	{ "net", CLONE_NEWNET },       { "pid", CLONE_NEWPID }, { "uts", CLONE_NEWUTS },
};

/* Appends ,"NAME-namespace": INODE for each, with `between` behind the comma. */
static void add_namespaces(struct buffer *b, pid_t child, uint64_t namespaces,
			   const char *between)
{
	char path[64];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		if (!(namespaces & told[i].flag))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)child,
			       told[i].name);
		if (stat(path, &st) < 0)
			continue;
		AUTO_FREE char *text = text_format(",%s\"%s-namespace\": %ju", between,
						   told[i].name, (uintmax_t)st.st_ino);
		(void)buffer_append(b, text, strlen(text));
	}
}

/* Both texts are bwrap's to the byte: some callers look for lines. */
static int write_begin(int fd, pid_t child, uint64_t namespaces, const char *form[3])
{
	struct buffer b;

	json_write_begin(&b);
	AUTO_FREE char *first = text_format("%s\"child-pid\": %d", form[0], (int)child);
	(void)buffer_append(&b, first, strlen(first));
	add_namespaces(&b, child, namespaces, form[1]);
	(void)buffer_append(&b, form[2], strlen(form[2]));
	AUTO_FREE char *text = json_write_end(&b);
	return io_write_all(fd, text, strlen(text));
}

int status_begin(const struct args *a, pid_t child, uint64_t namespaces, struct err *e)
{
	static const char *lines[] = { "{\n    ", "\n    ", "\n}\n" };
	static const char *line[] = { "{ ", " ", " }\n" };

	if (a->info >= 0 && write_begin(a->info, child, namespaces, lines) < 0)
		return err_sys(e, "Write to info_fd");
	if (a->info >= 0)
		(void)close(a->info);
	if (a->json_status >= 0 &&
	    write_begin(a->json_status, child, namespaces, line) < 0)
		return err_sys(e, "Write to json-status-fd");
	return 0;
}

int status_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void write_line(const struct args *a, const char *text)
{
	/* ignored: the reader has gone, and the command's exit code is told anyway */
	if (a->json_status >= 0)
		(void)io_write_all(a->json_status, text, strlen(text));
}

void status_end(const struct args *a, int status)
{
	const int code = status_code(status);
	AUTO_FREE char *text =
		WIFSIGNALED(status)
			? text_format("{ \"exit-code\": %d, \"signal\": %d }\n", code,
				      WTERMSIG(status))
			: text_format("{ \"exit-code\": %d }\n", code);

	write_line(a, text);
}

void status_error(const struct args *a, const struct err *e)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, "error", "{");
	json_write_text(&b, "kind", err_kind_name(e->kind));
	json_write_text(&b, "text", e->text);
	json_write_text(&b, "remedy", *e->remedy ? e->remedy : NULL);
	json_write_close(&b, "}}\n");
	AUTO_FREE char *text = json_write_end(&b);
	write_line(a, text);
}
