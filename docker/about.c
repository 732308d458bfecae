/* docker version, docker info. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "docker/describe.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

#define API_VERSION "1.47" /* DOCKER_VERSION's */

static void put_side(struct buffer *b, const char *key)
{
	struct utsname host = { 0 };

	(void)uname(&host);
	json_write_open(b, key, "{");
	json_write_raw(b, "Platform", "{\"Name\":\"hutch " HUTCH_VERSION "\"}");
	json_write_text(b, "Version", DOCKER_VERSION);
	json_write_text(b, "ApiVersion", API_VERSION);
	json_write_text(b, "Os", "linux");
	json_write_text(b, "Arch", strcmp(host.machine, "x86_64") ? "arm64" : "amd64");
	json_write_text(b, "KernelVersion", host.release);
	json_write_close(b, "}");
}

static char *version_object(void)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	put_side(&b, "Client");
	put_side(&b, "Server");
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static char *info_object(void)
{
	struct utsname host = { 0 };
	struct buffer b;

	(void)uname(&host);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "ID", "hutch");
	json_write_text(&b, "Name", host.nodename);
	json_write_text(&b, "ServerVersion", DOCKER_VERSION);
	json_write_text(&b, "OSType", "linux");
	json_write_text(&b, "Architecture", host.machine);
	json_write_text(&b, "KernelVersion", host.release);
	json_write_text(&b, "OperatingSystem", "hutch " HUTCH_VERSION);
	json_write_text(&b, "Driver", "overlay2");
	json_write_raw(&b, "SecurityOptions", "[\"name=seccomp\",\"name=rootless\"]");
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static int print_object(const char *object, const char *format, const char *people,
			struct err *e)
{
	if (format)
		return describe_by_template(object, format, e);
	(void)fputs(people, stdout);
	return 0;
}

static int print_about(char **argv, struct usage *usage, const char *object,
		       const char *people)
{
	const char *format = NULL;
	const struct flag flags[] = {
		{ 'f', "format", "TEMPLATE", "json, or a template", NULL, &format },
	};
	struct err e;

	usage->flags = flags;
	usage->count = ARRAY_LEN(flags);
	int code = verbs_flags(argv, usage);
	if (code >= 0)
		return code;
	return print_object(object, format, people, &e) < 0 ? verbs_fail(&e, 64) : 0;
}

int version_verb(char **argv)
{
	struct usage usage = { .synopsis = "hutch docker version [OPTIONS]",
			       .about = "Prints versions." };
	AUTO_FREE char *object = version_object();

	return print_about(argv, &usage, object,
			   "Client:\n Version:           " DOCKER_VERSION
			   "\n API version:       " API_VERSION
			   "\n\nServer: hutch " HUTCH_VERSION
			   "\n Engine:\n  Version:          " DOCKER_VERSION
			   "\n  API version:      " API_VERSION "\n");
}

int info_verb(char **argv)
{
	struct usage usage = { .synopsis = "hutch docker info [OPTIONS]",
			       .about = "Tells about this host." };
	AUTO_FREE char *object = info_object();

	return print_about(argv, &usage, object,
			   "Server:\n Server Version: " DOCKER_VERSION
			   "\n Operating System: hutch " HUTCH_VERSION
			   "\n Security Options:\n  seccomp\n  rootless\n"
			   "hutch doctor tells more.\n");
}
