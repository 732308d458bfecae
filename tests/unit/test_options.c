#include "cli/common/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "policy/policy.h"
#include "tests/unit/scene.h"

#define WORDS_MAX 8

struct run {
	struct policy policy;
	struct run_options options;
	struct err e;
	int result;
};

static struct run *parse(const char *const words[])
{
	struct run *r = calloc(1, sizeof(*r));
	struct list argv = { 0 };

	assert_non_null(r);
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		list_add(&argv, words[i]);
	policy_init(&r->policy);
	r->options = (struct run_options){ .verb = VERB_RUN,
					   .policy = &r->policy,
					   .json_fd = -1 };
	char *none[] = { NULL };
	r->result = options_parse(argv.items ? argv.items : none, &r->options, &r->e);
	list_done(&argv);
	return r;
}

static void done(struct run *r)
{
	policy_done(&r->policy);
	free(r);
}

/* Each function checks the field that a certain flag with a certain value sets. */
static bool is_image_host(const struct run *r) { return r->policy.image == IMAGE_HOST; }
static bool is_image_dir(const struct run *r)
{
	return r->policy.image == IMAGE_DIR && !strcmp(r->policy.image_path, "rel/x");
}
static bool has_volume(const struct run *r)
{
	return r->policy.volume_count == 1 && r->policy.volumes[0].kind == VOLUME_BIND;
}
static bool has_workspace(const struct run *r)
{
	return r->policy.volume_count == 1 &&
	       r->policy.volumes[0].kind == VOLUME_WORKSPACE;
}
static bool has_toolchain(const struct run *r)
{
	return r->policy.volume_count == 1 &&
	       r->policy.volumes[0].kind == VOLUME_TOOLCHAIN;
}
static bool has_tmpfs(const struct run *r)
{
	return r->policy.volume_count == 1 && r->policy.volumes[0].kind == VOLUME_TMPFS;
}
static bool is_read_only(const struct run *r) { return r->policy.is_read_only; }
static bool has_env(const struct run *r)
{
	return r->policy.env_set.count == 1 &&
	       !strcmp(r->policy.env_set.items[0], "A=b c");
}
static bool has_no_env(const struct run *r) { return r->policy.env_set.count == 0; }
static bool has_workdir(const struct run *r)
{
	return !strcmp(r->policy.workdir, "/a/b");
}
static bool has_user(const struct run *r) { return !strcmp(r->policy.user, "root"); }
static bool has_hostname(const struct run *r) { return !strcmp(r->policy.hostname, "h"); }
static bool is_interactive(const struct run *r) { return r->policy.is_interactive; }
static bool has_terminal(const struct run *r) { return r->policy.has_terminal; }
static bool has_both(const struct run *r) { return is_interactive(r) && has_terminal(r); }
static bool inherits(const struct run *r) { return r->policy.inherits_stdio; }
static bool has_network(const struct run *r) { return r->policy.network == NETWORK_HOST; }
static bool has_none(const struct run *r) { return r->policy.network == NETWORK_NONE; }
static bool has_ranges(const struct run *r) { return r->policy.idmap == IDMAP_RANGES; }
static bool is_single(const struct run *r) { return r->policy.idmap == IDMAP_SINGLE; }
static bool adds_cap(const struct run *r)
{
	return r->policy.cap_add == 1ull << CAP_KILL;
}
static bool drops_cap(const struct run *r)
{
	return r->policy.cap_drop == 1ull << CAP_CHOWN;
}
static bool drops_all(const struct run *r) { return r->policy.drops_all_caps; }
static bool has_profile(const struct run *r)
{
	return !strcmp(r->policy.seccomp, "p.json");
}
static bool has_ulimit(const struct run *r)
{
	return r->policy.ulimit_count == 1 &&
	       r->policy.ulimits[0].resource == RLIMIT_NOFILE;
}
static bool has_memory(const struct run *r)
{
	return r->policy.limits.memory == 512ull << 20;
}
static bool has_cpus(const struct run *r) { return r->policy.limits.cpus == 1500; }
static bool has_pids(const struct run *r) { return r->policy.limits.pids == 64; }
static bool has_disk(const struct run *r) { return r->policy.limits.disk == 1ull << 30; }
static bool has_parent(const struct run *r)
{
	return !strcmp(r->policy.cgroup_parent, "/sys/fs/cgroup/x");
}
static bool is_lenient(const struct run *r) { return r->policy.is_best_effort; }
static bool has_timeout(const struct run *r) { return r->policy.timeout_ms == 90000; }
static bool has_json(const struct run *r) { return r->options.json_fd == 2; }
static bool has_json_1(const struct run *r) { return r->options.json_fd == 1; }
static bool is_dry(const struct run *r) { return r->options.is_dry_run; }
static bool is_plain(const struct run *r)
{
	return !r->options.wants_help && !is_dry(r) && r->options.json_fd == -1;
}
static bool wants_help(const struct run *r) { return r->options.wants_help; }

