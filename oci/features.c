#include <stdio.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "oci/args.h"
#include "oci/hooks.h"
#include "oci/mount_options.h"
#include "oci/verbs.h"
#include "sandbox/kernel/caps.h"

static void write_words(struct buffer *b, const char *key, const char *const *words)
{
	json_write_open(b, key, "[");
	for (size_t i = 0; words[i]; i++)
		json_write_text(b, NULL, words[i]);
	json_write_close(b, "]");
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void write_option(const char *word, void *arg)
{
	json_write_text(arg, NULL, word);
}

static void write_switch(struct buffer *b, const char *key, bool is_enabled)
{
	json_write_open(b, key, "{");
	json_write_bool(b, "enabled", is_enabled);
	json_write_close(b, "}");
}

static void write_caps(struct buffer *b)
{
	json_write_open(b, "capabilities", "[");
	for (int i = 0; i < 64; i++) {
		const struct caps_name name = caps_name(i);
		char text[32];
		if (name.text[0] == '?')
			break;
		(void)snprintf(text, sizeof(text), "CAP_%s", name.text); /* fits */
		json_write_text(b, NULL, text);
	}
	json_write_close(b, "]");
}

static void write_seccomp(struct buffer *b)
{
	json_write_open(b, "seccomp", "{");
	json_write_bool(b, "enabled", true);
	write_words(b, "actions",
		    WORDS("SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL",
			  "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG",
			  "SCMP_ACT_NOTIFY", "SCMP_ACT_TRACE", "SCMP_ACT_TRAP"));
	write_words(b, "operators",
		    WORDS("SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_LE",
			  "SCMP_CMP_LT", "SCMP_CMP_MASKED_EQ", "SCMP_CMP_NE"));
	write_words(b, "archs", WORDS("SCMP_ARCH_AARCH64", "SCMP_ARCH_X86_64"));
	write_words(b, "knownFlags",
		    WORDS("SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
			  "SECCOMP_FILTER_FLAG_LOG",
			  "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"));
	write_words(b, "supportedFlags",
		    WORDS("SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
			  "SECCOMP_FILTER_FLAG_LOG",
			  "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"));
	json_write_close(b, "}");
}

static void write_linux(struct buffer *b)
{
	json_write_open(b, "linux", "{");
	write_words(
		b, "namespaces",
		WORDS("cgroup", "ipc", "mount", "network", "pid", "time", "user", "uts"));
	write_caps(b);
	json_write_open(b, "cgroup", "{");
	json_write_bool(b, "v1", true);
	json_write_bool(b, "v2", true);
	json_write_bool(b, "systemd", true);
	json_write_bool(b, "systemdUser", true);
	json_write_bool(b, "rdma", true);
	json_write_close(b, "}");
	write_seccomp(b);
	write_switch(b, "apparmor", true);
	write_switch(b, "selinux", false);
	write_switch(b, "intelRdt", false);
	write_switch(b, "memoryPolicy", false);
	json_write_open(b, "mountExtensions", "{");
	write_switch(b, "idmap", true);
	json_write_close(b, "}");
	write_switch(b, "netDevices", false);
	json_write_close(b, "}");
}

int features_verb(const struct globals *g, char **argv, struct err *e)
{
	const struct args a = { .usage = "features" };
	struct buffer b;

	(void)g;
	if (args_read(&a, argv, e) || args_count(&a, argv, 0, 0, e))
		return -1;
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "ociVersionMin", "1.0.0");
	json_write_text(&b, "ociVersionMax", "1.3.0");
	json_write_open(&b, "hooks", "[");
	for (int i = 0; i < HOOK_POINT_COUNT; i++)
		json_write_text(&b, NULL, hooks_name((enum hook_point)i));
	json_write_close(&b, "]");
	json_write_open(&b, "mountOptions", "[");
	mount_options_each(write_option, &b);
	json_write_close(&b, "]");
	write_linux(&b);
	json_write_open(&b, "annotations", "{");
	json_write_text(&b, "org.hutch.version", HUTCH_VERSION);
	json_write_text(&b, "run.oci.crun.checkpoint.enabled", "false");
	json_write_close(&b, "}");
	write_words(&b, "potentiallyUnsafeConfigAnnotations",
		    WORDS("run.oci.keep_original_groups"));
	json_write_close(&b, "}\n");
	AUTO_FREE char *text = json_write_end(&b);
	return fputs(text, stdout) < 0 || fflush(stdout) ? err_sys(e, "write to stdout")
							 : 0;
}
