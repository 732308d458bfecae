#include "cli/common/foreign_flags.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"

#define OWN_NAMESPACES "leave it out: a sandbox always has namespaces of its own"
#define NO_NETWORK \
	"--allow HOST reaches a host by its name, --network host has this host's"
#define SHOW_WRITABLE "-v SRC:DST shows it writable, -v SRC:DST:cow keeps changes apart"
#define OWN_DEV	      "leave it out: a sandbox has a /dev of its own"
#define NAMED_FILES   "leave it out: a sandbox sees only those files that -v names"
#define NAMED_WORDS   "leave it out: a sandbox gets only those variables that -e names"
#define AUTO_PORT     "-p auto:GUEST has a free port of this host lead inside"
#define NO_DEVICES    "hutch gives a sandbox no devices of the host"
#define LOGGING	      "it stands before the verb: hutch --log-level debug VERB"
#define LABELS	      "hutch create --label KEY=VALUE NAME makes a sandbox that has it"
#define CPUS	      "--cpus NUMBER bounds CPU time"

/* A row for all verbs that start commands has no verb.  A name with a last '*' stands
 * for all that begin so; one of a single letter is a flag such as -P. */
static const struct row {
	const char *verb, *name;
	const char *why; /* NULL: "hutch VERB has no --NAME" */
	const char *remedy;
} rows[] = {
	/* bubblewrap */
	{ NULL, "ro-bind*", NULL, "-v SRC:DST:ro shows a folder read-only" },
	{ NULL, "bind*", NULL, SHOW_WRITABLE },
	{ NULL, "dev-bind*", NO_DEVICES, OWN_DEV },
	{ NULL, "dev", NULL, OWN_DEV },
	{ NULL, "proc", NULL, "leave it out: a sandbox has a /proc of its own" },
	{ NULL, "chdir", NULL, "-w DIR is the working directory inside" },
	{ NULL, "cwd", NULL, "-w DIR is the working directory inside" },
	{ NULL, "setenv", NULL, "-e KEY=VALUE sets a variable" },
	{ NULL, "unsetenv", NULL, NAMED_WORDS },
	{ NULL, "clearenv", NULL, NAMED_WORDS },
	{ NULL, "unshare-*", NULL, OWN_NAMESPACES },
	{ NULL, "share-net", NULL,
	  "--allow HOST reaches a host, --network host shares this host's network" },
	{ NULL, "die-with-parent", NULL,
	  "leave it out: hutch run ends its sandbox, even if hutch is killed" },
	{ NULL, "new-session", NULL,
	  "leave it out: only --stdio inherit hands your terminal over" },
	{ NULL, "as-pid-1", NULL, "leave it out: a sandbox has an init of its own" },
	{ NULL, "symlink", NULL, "a command inside can make links: sh -c 'ln -s ...'" },
	{ NULL, "dir", NULL, "--tmpfs DST makes an empty folder" },
	{ NULL, "overlay*", NULL, "-v SRC:DST:cow keeps changes apart from the folder" },
	{ NULL, "uid", NULL, "-u UID is the user inside" },
	{ NULL, "gid", NULL, "-u UID:GID is user and group inside" },

	/* docker and podman */
	{ NULL, "gpus", "hutch gives a sandbox no GPU", NULL },
	{ NULL, "device", NO_DEVICES, NULL },
	{ NULL, "privileged",
	  "hutch has no --privileged: a sandbox never has rights on the host",
	  "hutch why says what a sandbox may do, --cap-add gives it a capability" },
	{ NULL, "mount", "hutch has no --mount",
	  "-v SRC:DST[:ro|rw|cow] shows a folder" },
	{ NULL, "volumes-from", NULL, "-v SRC:DST shows a folder of this host" },
	{ NULL, "net", NULL,
	  "--network none, which is the default, --allow HOST, or --network host" },
	{ NULL, "no-network", NULL,
	  "leave it out: only --allow HOST and --network host give one" },
	{ NULL, "dns*", NULL, NO_NETWORK },
	{ NULL, "link", NULL, NO_NETWORK },
	{ NULL, "ip", NULL, NO_NETWORK },
	{ NULL, "expose", NULL, "-p HOST:GUEST has a port of this host lead inside" },
	{ NULL, "publish-all", NULL, AUTO_PORT },
	{ NULL, "P", NULL, AUTO_PORT },
	{ NULL, "init", NULL, "leave it out: a sandbox has an init of its own" },
	{ NULL, "restart", NULL,
	  "hutch create --main --restart RULE NAME -- CMD starts it again when it ends" },
	{ NULL, "platform", NULL,
	  "leave it out: a sandbox runs programs of this machine's architecture" },
	{ NULL, "pid", NULL, OWN_NAMESPACES "; --pids-limit N bounds processes" },
	{ NULL, "ipc", NULL, OWN_NAMESPACES },
	{ NULL, "uts", NULL, OWN_NAMESPACES "; --hostname NAME sets its host name" },
	{ NULL, "userns", NULL, OWN_NAMESPACES },
	{ NULL, "cgroupns", NULL, OWN_NAMESPACES },
	{ NULL, "security-opt", NULL,
	  "--seccomp FILE takes a profile; no program inside can gain rights anyway" },
	{ NULL, "shm-size", NULL, "--disk SIZE bounds /dev/shm and all private folders" },
	{ NULL, "memory-swap", NULL, "leave it out: --memory SIZE is without swap" },
	{ NULL, "cpu-*", NULL, CPUS },
	{ NULL, "cpuset-*", NULL, CPUS },
	{ NULL, "label", NULL, LABELS },
	{ NULL, "l", NULL, LABELS },
	{ NULL, "log-driver", NULL,
	  "hutch logs NAME prints what detached commands wrote" },
	{ NULL, "stop-*", NULL, "hutch stop -t SECONDS NAME gives it time to end" },
	{ NULL, "group-add", NULL, "-u UID:GID is user and group inside" },
	{ NULL, "runtime", NULL, "--isolation says how a sandbox is walled off" },

	/* firejail */
	{ NULL, "private*", NULL, NAMED_FILES },
	{ NULL, "whitelist", NULL, "-v SRC:DST shows a folder of this host" },
	{ NULL, "blacklist", NULL, NAMED_FILES },
	{ NULL, "profile", NULL, "--policy FILE|NAME takes a policy of hutch" },

	/* what hutch has in another place */
	{ NULL, "log-level", NULL, LOGGING },
	{ NULL, "log-format", NULL,
	  "it stands before the verb: hutch --log-format json VERB" },
	{ NULL, "verbose", NULL, LOGGING },
	{ NULL, "debug", NULL, LOGGING },
	{ NULL, "version", NULL, "hutch --version" },
	{ NULL, "V", NULL, "hutch --version" },
	{ "run", "detach", NULL,
	  "hutch create --main NAME -- CMD goes on without hutch" },
	{ "run", "ttl", NULL, "--timeout DURATION ends hutch run" },
	{ "run", "keep", NULL,
	  "hutch create --keep NAME; or --workspace DIR:cow keeps changes apart" },
	{ "create", "detach", NULL, "leave it out: a sandbox of hutch create lives on" },
	{ "create", "interactive", NULL, "hutch create NAME, then hutch shell NAME" },
	{ "create", "tty", NULL, "hutch create NAME, then hutch shell NAME" },
	{ "exec", "memory", NULL,
	  "hutch update --memory SIZE NAME, for all that runs in it" },
	{ "exec", "cpus", NULL,
	  "hutch update --cpus NUMBER NAME, for all that runs in it" },
	{ "exec", "volume", NULL,
	  "hutch create -v shows folders; hutch cp copies into one that runs" },
	{ "exec", "workspace", NULL,
	  "hutch create --workspace shows it; hutch cp copies into one that runs" },
	{ "exec", "publish", NULL, "hutch port add NAME HOST:GUEST" },
	{ "exec", "rm", NULL, "hutch run CMD runs it in a sandbox that ends with it" },
	{ "exec", "image", NULL, "hutch create --image REF NAME makes one of an image" },

	/* docker's flags of small verbs */
	{ "kill", "signal", NULL,
	  "it ends the sandbox; one process: hutch exec NAME kill PID" },
	{ "kill", "s", NULL,
	  "it ends the sandbox; one process: hutch exec NAME kill PID" },
	{ "kill", "9", NULL, "leave it out: hutch kill ends a sandbox at once" },
	{ "kill", "all", NULL, "hutch kill $(hutch ps -q)" },
	{ "stop", "all", NULL, "hutch stop $(hutch ps -q)" },
	{ "rm", "all", NULL, "hutch rm $(hutch ps -aq) removes all that have ended" },
	{ "rm", "r", NULL,
	  "leave it out: hutch rm removes all of a sandbox, -f a live one" },
	{ "logs", "since", NULL,
	  "--tail N prints the last; hutch events NAME has times" },
	{ "logs", "timestamps", NULL, "hutch events NAME has times" },
	{ "logs", "t", NULL, "hutch events NAME has times" },
	{ "events", "since", NULL, "hutch events NAME | tail prints the latest" },
	{ "inspect", "format", NULL,
	  "it prints JSON: hutch inspect NAME | jq '.[0].state'" },
	{ "inspect", "f", NULL, "it prints JSON: hutch inspect NAME | jq '.[0].state'" },
	{ "cp", "recursive", NULL, "leave it out: folders are copied with all in them" },
	{ "cp", "r", NULL, "leave it out: folders are copied with all in them" },
	{ "cp", "a", NULL, "leave it out: modes and times are copied" },
	{ "cp", "archive", NULL, "leave it out: modes and times are copied" },
};

