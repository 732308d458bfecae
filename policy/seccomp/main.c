#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/seccomp/bpf.h"
#include "policy/seccomp/call_number.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/profile.h"
#include "policy/seccomp/profile_fit.h"
#include "policy/seccomp/seccomp_why.h"
#include "policy/seccomp/seccomp_words.h"

/* hutch-seccomp -- compiles a seccomp profile into the program that the kernel takes.
 * See docs/seccomp.md. */

#define EXIT_FAILED 125
#define CAPS_MAX    64

struct options {
	struct profile_host host;
	const char *caps[CAPS_MAX + 1];
	size_t cap_count;
	bool is_c_array;
	int (*does)(const struct options *, struct err *); /* runs the chosen
							    * subcommand; returns the
							    * exit code, or -1 */
	/* These options are for the subcommand "why". */
	bool asks, is_json, pretends, is_default;
	const char *line;
	char *const *call; /* the call to explain: a name and its arguments */
};

static const char usage[] =
	"usage: hutch-seccomp compile [--arch x86_64|aarch64] [--kernel X.Y] "
	"[--cap NAME]... [--floor full|nesting|none] [--c-array] < PROFILE\n"
	"       hutch-seccomp names [--arch x86_64|aarch64]\n"
	"       hutch-seccomp why [--json] [--kernel X.Y] [--cap NAME]... [--floor full|nesting] [--pretends] "
	"--default|--line FLAG CALL [ARGUMENT...] < PROFILE";

static const char *const arch_names[] = {
	[ARCH_X86_64] = "x86_64",
	[ARCH_AARCH64] = "aarch64",
};
_Static_assert(ARRAY_LEN(arch_names) == ARCH_COUNT, "an architecture has no name");

#ifdef __aarch64__
#define ARCH_NATIVE ARCH_AARCH64
#else
#define ARCH_NATIVE ARCH_X86_64
#endif

static int set_arch(struct options *o, const char *value, struct err *e)
{
	for (size_t i = 0; i < ARCH_COUNT; i++)
		if (strcmp(arch_names[i], value) == 0) {
			o->host.arch = (enum arch)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "--arch %s: x86_64 or aarch64 was expected", value);
}

static int set_floor(struct options *o, const char *value, struct err *e)
{
	static const char *const kinds[] = {
		[FLOOR_FULL] = "full", [FLOOR_NESTING] = "nesting", [FLOOR_NONE] = "none"
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i], value)) {
			o->host.floor = (enum floor_kind)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "--floor %s: full, nesting or none was expected",
		       value);
}

static int set_kernel(struct options *o, const char *value, struct err *e)
{
	if (profile_kernel(value, o->host.kernel))
		return 0;
	return err_set(e, ERR_USAGE, "--kernel %s: a version such as 5.14 was expected",
		       value);
}

static int add_cap(struct options *o, const char *value, struct err *e)
{
	if (o->cap_count == CAPS_MAX)
		return err_set(e, ERR_USAGE, "--cap %s: more than %d of them", value,
			       CAPS_MAX);
	o->caps[o->cap_count++] = value;
	return 0;
}

static int set_line(struct options *o, const char *value, struct err *e)
{
	(void)e;
	o->line = value;
	return 0;
}

static bool read_switch(struct options *o, const char *word)
{
	const struct {
		const char *name;
		bool *to;
	} table[] = {
		{ "--c-array", &o->is_c_array },
		{ "--json", &o->is_json },
		{ "--pretends", &o->pretends },
		{ "--default", &o->is_default },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].name, word))
			return *table[i].to = true;
	return false;
}

static int read_option(struct options *o, char *const *at, struct err *e)
{
	static const struct {
		const char *name;
		int (*set)(struct options *, const char *, struct err *);
	} table[] = {
		{ "--arch", set_arch }, { "--kernel", set_kernel },
		{ "--cap", add_cap },	{ "--floor", set_floor },
		{ "--line", set_line },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].name, at[0]) != 0)
			continue;
		if (!at[1])
			return err_set(e, ERR_USAGE, "%s wants a value", at[0]);
		return table[i].set(o, at[1], e);
	}
	return err_set(e, ERR_USAGE, "%s: no such option; %s", at[0], usage);
}

static int compile(const struct options *o, struct err *e);
static int names(const struct options *o, struct err *e);
static int why(const struct options *o, struct err *e);

static int read_verb(struct options *o, const char *word, struct err *e)
{
	static const struct {
		const char *name;
		int (*does)(const struct options *, struct err *);
	} table[] = {
		{ "compile", compile },
		{ "names", names },
		{ "why", why },
	};

	for (size_t i = 0; word && i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].name, word))
			o->does = table[i].does;
	o->asks = o->does == why;
	return o->does ? 0 : err_set(e, ERR_USAGE, "%s", usage);
}

static int read_options(struct options *o, char *const *argv, struct err *e)
{
	if (read_verb(o, argv[0] ? argv[1] : NULL, e))
		return -1;
	char *const *at = argv + 2;
	for (; *at && !(o->asks && **at != '-'); at++) {
		if (read_switch(o, *at))
			continue;
		if (read_option(o, at++, e))
			return -1;
	}
	o->call = at;
	o->host.caps = o->caps;
	return o->asks && !*at ? err_set(e, ERR_USAGE, "%s", usage) : 0;
}

