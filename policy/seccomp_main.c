#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/bpf.h"
#include "policy/compile.h"
#include "policy/profile.h"
#include "policy/profile_fit.h"

/* hutch-seccomp -- turns a seccomp profile into the program that the kernel takes.
 * See docs/seccomp.md. */

#define EXIT_FAILED 125
#define CAPS_MAX    64

struct options {
	struct profile_host host;
	const char *caps[CAPS_MAX + 1];
	size_t cap_count;
	bool is_c_array;
};

static const char usage[] =
	"usage: hutch-seccomp compile [--arch x86_64|aarch64] [--kernel X.Y] "
	"[--cap NAME]... [--c-array] < PROFILE";

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

static int read_option(struct options *o, char *const *at, struct err *e)
{
	static const struct {
		const char *name;
		int (*set)(struct options *, const char *, struct err *);
	} table[] = {
		{ "--arch", set_arch },
		{ "--kernel", set_kernel },
		{ "--cap", add_cap },
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

static int read_options(struct options *o, char *const *argv, struct err *e)
{
	if (!argv[0] || !argv[1] || strcmp(argv[1], "compile") != 0)
		return err_set(e, ERR_USAGE, "%s", usage);
	for (char *const *at = argv + 2; *at; at++) {
		if (strcmp(*at, "--c-array") == 0) {
			o->is_c_array = true;
			continue;
		}
		if (read_option(o, at++, e))
			return -1;
	}
	o->host.caps = o->caps;
	return 0;
}

static int print_program(const struct bpf *b, bool is_c_array, struct err *e)
{
	const struct sock_filter *insns = bpf_begin(b);

	if (!is_c_array)
		(void)fwrite(insns, sizeof(*insns), b->count, stdout); /* see fflush */
	for (size_t i = 0; is_c_array && i < b->count; i++)
		(void)printf("{ 0x%02x, %u, %u, 0x%08x },\n", insns[i].code, insns[i].jt,
			     insns[i].jf, insns[i].k); /* see fflush */
	if (fflush(stdout) || ferror(stdout))
		return err_sys(e, "write the program to stdout");
	return 0;
}

static int compile(const struct options *o, struct err *e)
{
	AUTO_FREE struct bpf *b = mem_zeroed(1, sizeof(*b));
	AUTO_FREE char *text = NULL;
	struct profile p = { 0 };
	size_t len;

	if (io_read_file(STDIN_FILENO, "the profile", PROFILE_BYTES_MAX, &text, &len, e))
		return -1;
	if (profile_parse(text, len, &o->host, &p, e))
		return -1;

	const int rc = compile_profile(&p, o->host.arch, b, e);
	profile_done(&p);
	return rc ? -1 : print_program(b, o->is_c_array, e);
}

int main(int argc, char **argv)
{
	struct options o = { .host.arch = ARCH_NATIVE };
	struct err e = { 0 };

	(void)argc; /* argv ends with NULL */
	if (read_options(&o, argv, &e) || compile(&o, &e)) {
		(void)fprintf(stderr, "hutch-seccomp: %s\n", e.text);
		return EXIT_FAILED;
	}
	return 0;
}
