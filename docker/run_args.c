#include "docker/run_args.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "docker/args.h"
#include "docker/mount_args.h"
#include "policy/port_spec.h"
#include "sandbox/state/registry.h"

#define LABEL_FILE_MAX (1u << 20) /* bytes */

/* --- single flags ------------------------------------------------------------ */

static int take_detach(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->is_detached = true;
	return 0;
}

static int take_rm(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->removes = true;
	return 0;
}

static int take_interactive(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->is_interactive = true;
	list_add(&a->words, "-i");
	return 0;
}

static int take_tty(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->has_terminal = true;
	list_add(&a->words, "-t");
	return 0;
}

/* A name that begins with "-" would be a flag of hutch create. */
static int take_name(struct args *a, const char *value, struct err *e)
{
	a->name = value[0] == '/' ? value + 1 : value;
	return registry_check_name(a->name, e) < 0 ? err_in(e, "--name") : 0;
}

static int take_network(struct args *a, const char *value, struct err *e)
{
	if (!*value)
		return err_set(e, ERR_USAGE, "--network names no network");
	if (!strncmp(value, "container:", 10))
		return err_set(e, ERR_UNSUPPORTED,
			       "--network %.60s: a sandbox of hutch has no network of "
			       "another one; --network NAME joins one",
			       value);
	a->network = value;
	return 0;
}

static int take_host(struct args *a, const char *value, struct err *e)
{
	(void)e; /* hutch judges the value */
	list_add(&a->hosts, value);
	return 0;
}

static int take_label(struct args *a, const char *value, struct err *e)
{
	(void)e;
	a->has_labels = true;
	list_add(&a->words, "--label");
	list_add(&a->words, value);
	return 0;
}

/* Takes a file of labels, a line each; blank lines and those with a # in front are
 * none. */
static int take_label_file(struct args *a, const char *value, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open(value, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "--label-file: open %.200s", value);
	if (io_read_file(fd, value, LABEL_FILE_MAX, &text, &len, e) < 0)
		return err_in(e, "--label-file");
	if (strlen(text) < len)
		return err_set(e, ERR_USAGE, "--label-file %.200s has a NUL in it",
			       value);
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, " \t");
		line[strcspn(line, "\r")] = '\0';
		if (*line && *line != '#')
			(void)take_label(a, line, e); /* hutch judges the line */
	}
	return 0;
}

static int take_restart(struct args *a, const char *value, struct err *e)
{
	(void)e; /* hutch judges the value */
	a->restart = strcmp(value, "no") != 0 ? value : NULL;
	return 0;
}

static int take_stop_signal(struct args *a, const char *value, struct err *e)
{
	(void)e; /* hutch judges the value */
	a->stop_signal = value;
	return 0;
}

static int take_stop_timeout(struct args *a, const char *value, struct err *e)
{
	(void)e; /* hutch judges the value */
	a->stop_timeout = value;
	return 0;
}

/* Images of this machine's processor are the only ones that hutch runs. */
int run_args_platform(struct args *a, const char *value, struct err *e)
{
	static const struct {
		const char *machine, *names[3];
	} machines[] = { { "x86_64", { "amd64", "x86_64", "x86-64" } },
			 { "aarch64", { "arm64", "aarch64", "arm64/v8" } } };
	struct utsname host;

	(void)a;
	if (uname(&host) < 0)
		return err_sys(e, "uname");
	const char *arch = strncmp(value, "linux/", 6) ? value : value + 6;
	for (size_t m = 0; m < ARRAY_LEN(machines); m++)
		for (size_t i = 0; i < 3; i++)
			if (!strcmp(machines[m].machine, host.machine) &&
			    !strcmp(machines[m].names[i], arch))
				return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "--platform %.60s: this host is linux/%s, and hutch emulates no "
		       "other processor",
		       value, host.machine);
}