static bool is_named(const struct row *r, const char *name, size_t len)
{
	const size_t own = strlen(r->name);

	if (r->name[own - 1] == '*')
		return len + 1 >= own && !strncmp(r->name, name, own - 1);
	return len == own && !strncmp(r->name, name, len);
}

/* Returns whether the verb starts commands, or makes what they are started in. */
static bool starts_commands(const char *verb)
{
	static const char *const verbs[] = { "run",   "act", "create", "fork",
					     "start", "why", "exec",   "shell" };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(verbs[i], verb))
			return true;
	return false;
}

/* Returns the verb's own row for this flag, or else that of all verbs that start
 * commands; NULL: there is none. */
static const struct row *find(const char *verb, const char *name, size_t len)
{
	const bool may_be_any = starts_commands(verb);
	const struct row *any = NULL;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		if (!is_named(r, name, len))
			continue;
		if (r->verb && !strcmp(r->verb, verb))
			return r;
		if (!r->verb && may_be_any && !any)
			any = r;
	}
	return any;
}

bool foreign_flags_explain(const char *verb, const char *name, size_t len, struct err *e)
{
	const struct row *r = find(verb, name, len);

	if (!r)
		return false;
	if (r->why)
		(void)err_set(e, ERR_UNSUPPORTED, "%s", r->why);
	else
		(void)err_set(e, ERR_UNSUPPORTED, "hutch %s has no %s%.*s", verb,
			      len > 1 ? "--" : "-", (int)len, name);
	if (r->remedy)
		(void)err_remedy(e, "%s", r->remedy);
	return true;
}

int foreign_flags_remedy(const char *verb, const char *name, size_t len, struct err *e)
{
	const struct row *r = find(verb, name, len);

	return r && r->remedy ? err_remedy(e, "%s", r->remedy) : -1;
}

/* Returns how many bytes a dash other than '-' has at the begin of the word: the dashes
 * of U+2010 to U+2015, and the minus sign, U+2212, are three in UTF-8. */
static size_t dash_len(const char *word)
{
	const bool is_dash = !strncmp(word, "\xe2\x80", 2) &&
			     (uint8_t)word[2] >= 0x90 && (uint8_t)word[2] <= 0x95;

	return is_dash || !strncmp(word, "\xe2\x88\x92", 3) ? 3 : 0;
}

int foreign_flags_check_dash(const char *word, struct err *e)
{
	const char *rest = word + dash_len(word);

	if (rest == word)
		return 0;
	while (*rest == '-' || dash_len(rest))
		rest += *rest == '-' ? 1 : dash_len(rest);
	(void)err_set(e, ERR_USAGE,
		      "'%.60s' begins with a dash that is not the '-' of flags", word);
	return err_remedy(e, "type it: %s%.60s", strlen(rest) > 1 ? "--" : "-", rest);
}