static const struct {
	const char *words[WORDS_MAX];
	bool (*is_set)(const struct run *);
} good[] = {
	{ { "true" }, is_plain },
	{ { "--rm", "true" }, is_plain },
	{ { "--image", "host", "true" }, is_image_host },
	{ { "--image", "dir:x", "--image=dir:rel/x", "true" }, is_image_dir },
	{ { "-v", "/a:/b", "true" }, has_volume },
	{ { "-v/a:/b", "true" }, has_volume },
	{ { "--volume=/a:/b", "true" }, has_volume },
	{ { "--workspace", ".", "true" }, has_workspace },
	{ { "--toolchain", "/t", "true" }, has_toolchain },
	{ { "--tmpfs", "/t:size=1m", "true" }, has_tmpfs },
	{ { "--read-only", "true" }, is_read_only },
	{ { "-e", "A=b c", "true" }, has_env },
	{ { "-eA=x", "--env=A=b c", "true" }, has_env },
	{ { "--env-file", "/dev/null", "true" }, has_no_env },
	{ { "-w", "/a//b/", "true" }, has_workdir },
	{ { "--workdir=/x", "-w/a/b", "true" }, has_workdir },
	{ { "-u", "root", "true" }, has_user },
	{ { "--user", "agent", "--user=root", "true" }, has_user },
	{ { "--hostname", "h", "true" }, has_hostname },
	{ { "-i", "true" }, is_interactive },
	{ { "--interactive", "true" }, is_interactive },
	{ { "-t", "true" }, has_terminal },
	{ { "--tty", "true" }, has_terminal },
	{ { "-it", "true" }, has_both },
	{ { "-ti", "true" }, has_both },
	{ { "-itw/a/b", "true" }, has_workdir },
	{ { "-itw", "/a/b", "true" }, has_both },
	{ { "--stdio", "inherit", "true" }, inherits },
	{ { "--network", "none", "true" }, has_none },
	{ { "--network=host", "true" }, has_network },
	{ { "--idmap", "single", "true" }, is_single },
	{ { "--idmap", "ranges", "true" }, has_ranges },
	{ { "--cap-add", "kill", "true" }, adds_cap },
	{ { "--cap-add", "CAP_KILL", "true" }, adds_cap },
	{ { "--cap-drop", "cap_chown", "true" }, drops_cap },
	{ { "--cap-drop", "all", "true" }, drops_all },
	{ { "--seccomp", "p.json", "true" }, has_profile },
	{ { "--ulimit", "nofile=5", "true" }, has_ulimit },
	{ { "--memory", "512m", "true" }, has_memory },
	{ { "-m512MiB", "true" }, has_memory },
	{ { "--cpus", "1.5", "true" }, has_cpus },
	{ { "--pids-limit", "64", "true" }, has_pids },
	{ { "--disk=1g", "true" }, has_disk },
	{ { "--cgroup-parent", "/sys/fs/cgroup/x", "true" }, has_parent },
	{ { "--best-effort", "true" }, is_lenient },
	{ { "--timeout", "1m30s", "true" }, has_timeout },
	{ { "--json", "true" }, has_json },
	{ { "--json=1", "true" }, has_json_1 },
	{ { "--dry-run", "true" }, is_dry },
	{ { "--help" }, wants_help },
	{ { "-h" }, wants_help },
};

static void test_every_flag(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct run *r = parse(good[i].words);
		if (r->result < 0 || !good[i].is_set(r))
			fail_msg("%s %s: %s", good[i].words[0],
				 good[i].words[1] ? good[i].words[1] : "", r->e.text);
		if (!wants_help(r)) {
			assert_int_equal(r->policy.argv.count, 1);
			assert_string_equal(r->policy.argv.items[0], "true");
		}
		done(r);
	}
}