static int take_security(struct args *a, const char *value, struct err *e)
{
	static const char *const always[] = { "no-new-privileges",
					      "no-new-privileges:true",
					      "no-new-privileges=true", "label=disable",
					      "label:disable" };

	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (!strcmp(always[i], value))
			return 0;
	if (!strcmp(value, "seccomp=unconfined"))
		return err_set(
			e, ERR_REFUSED,
			"--security-opt %s: hutch runs nothing without its filter of "
			"system calls; seccomp=FILE gives another profile",
			value);
	if (strncmp(value, "seccomp=", 8) != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "--security-opt %.60s: hutch has no-new-privileges, which "
			       "always holds, and seccomp=FILE",
			       value);
	list_add(&a->words, "--seccomp");
	list_add(&a->words, value + 8);
	return 0;
}

/* docker takes 0 and -1 for no limit. */
static int take_pids(struct args *a, const char *value, struct err *e)
{
	(void)e;
	if (!strcmp(value, "-1") || !strcmp(value, "0"))
		return 0;
	list_add(&a->words, "--pids-limit");
	list_add(&a->words, value);
	return 0;
}

struct range {
	unsigned low, high;
};

/* Reads PORT or LOW-HIGH, with or without /tcp behind it. */
static bool read_range(const char *text, struct range *ret)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	const unsigned long low = strtoul(text, &end, 10);
	const bool is_range = *end == '-' && isdigit((unsigned char)end[1]);
	const unsigned long high = is_range ? strtoul(end + 1, &end, 10) : low;
	*ret = (struct range){ (unsigned)low, (unsigned)high };
	return low > 0 && low <= high && high <= 65535 && (!*end || !strcmp(end, "/tcp"));
}

/* Publishes each port of the range `guest`, which is the end of `value`, as a port of its
 * own. */
static int publish_range(struct args *a, const char *value, const char *guest,
			 struct err *e)
{
	AUTO_FREE char *before = strndup(value, (size_t)(guest - value));
	struct range inside, outside = { 0 };

	if (!before)
		abort();
	if (guest > value)
		before[guest - value - 1] = '\0'; /* the colon */
	char *host = strrchr(before, ':');
	host = host ? host + 1 : before;
	if (!read_range(guest, &inside) || (*host && !read_range(host, &outside)))
		return err_set(e, ERR_USAGE, "-p %.100s: invalid range of ports", value);
	if (*host && outside.high - outside.low != inside.high - inside.low)
		return err_set(e, ERR_USAGE,
			       "-p %.100s: invalid ranges specified for container and "
			       "host Ports: their lengths differ",
			       value);
	if (inside.high - inside.low >= PORT_SPEC_MAX)
		return err_set(e, ERR_LIMIT,
			       "-p %.100s: a sandbox publishes %d ports at "
			       "most",
			       value, PORT_SPEC_MAX);
	const bool has_host = *host;
	*host = '\0';
	for (unsigned i = 0; i <= inside.high - inside.low; i++) {
		AUTO_FREE char *port = has_host ? text_format("%u", outside.low + i)
						: text_copy("auto");
		list_add(&a->words, "-p");
		list_addf(&a->words, "%s%s:%u", before, port, inside.low + i);
	}
	return 0;
}

/* Takes [IP:][HOST]:GUEST[/tcp]; without HOST the port is any free one. */
static int take_publish(struct args *a, const char *value, struct err *e)
{
	const char *guest = strrchr(value, ':');
	const size_t len = strlen(value);

	if (len > 4 && strcmp(value + len - 4, "/udp") == 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "-p %.60s: hutch publishes ports of TCP alone", value);
	a->has_ports = true;
	if (strchr(guest ? guest : value, '-'))
		return publish_range(a, value, guest ? guest + 1 : value, e);
	list_add(&a->words, "-p");
	if (!guest)
		list_addf(&a->words, "auto:%s", value);
	else if (guest == value)
		list_addf(&a->words, "auto%s", guest);
	else if (guest[-1] == ':')
		list_addf(&a->words, "%.*sauto%s", (int)(guest - value), value, guest);
	else
		list_add(&a->words, value);
	return 0;
}