static int print_program(const struct bpf *b, bool is_c_array, struct err *e)
{
	const struct sock_filter *insns = bpf_begin(b);

	if (!is_c_array)
		(void)fwrite(insns, sizeof(*insns), b->count, stdout); /* fflush() reports
									* a failure */
	for (size_t i = 0; is_c_array && i < b->count; i++)
		(void)printf("{ 0x%02x, %u, %u, 0x%08x },\n", insns[i].code, insns[i].jt,
			     insns[i].jf, insns[i].k); /* fflush() reports a failure */
	if (fflush(stdout) || ferror(stdout))
		return err_sys(e, "write the program to stdout");
	return 0;
}

static int read_profile(const struct options *o, struct profile *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (io_read_file(STDIN_FILENO, "the profile", PROFILE_BYTES_MAX, &text, &len, e))
		return -1;
	return profile_parse(text, len, &o->host, ret, e);
}

static int compile(const struct options *o, struct err *e)
{
	AUTO_FREE struct bpf *b = mem_zeroed(1, sizeof(*b));
	struct profile p = { 0 };

	if (read_profile(o, &p, e))
		return -1;
	const int rc = compile_profile(&p, o->host.arch, b, e);
	profile_done(&p);
	return rc ? -1 : print_program(b, o->is_c_array, e);
}

/* --- names ------------------------------------------------------------------------ */

#define NAMES_MAX 1024 /* above the highest call number */

/* Prints the names of all calls, in the order of their numbers, as one C string,
 * "read\0" "write\0" ...; an unused number has an empty name. */
static int names(const struct options *o, struct err *e)
{
	size_t gap = 0;

	for (int nr = 0; nr < NAMES_MAX; nr++) {
		AUTO_FREE char *name = call_number_name(o->host.arch, nr);
		if (!name) {
			gap++;
			continue;
		}
		for (; gap; gap--)
			(void)printf("\"\\0\"\n"); /* fflush() reports a failure */
		(void)printf("\"%s\\0\"\n", name); /* fflush() reports a failure */
	}
	if (fflush(stdout) || ferror(stdout))
		return err_sys(e, "write the names to stdout");
	return 0;
}

/* --- why -------------------------------------------------------------------------- */

static const struct {
	const char *name, *text;
} texts[] = {
#include "gen/seccomp_texts.h"
};

/* Parses one of the profiles that are part of hutch. */
static int parse_own(const struct options *o, const char *name, struct profile *ret,
		     struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!strcmp(texts[i].name, name))
			return profile_parse(texts[i].text, strlen(texts[i].text),
					     &o->host, ret, e);
	return err_set(e, ERR_INTERNAL, "there is no profile %s", name);
}

static int read_arguments(char *const *words, uint64_t ret[CALL_ARGS], struct err *e)
{
	for (size_t i = 0; words[i]; i++) {
		char *end;
		if (i == CALL_ARGS)
			return err_set(e, ERR_USAGE, "a call has %d arguments, no more",
				       CALL_ARGS);
		errno = 0;
		ret[i] = strtoull(words[i], &end, 0);
		if (errno || *end || end == words[i])
			return err_set(e, ERR_USAGE,
				       "%.60s: a number was expected, such as 0x80",
				       words[i]);
	}
	return 0;
}

static int ask(const struct options *o, const struct profile *p,
	       const struct profile *pretend, struct answer *ret, struct err *e)
{
	struct call_asked c = { .name = o->call[0],
				.arch = o->host.arch,
				.profile = p,
				.pretend = o->pretends ? pretend : NULL,
				.line = o->line ? o->line : SECCOMP_THE_DEFAULT };

	return read_arguments(o->call + 1, c.args, e) ? -1 : seccomp_why(&c, ret, e);
}

/* The subcommand "why": explains the filter's answer to a call.  Returns the exit code,
 * or -1. */
static int why(const struct options *o, struct err *e)
{
	struct profile p = { 0 }, pretend = { 0 };
	struct answer answer = { 0 };
	int rc = o->is_default ? parse_own(o, "default", &p, e) : read_profile(o, &p, e);

	if (rc == 0)
		rc = parse_own(o, "pretend", &pretend, e);
	if (rc == 0)
		rc = ask(o, &p, &pretend, &answer, e);
	if (rc == 0) {
		answer_print(&answer, o->is_json, stdout);
		rc = fflush(stdout) || ferror(stdout) ? err_sys(e, "write to stdout")
		     : answer.is_yes		      ? EXIT_YES
						      : EXIT_NO;
	}
	profile_done(&p);
	profile_done(&pretend);
	answer_done(&answer);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { .host.arch = ARCH_NATIVE };
	struct err e = { 0 };

	(void)argc; /* argv ends with NULL */
	int rc = read_options(&o, argv, &e);
	if (rc == 0)
		rc = o.does(&o, &e);
	if (rc >= 0)
		return rc;
	/* Users run "why" through the program hutch, so errors name hutch; hutch itself
	 * runs "compile". */
	(void)fprintf(stderr, "%s: %s\n", o.asks ? "hutch" : "hutch-seccomp", e.text);
	return EXIT_FAILED;
}
