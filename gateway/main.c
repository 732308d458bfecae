/* hutch-serve: sandboxes over HTTP, for clients of OpenHands and others
 * (docs/hutch-serve.md).
 *
 * The process that was started becomes the spawner (spawner.h), and its child the front
 * (gateway.h), which reads what clients send. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "gateway/box_id.h"
#include "gateway/free_memory.h"
#include "gateway/gateway.h"
#include "gateway/keys.h"
#include "gateway/listen.h"
#include "gateway/serve.h"
#include "gateway/serve_confine.h"
#include "gateway/settings.h"
#include "gateway/spawner.h"
#include "policy/units.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"
#include "store/folders.h"

#define DEFAULT_LISTEN	    "127.0.0.1:7478"
#define DEFAULT_CONNECTIONS 1000
#define DEFAULT_BODIES	    (64u << 20)
#define PEM_MAX		    (1u << 20)

/* --- the words ----------------------------------------------------------------- */

struct words {
	const char *idle, *connections, *bodies, *memory, *cpus, *most;
};

static int read_flags(char **argv, struct serve *s, struct words *w)
{
	const struct flag flags[] = {
		{ 0, "listen", "ADDRESS:PORT", "where to listen (" DEFAULT_LISTEN ")",
		  NULL, &s->listen },
		{ 0, "socket", "PATH", "listen on a unix socket, too", NULL, &s->socket },
		{ 0, "key-file", "FILE", "the key that clients send; made if absent",
		  NULL, &s->key_file },
		{ 0, "tls-cert", "FILE", "serve TLS with this certificate, as PEM", NULL,
		  &s->certificate },
		{ 0, "tls-key", "FILE", "its key, as PEM", NULL, &s->certificate_key },
		{ 0, "url", "URL", "under which clients reach the server", NULL,
		  &s->url },
		{ 0, "host", "NAME...", "a further Host; .NAME: all below it", NULL,
		  &s->hosts },
		{ 0, "origin", "ORIGIN...", "a web page's Origin to answer", NULL,
		  &s->origins },
		{ 0, "image", "REF", "of all sandboxes, whatever clients ask for", NULL,
		  &s->image },
		{ 'm', "memory", "SIZE", "of each sandbox, times a request's factor",
		  NULL, &w->memory },
		{ 0, "cpus", "NUMBER", "CPUs of each sandbox, times that factor", NULL,
		  &w->cpus },
		{ 0, "build-network", "MODE", "of each RUN of a build: none, host, ...",
		  NULL, &s->build_network },
		{ 0, "build-allow", "HOST[:PORT]...", "a host that these may connect to",
		  NULL, &s->build_allow },
		{ 0, "name", "NAME", "of the server, and a label of sandboxes", NULL,
		  &s->name },
		{ 0, "idle-pause", "DURATION",
		  "pause a sandbox that is unused for so long", NULL, &w->idle },
		{ 0, "connections", "N", "the most at once (1000)", NULL,
		  &w->connections },
		{ 0, "body-memory", "SIZE", "for all request bodies together (64m)", NULL,
		  &w->bodies },
		{ 0, "pod", "NAME", "begins all ids; files are kept",
		  NULL, &s->pod },
		{ 0, "max-sandboxes", "N", "the most at once; further ones: 503", NULL,
		  &w->most },
		{ 0, "drain", NULL, "stop the sandboxes at SIGTERM, too",
		  &s->drains, NULL },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch serve [OPTIONS] [-- OPTIONS OF hutch create]",
		.about =
			"Serves sandboxes over HTTP, to clients of OpenHands and others.  The\n"
			"words behind -- are for each sandbox.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 0,
		.operands_max = 0,
	};
	const enum flags_result got = flags_begin(argv, &usage);

	return got == FLAGS_READ ? -1 : got == FLAGS_HELP ? 0 : EXIT_HUTCH;
}

/* Cuts the words at "--", and keeps those behind it. */
static void split(char **argv, struct serve *s)
{
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	if (!*argv)
		return;
	*argv++ = NULL;
	for (; *argv; argv++)
		list_add(&s->options, *argv);
}