/* Takes --ipc, --uts, --userns and --cgroupns, whose only value here is "private". */
static int take_private(struct args *a, const char *value, struct err *e)
{
	(void)a;
	return !strcmp(value, "private")
		       ? 0
		       : err_set(e, ERR_REFUSED,
				 "namespace '%.60s': every sandbox of hutch has its own "
				 "namespaces, and shares none of this host's",
				 value);
}

static int take_pid(struct args *a, const char *value, struct err *e)
{
	if (strcmp(value, "host") != 0)
		return take_private(a, value, e);
	return err_set(
		e, ERR_REFUSED,
		"--pid=host is refused: the inside would see, trace and signal the "
		"processes of this host");
}

#define PRIVILEGED                                                                   \
	"it is refused: the inside would have the capabilities and devices of this " \
	"host; --cap-add gives single capabilities"
#define FOREGROUND "there is no stream of another process to attach to"
#define SWAP	   "sandboxes of hutch never swap"

/* clang-format off */
static const struct arg run_rows[] = {
	{ 'd', "detach", false, NULL, take_detach, NULL },
	{ 0, "rm", false, NULL, take_rm, NULL },
	{ 'i', "interactive", false, NULL, take_interactive, NULL },
	{ 't', "tty", false, NULL, take_tty, NULL },
	{ 0, "name", true, NULL, take_name, NULL },
	{ 'e', "env", true, "-e", NULL, NULL },
	{ 0, "env-file", true, "--env-file", NULL, NULL },
	{ 'v', "volume", true, NULL, mount_args_volume_flag, NULL },
	{ 0, "mount", true, NULL, mount_args_mount_flag, NULL },
	{ 0, "tmpfs", true, NULL, mount_args_tmpfs_flag, NULL },
	{ 'w', "workdir", true, "-w", NULL, NULL },
	{ 'u', "user", true, "-u", NULL, NULL },
	{ 'p', "publish", true, NULL, take_publish, NULL },
	{ 0, "platform", true, NULL, run_args_platform, NULL },
	{ 0, "ulimit", true, "--ulimit", NULL, NULL },
	{ 0, "cap-add", true, "--cap-add", NULL, NULL },
	{ 0, "cap-drop", true, "--cap-drop", NULL, NULL },
	{ 0, "security-opt", true, NULL, take_security, NULL },
	{ 0, "add-host", true, NULL, take_host, NULL },
	{ 'l', "label", true, NULL, take_label, NULL },
	{ 0, "label-file", true, NULL, take_label_file, NULL },
	{ 'm', "memory", true, "--memory", NULL, NULL },
	{ 0, "cpus", true, "--cpus", NULL, NULL },
	{ 0, "pids-limit", true, NULL, take_pids, NULL },
	{ 0, "network", true, NULL, take_network, NULL },
	{ 0, "net", true, NULL, take_network, NULL },
	{ 0, "entrypoint", true, "--entrypoint", NULL, NULL },
	{ 'h', "hostname", true, "--hostname", NULL, NULL },
	{ 0, "restart", true, NULL, take_restart, NULL },
	{ 0, "stop-signal", true, NULL, take_stop_signal, NULL },
	{ 0, "stop-timeout", true, NULL, take_stop_timeout, NULL },
	{ 0, "read-only", false, "--read-only", NULL, NULL },
	{ 0, "pull", true, "--pull", NULL, NULL },
	{ 'q', "quiet", false, "-q", NULL, NULL },
	{ 0, "ipc", true, NULL, take_private, NULL },
	{ 0, "uts", true, NULL, take_private, NULL },
	{ 0, "userns", true, NULL, take_private, NULL },
	{ 0, "cgroupns", true, NULL, take_private, NULL },
	{ 0, "pid", true, NULL, take_pid, NULL },

	/* always so */
	{ 0, "init", false, NULL, NULL, NULL },
	{ 0, "no-healthcheck", false, NULL, NULL, NULL },
	{ 0, "sig-proxy", false, NULL, NULL, NULL },

	{ 0, "privileged", false, NULL, NULL, PRIVILEGED },
	{ 0, "gpus", true, NULL, NULL, "GPUs are not supported: hutch shows no device of "
		"this host inside" },
	{ 0, "device", true, NULL, NULL, "hutch shows no device of this host inside" },
	{ 'a', "attach", true, NULL, NULL, FOREGROUND },
	{ 'P', "publish-all", false, NULL, NULL, "name each port with -p" },
	{ 0, "memory-swap", true, NULL, NULL, SWAP },
	{ 0, "shm-size", true, NULL, NULL, "/dev/shm is bounded by --memory alone" },
	{ 0, "volumes-from", true, NULL, NULL, "name each volume with -v" },
	{ 0, "link", true, NULL, NULL, "--network NAME joins sandboxes by their names" },
	{ 0, "group-add", true, NULL, NULL, "hutch gives a command no further groups" },
	{ 0, "cidfile", true, NULL, NULL, "hutch writes the id to stdout alone" },
	{ 0, "runtime", true, NULL, NULL, "hutch is the runtime" },
};
/* clang-format on */

