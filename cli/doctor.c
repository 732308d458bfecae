#include "cli/doctor.h"

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/report.h"
#include "cli/run.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"
#include "sandbox/explain/checks.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/landlock/landlock_run.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"

/* Widths of the first two columns of a line, in front of the detail: "missing
 * network-namespace  ". */
#define STATUS_WIDTH 9
#define NAME_WIDTH   19
#define ROOM_MIN     20 /* a column is not broken into narrower lines */

struct doctor_options {
	bool is_json, wants_help;
};

/* A launch that was tried: its time, and the form of its network of rules. */
struct launched {
	double ms;
	const char *form; /* NULL: it has no such network */
};

/* Makes a whole launch, like `hutch run true`; with a target of --allow, one with a
 * network of rules.  If only the command is missing, the sandbox had been made, so this
 * counts as a success.  False: the launch failed, and the result is in `t`. */
static bool try_launch(struct trial *t, enum isolation isolation, const char *target,
		       struct launched *ret)
{
	struct result result = { 0 };
	struct policy policy;

	policy_init(&policy);
	policy.isolation = isolation;
	if (target)
		(void)egress_policy_add(&policy, EGRESS_ALLOW, target, &t->e);
	list_add(&policy.argv, "true");
	policy.timeout_ms = (CHECK_SECONDS - 2) * 1000;
	if (isolation == ISOLATION_LANDLOCK) {
		policy.workdir = text_copy("/usr");
		landlock_run_try(&policy, &result);
	} else {
		run_launch(&policy, NULL, RUN_TRIAL, &result);
	}
	policy_done(&policy);
	result_done(&result);
	*ret = (struct launched){ result.wall_s * 1e3, result.network_form };
	if (result.status == RUN_EXITED || result.exit_code == EXIT_NOT_FOUND)
		return true;
	if (result.error.kind != ERR_NONE) {
		t->e = result.error;
		trial_failed(t);
	} else {
		trial_found(t, CHECK_MISSING, "a sandbox was made, and its command ended with "
					      "code %d", result.exit_code);
	}
	return false;
}

static void probe_launch(struct trial *t)
{
	struct launched launched;

	if (try_launch(t, ISOLATION_NAMESPACES, NULL, &launched))
		trial_found(t, CHECK_OK, "a sandbox started and ended in %.1f ms",
			    launched.ms);
}

/* Tries a network with a rule for each port of a name that does not exist. */
static void probe_each_port(struct trial *t)
{
	struct launched launched;

	if (try_launch(t, ISOLATION_NAMESPACES, "hutch.invalid:*", &launched))
		trial_found(t, CHECK_OK,
			    "gateway: it has a namespace of its own, in %.1f ms",
			    launched.ms);
}

/* Tries a network of rules, and if that fails one that needs less of the kernel.  The gate
 * itself finds the form that this kernel has.  Root's first launch gives root up, so that
 * it has a process of its own. */
static void probe_network_rules(struct trial *t)
{
	static const struct check_kind kind = { "each-port", probe_each_port, "", false,
						0 };
	struct launched launched;
	struct check each_port;

	check_try(&kind, t->user, &each_port);
	bool is_whole = each_port.status == CHECK_OK;
	if (is_whole ||
	    !try_launch(t, ISOLATION_NAMESPACES, "hutch.invalid", &launched)) {
		trial_found(t, each_port.status, "%s", each_port.detail);
		trial_remedy(t, "%s", each_port.remedy);
		return;
	}
	if (launched.form && !strcmp(launched.form, "gateway")) {
		trial_found(t, CHECK_LIMITED,
			    "gateway: it has a namespace of its own, in %.1f ms, but: %s",
			    launched.ms, each_port.detail);
		trial_means(t,
			    "--allow HOST:* fails, and so do other rules for each port "
			    "of a host, or for more than 64 ports");
		trial_remedy(t, "%s", each_port.remedy);
		return;
	}
	trial_found(
		t, CHECK_LIMITED,
		"single: this kernel makes no veth devices, so the network's listeners are "
		"inside, in %.1f ms",
		launched.ms);
	trial_means(
		t,
		"with --network allow, programs inside cannot listen on port 53 and on the "
		"ports of the rules, and a rule for each port of a host fails");
	trial_remedy(t, "as root: modprobe veth");
}

static void probe_landlock(struct trial *t)
{
	int abi = landlock_abi();
	struct launched launched;

	if (!try_launch(t, ISOLATION_LANDLOCK, NULL, &launched))
		return;
	trial_found(t, abi < LANDLOCK_ABI_SCOPES ? CHECK_LIMITED : CHECK_OK,
		    "--isolation landlock works, ABI %d, in %.1f ms; it is weaker: %s",
		    abi, launched.ms, landlock_run_loses);
	if (abi < LANDLOCK_ABI_SCOPES)
		trial_means(t, "with --isolation landlock processes inside cannot send signals "
			       "but to their own group");
}