static int check_numbers(struct serve *s, const struct words *w, struct err *e)
{
	uint64_t most = DEFAULT_CONNECTIONS;

	if (w->idle && units_parse_duration(w->idle, &s->idle_ms, e) < 0)
		return err_in(e, "--idle-pause");
	if (w->memory && units_parse_memory(w->memory, &s->memory, e) < 0)
		return -1;
	if (w->cpus && units_parse_cpus(w->cpus, &s->cpus, e) < 0)
		return err_in(e, "--cpus");
	if (w->connections && (units_parse_number(w->connections, &most, e) < 0 ||
			       most < 1 || most > 100000))
		return err_set(e, ERR_USAGE,
			       "--connections takes 1 to 100000, not '%.60s'",
			       w->connections);
	s->connections = (unsigned)most;
	s->body_memory = DEFAULT_BODIES;
	if (w->bodies && units_parse_bytes(w->bodies, &s->body_memory, e) < 0)
		return err_in(e, "--body-memory");
	if (s->body_memory < GATEWAY_BODY_MAX) {
		(void)err_set(e, ERR_USAGE,
			      "--body-memory takes %um or more, not '%.60s'",
			      GATEWAY_BODY_MAX >> 20, w->bodies);
		return err_remedy(e, "one body alone may have %u MiB",
				  GATEWAY_BODY_MAX >> 20);
	}
	if (w->most && (units_parse_number(w->most, &s->most_sandboxes, e) < 0 ||
			s->most_sandboxes < 1 || s->most_sandboxes > BOXES_MAX))
		return err_set(e, ERR_USAGE, "--max-sandboxes takes 1 to %d, not '%.60s'",
			       BOXES_MAX, w->most);
	return 0;
}

static int check(struct serve *s, const struct words *w, struct err *e)
{
	if (check_numbers(s, w, e) < 0 || settings_check(s, e) < 0)
		return -1;
	if (s->pod && box_id_check_pod(s->pod, e) < 0)
		return err_in(e, "--pod");
	if (s->drains && !s->pod)
		return err_set(
			e, ERR_USAGE,
			"--drain needs --pod, with which the files of sandboxes are kept");
	if (!s->certificate != !s->certificate_key)
		return err_set(e, ERR_USAGE, "--tls-cert and --tls-key belong together");
	if (s->certificate && !http_has_tls()) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--tls-cert: this build of hutch has no TLS");
		return err_remedy(e, "serve on loopback, behind a proxy that has it");
	}
	if (!s->name)
		s->name = "default";
	if (!s->listen && !s->socket)
		s->listen = DEFAULT_LISTEN;
	if (s->url && strncmp(s->url, "http://", 7) != 0 &&
	    strncmp(s->url, "https://", 8) != 0)
		return err_set(e, ERR_USAGE,
			       "--url '%.200s' does not begin with http:// or https://",
			       s->url);
	if (registry_is_name(s->name))
		return 0;
	(void)registry_refuse_name(s->name, "server", REGISTRY_NAME_MAX, e);
	return err_in(e, "--name");
}

/* --- files ---------------------------------------------------------------------- */

struct ends {
	int link[2];	 /* the front's, and the spawner's */
	int fds[2];	 /* TCP, unix; -1: none */
	bool has_socket; /* the unix socket is at its path, made by us */
	struct free_memory memory;
	char *name;			     /* owned: the address of TCP */
	char *certificate, *certificate_key; /* owned: PEM */
	char *hutch, *key_file, *url; /* owned: the same of `struct serve`, where no
					      * flag has them */
};

static int read_pem(const char *flag, const char *path, char **ret, struct err *e)
{
	size_t len;
	AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	*ret = NULL;
	if (!path)
		return 0;
	if (fd < 0)
		return err_sys(e, "%s %s", flag, path);
	return io_read_file(fd, path, PEM_MAX, ret, &len, e) < 0 ? err_in(e, "%s", flag)
								 : 0;
}

/* Gives the key file's path: --key-file, or one for this server in the data folder. */
static int key_path(struct serve *s, struct ends *x, struct err *e)
{
	if (s->key_file)
		return 0;
	AUTO_FREE char *data = folder_path(FOLDER_DATA);
	if (!data)
		return err_set(e, ERR_NOT_FOUND,
			       "no folder for the key: HOME is not set; use --key-file");
	AUTO_FREE char *folder = text_format("%s/serve", data);
	if (folder_create(folder, e) < 0)
		return -1;
	s->key_file = x->key_file = text_format("%s/%s.key", folder, s->name);
	return 0;
}