static const struct arg exec_rows[] = {
	{ 'd', "detach", false, NULL, take_detach, NULL },
	{ 'e', "env", true, "-e", NULL, NULL },
	{ 0, "env-file", true, "--env-file", NULL, NULL },
	{ 'w', "workdir", true, "-w", NULL, NULL },
	{ 'u', "user", true, "-u", NULL, NULL },
	{ 'i', "interactive", false, NULL, take_interactive, NULL },
	{ 't', "tty", false, NULL, take_tty, NULL },
	{ 0, "privileged", false, NULL, NULL, PRIVILEGED },
	{ 0, "detach-keys", true, NULL, NULL, FOREGROUND },
};

static const struct arg_table run_table = { "docker", "run", run_rows,
					    ARRAY_LEN(run_rows) };
static const struct arg_table exec_table = { "docker", "exec", exec_rows,
					     ARRAY_LEN(exec_rows) };

/* --- the words of hutch ------------------------------------------------------ */

static bool is_bridge(const char *network)
{
	return !strcmp(network, "bridge") || !strcmp(network, "default");
}

/* docker's bridge reaches any public host; a network by another name is one of
 * sandboxes. */
void run_args_add_network(const char *network, struct list *ret)
{
	if (is_bridge(network)) {
		list_add(ret, "--allow");
		list_add(ret, "*");
	} else if (!strcmp(network, "none") || !strcmp(network, "host") ||
		   !strncmp(network, "ns:", 3)) {
		list_add(ret, "--network");
		list_add(ret, network);
	} else {
		list_add(ret, "--network-join");
		list_addf(ret, "%s:*", network);
	}
}

/* Names of host-gateway lead to this host where the policy opens ports of it.  Else
 * they lead to the inside's own loopback, where nothing listens: callers add such a name
 * always, and hutch takes it for an error if no port is open. */
static void add_hosts(const struct args *a, struct list *ret)
{
	const bool is_open = a->opens_host && !a->network;

	for (size_t i = 0; i < a->hosts.count; i++) {
		const char *host = a->hosts.items[i];
		const char *address = strpbrk(host, ":=");
		list_add(ret, "--add-host");
		if (address && !strcmp(address + 1, "host-gateway") && !is_open)
			list_addf(ret, "%.*s:127.0.0.1", (int)(address - host), host);
		else if (address)
			list_addf(ret, "%.*s:%s", (int)(address - host), host,
				  address + 1);
		else
			list_add(ret, host);
	}
}