static const struct check_kind launches[] = {
	{ "landlock-launch", probe_landlock,
	  "--isolation landlock fails, which hosts without user namespaces are left with",
	  false, 0 },
	{ "network-rules", probe_network_rules,
	  "--network allow fails, and --allow with it", false, 0 },
	{ "launch", probe_launch, "hutch run fails", false, 0 },
};
enum { LANDLOCK_LAUNCH = CHECKS_HOST, NETWORK_RULES, LAUNCH, CHECKS };

/* Green and yellow are hard to read on white, and blue is on black. */
static const char *const colors[] = {
	[CHECK_OK] = "",
	[CHECK_LIMITED] = "\33[1m",
	[CHECK_MISSING] = "\33[1;31m",
};
_Static_assert(ARRAY_LEN(colors) == CHECK_STATUS_COUNT, "a status has no color");

/* Returns the length of the part of the text that stands on a line of `room` bytes: whole
 * words, and at least one. */
static size_t line_of(const char *text, size_t room)
{
	size_t len = room;

	if (strlen(text) <= room)
		return strlen(text);
	while (len > 0 && text[len] != ' ')
		len--;
	return len ? len : strcspn(text, " ");
}

/* Prints a text behind `indent` bytes of its line, broken at the terminal's width. */
static void print_text(const char *text, size_t indent, const struct doctor_terminal *t,
		       FILE *to)
{
	const size_t room = t && t->columns > indent + ROOM_MIN ? t->columns - indent
								: SIZE_MAX;

	for (;;) {
		const size_t len = line_of(text, room);
		(void)fprintf(to, "%.*s\n", (int)len, text);
		text += len + strspn(text + len, " ");
		if (!*text)
			return;
		(void)fprintf(to, "%*s", (int)indent, "");
	}
}

/* Prints three columns; control characters in the last are made visible, since
 * paths may be chosen by strangers. */
static void print_row(const char *name, const char *text, const struct doctor_terminal *t,
		      FILE *to)
{
	AUTO_FREE char *line = term_escape_line(text);

	(void)fprintf(to, "%-*s", NAME_WIDTH, name);
	print_text(line, STATUS_WIDTH + NAME_WIDTH, t, to);
}

static void print_below(const char *name, const char *text,
			const struct doctor_terminal *t, FILE *to)
{
	if (!*text)
		return;
	(void)fprintf(to, "%*s", STATUS_WIDTH, "");
	print_row(name, text, t, to);
}

static void print_check(const struct check *c, const struct doctor_terminal *t, FILE *to)
{
	const char *color = t && t->has_colors ? colors[c->status] : "";

	(void)fprintf(to, "%s%-*s%s", color, STATUS_WIDTH, check_status_name(c->status),
		      *color ? "\33[m" : "");
	print_row(c->name, c->detail, t, to);
	print_below("  means", c->means, t, to);
	print_below("  remedy", c->remedy, NULL, to);
}

/* The checks in the order in which a user should mend them.  Nothing works without the
 * first NEEDED; of the others those come first that most launches gain from: limits, then
 * images and `:cow`. */
static const char *const to_mend[] = {
	"user-namespaces",   "namespaces",  "mounts",	 "proc",     "cgroup-namespace",
	"network-namespace", "seccomp",	    "launch",	 "cgroup",   "overlayfs",
	"network-rules",     "runtime-dir", "id-ranges", "landlock", "seccomp-notify",
};
enum { NEEDED = 8 };

/* Returns a check's place in `to_mend`; a check that is not there comes last. */
static size_t rank_of(const struct check *c)
{
	size_t at = 0;

	while (at < ARRAY_LEN(to_mend) && strcmp(to_mend[at], c->name) != 0)
		at++;
	return at;
}

/* Returns the check whose remedy helps most, or NULL if no remedy is known.  Where
 * hutch run does not work, a remedy for anything but that would mislead. */
static const struct check *first_to_mend(const struct diagnosis *d)
{
	const struct check *first = NULL;

	for (size_t i = 0; i < d->count; i++) {
		const struct check *c = &d->checks[i];
		if (c->status == CHECK_OK || !*c->remedy || (!d->works && rank_of(c) >= NEEDED))
			continue;
		if (!first || rank_of(c) < rank_of(first))
			first = c;
	}
	return first;
}

/* Prints the remedy of a check below a sentence that ends with the check's name. */
static void print_first(const char *sentence, const struct check *c, FILE *to)
{
	AUTO_FREE char *line = term_escape_line(c->remedy);

	(void)fprintf(to, "\n%s %s:\n  %s\n", sentence, c->name, line);
}

static void print_failure(const struct diagnosis *d, const struct doctor_terminal *t,
			  FILE *to)
{
	const struct check *first = first_to_mend(d);

	if (d->steps_down)
		(void)fprintf(to, "hutch run --isolation landlock works here, which is weaker.\n");
	print_text(
		"hutch run does not work here: mend the first thing that is missing, and "
		"try again.",
		0, t, to);
	if (first)
		print_first("First mend", first, to);
}