static int open_all(struct serve *s, struct ends *x, struct err *e)
{
	if (key_path(s, x, e) < 0 || keys_load(s->key_file, s->key, e) < 0 ||
	    read_pem("--tls-cert", s->certificate, &x->certificate, e) < 0 ||
	    read_pem("--tls-key", s->certificate_key, &x->certificate_key, e) < 0)
		return -1;
	if (s->listen && (x->fds[0] = listen_tcp("--listen", s->listen, &x->name, e)) < 0)
		return -1;
	if (s->socket && (x->fds[1] = listen_unix(s->socket, e)) < 0)
		return -1;
	x->has_socket = s->socket != NULL;
	free_memory_open(&x->memory);
	if (!s->url)
		s->url = x->url = text_format("%s://%s",
					      s->certificate ? "https" : "http",
					      x->name ? x->name : "localhost");
	s->host_memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	s->host_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, x->link) < 0)
		return err_sys(e, "socketpair");
	return 0;
}

static void free_all(struct serve *s, struct ends *x)
{
	char **const texts[] = { &x->hutch, &x->key_file,    &x->name,
				 &x->url,   &x->certificate, &x->certificate_key };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		own_free(texts[i]);
	list_done(&s->origins);
	list_done(&s->hosts);
	list_done(&s->options);
	list_done(&s->build_allow);
}

/* --- the two processes ---------------------------------------------------------- */

static int front(const struct serve *s, const struct ends *x, pid_t parent)
{
	const struct http_tls tls = { x->certificate, x->certificate_key };
	const int *m = x->memory.fds;
	const int keep[] = { x->link[0], x->fds[0], x->fds[1], m[0], m[1], m[2], m[3] };
	struct err e;

	(void)signal(SIGINT, SIG_IGN); /* the spawner tells when to stop */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setlocale(LC_CTYPE, "C.UTF-8"); /* kept in memory, where zips need it */
	if (getppid() != parent)
		return EXIT_HUTCH;
	if (serve_confine(keep, ARRAY_LEN(keep), &e) == 0 &&
	    gateway_run(s, x->link[0], x->fds, &tls, &x->memory, &e) == 0)
		return 0;
	report_error(&e);
	return EXIT_HUTCH;
}

/* The front and the spawner have descriptors for each sandbox, more than a login's limit. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
	(void)setrlimit(RLIMIT_NOFILE,
			&limit); /* with fewer there are fewer connections */
}

static void announce(const struct serve *s, const struct ends *x)
{
	if (x->name)
		(void)printf("%s\n", s->url);
	if (s->socket)
		(void)printf("unix:%s\n", s->socket);
	(void)fflush(stdout);
	note_print("clients send the key in %s as X-API-Key", s->key_file);
}

/* Runs both until one ends.  Returns the exit code. */
static int run(const struct serve *s, struct ends *x, struct err *e)
{
	const pid_t parent = getpid();
	sigset_t set;
	int status = 0;

	raise_files();
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	const pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		_exit(front(s, x, parent));
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	AUTO_CLOSE int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	own_close(&x->link[0]);
	own_close(&x->fds[0]);
	own_close(&x->fds[1]);
	free_memory_close(&x->memory);
	announce(s, x);
	const int rc = signals < 0 ? err_sys(e, "signalfd")
				   : spawner_run(s, x->link[1], signals, e);
	own_close(&x->link[1]); /* the front ends by that */
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && rc == 0)
		return WEXITSTATUS(status);
	return rc < 0 ? -1
		      : err_set(e, ERR_INTERNAL, "the front was ended by signal %d",
				WTERMSIG(status));
}

/* Returns the exit code. */
static int serve(struct serve *s, const struct words *w, struct ends *x)
{
	struct err e;
	int rc = check(s, w, &e);

	if (rc == 0 && (rc = program_find_hutch(&x->hutch, &e)) == 0)
		s->hutch = x->hutch;
	if (rc == 0)
		rc = open_all(s, x, &e);
	if (rc == 0)
		rc = run(s, x, &e);
	if (x->has_socket)
		(void)unlink(s->socket);
	if (rc >= 0)
		return report_exit(rc);
	report_error(&e);
	return EXIT_HUTCH;
}

int main(int argc, char **argv)
{
	struct ends x = { .link = { -1, -1 },
			  .fds = { -1, -1 },
			  .memory = { { -1, -1, -1, -1 } } };
	struct serve s = { 0 };
	struct words w = { 0 };

	report_begin();
	(void)argc;
	split(argv + 1, &s);
	int code = read_flags(argv + 1, &s, &w);
	code = code < 0 ? serve(&s, &w, &x) : report_exit(code);
	free_all(&s, &x);
	return code;
}