#define LONG_FLAG "0123456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *words[WORDS_MAX];
	enum err_kind kind;
	const char *says;
} bad[] = {
	{ { "--image", "ALPINE" }, ERR_USAGE, "--image: " },
	{ { "--pull", "often" }, ERR_USAGE, "--pull takes missing, always or never" },
	{ { "--upper", "" }, ERR_USAGE, "--upper names no folder" },
	{ { "--image", "dir:" }, ERR_USAGE, "names no folder" },
	{ { "--image" }, ERR_USAGE, "--image needs a value" },
	{ { "-v" }, ERR_USAGE, "-v needs a value" },
	{ { "-v", "/a" }, ERR_USAGE, "SOURCE:TARGET" },
	{ { "--workspace", "" }, ERR_USAGE, "--workspace" },
	{ { "--toolchain", "rel" }, ERR_USAGE, "not an absolute path" },
	{ { "--tmpfs", "rel" }, ERR_USAGE, "not an absolute path" },
	{ { "--read-only=yes" }, ERR_USAGE, "--read-only takes no value" },
	{ { "-e", "=x" }, ERR_USAGE, "-e: " },
	{ { "--env-file", "/nonesuch" }, ERR_NOT_FOUND, "/nonesuch" },
	{ { "-w", "rel" }, ERR_USAGE, "-w: " },
	{ { "-w", "/a/.." }, ERR_USAGE, "contains '..'" },
	{ { "--stdio", "pipe" }, ERR_USAGE, "--stdio takes inherit" },
	{ { "--network", "bridge" },
	  ERR_USAGE,
	  "--network takes none, allow, host or ns:PATH" },
	{ { "--network", "" }, ERR_USAGE, "--network takes" },
	{ { "--idmap", "auto" }, ERR_USAGE, "--idmap takes" },
	{ { "--cap-add", "ALL" }, ERR_USAGE, "--cap-add ALL is refused" },
	{ { "--cap-add", "FLY" }, ERR_USAGE, "unknown capability 'FLY'" },
	{ { "--cap-drop", "cap_" }, ERR_USAGE, "--cap-drop: unknown" },
	{ { "--ulimit", "x=1" }, ERR_USAGE, "unknown limit" },
	{ { "--timeout", "0" }, ERR_USAGE, "--timeout: " },
	{ { "--timeout", "-5" }, ERR_USAGE, "--timeout: " },
	{ { "--json=x" }, ERR_USAGE, "--json: " },
	{ { "--json=" }, ERR_USAGE, "--json: " },
	{ { "--json=999" }, ERR_USAGE, "not open" },
	{ { "--json=4294967298" }, ERR_USAGE, "not open" },
	{ { "--dry-run=1" }, ERR_USAGE, "takes no value" },
	{ { "-x" }, ERR_USAGE, "unknown flag -x" },
	{ { "-ix" }, ERR_USAGE, "unknown flag -x" },
	{ { "-i=1" }, ERR_USAGE, "unknown flag -=" },
	{ { "--netwrk", "none" }, ERR_USAGE, "is it --network?" },
	{ { "--zebra" }, ERR_USAGE, "unknown flag --zebra" },
	{ { "--=x" }, ERR_USAGE, "unknown flag --" },
	{ { "--" LONG_FLAG }, ERR_USAGE, "unknown flag --0123456789" },
	{ { "--memory", "much" }, ERR_USAGE, "--memory: 'much' is not a size" },
	{ { "--memory", "5m" }, ERR_USAGE, "6m or more" },
	{ { "--memory", "8388608t" }, ERR_USAGE, "6m or more" },
	{ { "--memory", "-1" }, ERR_USAGE, "--memory: " },
	{ { "--cpus", "0" }, ERR_USAGE, "--cpus: '0' is not between" },
	{ { "--pids-limit", "0" }, ERR_USAGE, "1 or more" },
	{ { "--pids-limit", "-1" }, ERR_USAGE, "--pids-limit: " },
	{ { "--pids-limit", "2147483648" }, ERR_USAGE, "1 or more" },
	{ { "--disk", "1k" }, ERR_USAGE, "1m or more" },
	{ { "--disk", "8388608t" }, ERR_USAGE, "1m or more" },
	{ { "--cgroup-parent", "" }, ERR_USAGE, "names no folder" },
	{ { "--best-effort=no" }, ERR_USAGE, "takes no value" },
	{ { "--name", "a/b" }, ERR_USAGE, "--name: " },
	{ { "--name=" }, ERR_USAGE, "--name: " },
};

static void test_every_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct run *r = parse(bad[i].words);
		if (r->result != -1 || r->e.kind != (int)bad[i].kind ||
		    !strstr(r->e.text, bad[i].says))
			fail_msg("%s: %d, kind %d, %s", bad[i].words[0], r->result,
				 r->e.kind, r->e.text);
		done(r);
	}
}

static const struct {
	const char *words[WORDS_MAX], *command[WORDS_MAX];
} ends[] = {
	{ { NULL }, { NULL } },
	{ { "--" }, { NULL } },
	{ { "-i", "ls", "-l", "--json" }, { "ls", "-l", "--json" } },
	{ { "--", "-ls", "--" }, { "-ls", "--" } },
	{ { "-i", "--", "--", "x" }, { "--", "x" } },
	{ { "-", "x" }, { "-", "x" } },
	{ { "", "-i" }, { "", "-i" } },
	{ { "--json", "3" }, { "3" } },
};

static void test_where_the_flags_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct run *r = parse(ends[i].words);
		size_t count = 0;
		assert_int_equal(r->result, 0);
		for (; count < WORDS_MAX && ends[i].command[count]; count++)
			assert_string_equal(r->policy.argv.items[count],
					    ends[i].command[count]);
		assert_int_equal(r->policy.argv.count, count);
		done(r);
	}
}

static void play_help(void *arg)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)arg;
	stdout = out;
	options_print_help(VERB_RUN);
	CHECK(fclose(out) == 0);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		CHECK(strlen(line) <= 90);
}

static void test_the_help_fits_a_terminal(void **state)
{
	(void)state;
	scene_child(play_help, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_flag),
		cmocka_unit_test(test_every_error),
		cmocka_unit_test(test_where_the_flags_end),
		cmocka_unit_test(test_the_help_fits_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