static void print_verdict(const struct diagnosis *d, const struct doctor_terminal *t,
			  FILE *to)
{
	const struct check *first = first_to_mend(d);
	size_t lacking = 0;

	if (!d->works) {
		print_failure(d, t, to);
		return;
	}
	for (size_t i = 0; i < d->count; i++)
		lacking += d->checks[i].status != CHECK_OK;
	if (lacking)
		print_text(
			"hutch run works here; what is limited or missing matters only "
			"to what is named with it.",
			0, t, to);
	else
		(void)fprintf(to, "hutch run works here, with every flag that it has.\n");
	if (first)
		print_first("If you mend one thing, mend", first, to);
	(void)fprintf(to, "\nTry first:\n"
			  "  hutch run -- id\n"
			  "  hutch run --workspace . -it -- bash\n");
}

void doctor_print(const struct diagnosis *d, const struct doctor_terminal *t, FILE *to)
{
	for (size_t i = 0; i < d->count; i++)
		print_check(&d->checks[i], t, to);
	(void)fputc('\n', to);
	print_verdict(d, t, to);
}

/* Prints a member; an empty text is null. */
static void print_member(const char *key, const char *text, FILE *to)
{
	AUTO_FREE char *quoted = json_write_quoted(*text ? text : NULL);

	(void)fprintf(to, ",\"%s\":%s", key, quoted);
}

void doctor_print_json(const struct diagnosis *d, FILE *to)
{
	(void)fprintf(to, "{\"version\":1,\"works\":%s,\"checks\":[",
		      d->works ? "true" : "false");
	for (size_t i = 0; i < d->count; i++) {
		const struct check *c = &d->checks[i];
		(void)fprintf(to, "%s{\"name\":\"%s\",\"status\":\"%s\"", i ? "," : "", c->name,
			      check_status_name(c->status));
		print_member("detail", c->detail, to);
		print_member("means", c->means, to);
		print_member("remedy", c->remedy, to);
		(void)fputc('}', to);
	}
	(void)fprintf(to, "]}\n");
}

static void print_help(void)
{
	(void)printf(
		"hutch doctor [OPTIONS]\n\n"
		"Tries what this host has of what hutch is made of, and says what would help.\n\n"
		"     --json                          one object instead of lines\n"
		"  -h --help                          this text\n"
		"\nExit codes: 0 hutch run works here; 1 it does not; 125 hutch failed.\n"
		"More: man hutch-doctor\n");
}

static int parse(char **argv, struct doctor_options *ret, struct err *e)
{
	for (; *argv; argv++) {
		if (!strcmp(*argv, "--json")) {
			ret->is_json = true;
		} else if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")) {
			ret->wants_help = true;
		} else {
			(void)err_set(e, ERR_USAGE, "hutch doctor does not know '%.60s'", *argv);
			return err_remedy(e, "hutch doctor [--json] tells about this host; "
					     "hutch inspect NAME about a sandbox");
		}
	}
	return 0;
}

/* Runs all checks.  The launches are tried first, as the calling user, although their
 * results are printed last: a launch needs hutch's own files, which may be unreadable
 * for the user that root changes into. */
static void examine(struct check checks[CHECKS])
{
	const struct policy plain = { 0 };
	struct host_user user = { 0 };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(launches); i++)
		check_try(&launches[i], NULL, &checks[CHECKS_HOST + i]);
	/* If root cannot choose a user or change into it, the launch above has failed
	 * for the same reason, and has reported it. */
	if (host_user_decide(&plain, &user, &e) == 0)
		(void)host_user_become(&user, &e);
	checks_host(&user, checks);
}

/* Looks at the terminal on stdout; NO_COLOR in the environment forbids colours
 * (https://no-color.org). */
static struct doctor_terminal look_at_terminal(void)
{
	const char *refused = getenv("NO_COLOR");
	struct winsize size;

	return (struct doctor_terminal){
		.columns = ioctl(1, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0,
		.has_colors = !refused || !*refused,
	};
}

static int report(const struct diagnosis *d, bool is_json, struct err *e)
{
	const struct doctor_terminal t = look_at_terminal();

	if (is_json)
		doctor_print_json(d, stdout);
	else
		doctor_print(d, isatty(1) ? &t : NULL, stdout);
	return report_flush() < 0 ? report_unwritten(e) : 0;
}

static int run(const struct doctor_options *o, struct err *e)
{
	struct check checks[CHECKS];
	struct diagnosis d = { .checks = checks, .count = ARRAY_LEN(checks) };

	launch_ready();
	examine(checks);
	d.works = checks[LAUNCH].status == CHECK_OK;
	d.steps_down = checks[LANDLOCK_LAUNCH].status != CHECK_MISSING;
	if (report(&d, o->is_json, e) < 0)
		return EXIT_HUTCH;
	return d.works ? 0 : 1;
}

int doctor_main(char **argv)
{
	struct doctor_options options = { 0 };
	struct err e = { 0 };

	if (parse(argv, &options, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	if (options.wants_help) {
		print_help();
		return 0;
	}
	int code = run(&options, &e);
	if (e.kind != ERR_NONE)
		report_error(&e);
	return code;
}