static int check_foreground(const struct args *a, struct err *e)
{
	static const char why[] = "needs -d or --name: hutch lists no other sandboxes";

	if (a->has_labels)
		return err_set(e, ERR_UNSUPPORTED, "--label %s", why);
	if (a->restart)
		return err_set(e, ERR_UNSUPPORTED, "--restart %s", why);
	if (a->stop_signal)
		return err_set(e, ERR_UNSUPPORTED, "--stop-signal %s", why);
	if (a->stop_timeout)
		return err_set(e, ERR_UNSUPPORTED, "--stop-timeout %s", why);
	return 0;
}

/* A container with a name is created, also in the foreground (attach.h). */
static int check_created(const struct args *a, struct err *e)
{
	if (a->is_interactive || a->has_terminal)
		return err_set(e, ERR_UNSUPPORTED,
			       "-i and -t with -d or --name: the main process of a "
			       "sandbox with a name has neither stdin nor a terminal");
	if (a->removes && a->restart)
		return err_set(e, ERR_USAGE,
			       "conflicting options: cannot specify both "
			       "--restart and --rm");
	return 0;
}

/* The host image is not written over, so nothing of it could be kept but the record. */
static void add_verb(const struct args *a, const char *image, struct list *ret)
{
	list_add(ret, a->name ? "create" : "run");
	if (a->policy) {
		list_add(ret, "--policy");
		list_add(ret, a->policy);
	}
	if (!a->name)
		return;
	list_add(ret, "--main");
	/* In the foreground docker removes it, and needs the record until then. */
	if (a->removes && a->is_detached)
		list_add(ret, "--rm");
	else if (!a->removes && strcmp(image, "host") != 0)
		list_add(ret, "--keep");
	if (a->restart) {
		list_add(ret, "--restart");
		list_add(ret, a->restart);
	}
	if (a->stop_signal) {
		list_add(ret, "--stop-signal");
		list_add(ret, a->stop_signal);
	}
	if (a->stop_timeout) {
		list_add(ret, "--stop-timeout");
		list_add(ret, a->stop_timeout);
	}
}

bool run_args_help(char **argv)
{
	return args_help(argv, &run_table, "IMAGE [COMMAND...]");
}

bool run_args_help_exec(char **argv)
{
	return args_help(argv, &exec_table, "CONTAINER COMMAND...");
}

int run_args_read(char **argv, const char *made_name, struct args *a, struct list *ret,
		  struct err *e)
{
	if (args_read(&argv, &run_table, a, e) < 0)
		return -1;
	if (!*argv) {
		a->lacks_operands = true;
		return err_set(e, ERR_USAGE, "an image is missing");
	}
	if ((a->is_detached || a->name ? check_created(a, e) : check_foreground(a, e)) <
	    0)
		return -1;
	if (a->is_detached && !a->name)
		a->name = made_name;
	add_verb(a, *argv, ret);
	/* A network that is not asked for is none, or the policy's. */
	if (a->network)
		run_args_add_network(a->network, ret);
	add_hosts(a, ret);
	for (size_t i = 0; i < a->words.count; i++)
		list_add(ret, a->words.items[i]);
	list_add(ret, "--image");
	a->image_at = ret->count;
	list_add(ret, *argv++);
	if (a->name)
		list_add(ret, a->name);
	if (*argv)
		list_add(ret, "--");
	for (; *argv; argv++)
		list_add(ret, *argv);
	return 0;
}

char **run_args_read_exec(char **argv, struct args *a, const char **ret_box,
			  struct err *e)
{
	if (args_read(&argv, &exec_table, a, e) < 0)
		return NULL;
	if (!argv[0] || !argv[1]) {
		a->lacks_operands = true;
		(void)err_set(e, ERR_USAGE, "a container or a command is missing");
		return NULL;
	}
	*ret_box = argv[0];
	return argv + 1;
}
