/* probe -- tries to get out of a sandbox, one known way at a time.
 *
 * The same program runs inside a sandbox, where the attempts are to fail, and
 * outside, where they are to succeed: a probe that fails everywhere shows
 * nothing.  So each probe must be harmless where it succeeds: it writes back
 * what it read, names things that do not exist, attacks its own children.
 *
 * A probe is a row of a table (struct probe) with a function that makes the
 * attempt and says how it ended (trial_*).  The main program runs each in a
 * forked child of its own, under an alarm, in memory shared for the verdict:
 * no descriptor besides 0, 1, 2 is open in a trial that did not leak in.
 *
 * Results, the words of the third column:
 *
 *	allowed[:WORD]	it worked; WORD tells kinds of success apart
 *	refused:ERRNO	it was refused (or refused:WORD where there is no errno)
 *	absent		there is nothing of that name
 *	reached:ERRNO	code behind the permission checks answered
 *	killed:SIG	the attempt ended the process
 *	hang		no answer within the seconds of the setting
 *	slow:ERRNO	connect(2) was let through, and no answer came (net.c)
 *	skip:REASON	not tried */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Key of the listener's System V shared memory (listener.c). */
#define PROBE_SHM_KEY(port) (0x68750000 | (port))

/* Suffix that the listener adds to its other names for the datagram sockets. */
#define PROBE_DATAGRAM "-datagram"

#define TRIAL_SECONDS 5 /* default for setting.seconds */

/* The place in which the probes run, as the runner describes it.  Strings are
 * never NULL. */
struct setting {
	const char *readonly; /* a folder that the sandbox binds read-only */
	const char *single;   /* a file that the sandbox binds read-only */
	const char *scratch;  /* a folder that may be written */
	const char *secret;   /* a secret file of the host, in its /tmp */
	const char *source;   /* the same, in a folder of the user */
	const char *shm;      /* the same, in /dev/shm */
	const char *run;      /* the same, below /run */
	const char *prefix;   /* where the sandbox binds the host's root */
	const char *abstract; /* a host socket, without its leading NUL */
	const char *socket;   /* a host socket, by path */
	const char *address;  /* an address of the host, not a loopback one */
	const char *address6;
	int tcp;	      /* the host listens on it, at all addresses */
	int host_pid;	      /* a host process of the same user */
	int watches;	      /* how many inotify watches the host's user has */
	unsigned seconds;     /* how long an attempt may take; 0: for ever */
	int target;	      /* the process that the probes of pid 1 attack */
	bool own_target;      /* target is a child made for this, and not pid 1 */
};

struct probe;

/* One attempt.  `result` and `detail` are filled in through trial_*(). */
struct trial {
	const struct probe *probe;
	const struct setting *set;
	char result[40];
	char detail[200];
};

enum probe_flag {
	PROBE_ALONE = 1, /* not run with the others: it may end processes beside it */
	/* Not run with the others: it needs the host's root bound at `prefix`. */
	PROBE_WIDE = 2,
};

struct probe {
	/* Number in expect.tsv and docs/threat-model.md: "A11", "B36b". */
	const char *number;
	const char *name;
	void (*run)(struct trial *t);
	const char *text; /* argument for a function that several rows share */
	long value;
	long value2;
	int flags; /* enum probe_flag */
};

/* The tables, each ended by an empty row. */
extern const struct probe files_probes[];
extern const struct probe lower_probes[];
extern const struct probe procfs_probes[];
extern const struct probe mounts_probes[];
extern const struct probe nodes_probes[];
extern const struct probe spaces_probes[];
extern const struct probe rights_probes[];
extern const struct probe pid1_probes[];
extern const struct probe signals_probes[];
extern const struct probe syscalls_probes[];
extern const struct probe foreign_probes[];
extern const struct probe width_probes[];
extern const struct probe filter_probes[];
extern const struct probe terminal_probes[];
extern const struct probe net_probes[];
extern const struct probe families_probes[];
extern const struct probe accounts_probes[];
extern const struct probe limits_probes[];

/* Sets the result, and the detail from a format.  The last call wins. */
void trial_says(struct trial *t, const char *result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the result to "KIND:ERRNO". */
void trial_error(struct trial *t, const char *kind, int error);

/* Sets the detail only. */
void trial_note(struct trial *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the result from a return value and errno, for an operation on something
 * with a name: ENOENT and its like are `absent`; any other error of a
 * permission check, a mount flag or a mask is `refused`. */
void trial_file(struct trial *t, long ret);

/* The same for a system call whose arguments are wrong on purpose: only
 * EPERM, EACCES and ENOSYS are `refused`, all else is `reached`. */
void trial_call(struct trial *t, long ret);

/* The same for the return value of clone(2).  The child, which also returns
 * into this function, exits here. */
void trial_clone(struct trial *t, long pid);

/* The same for a limited resource: the probe got `got` of the `wanted` units, and
 * then the error `error`. */
void trial_count(struct trial *t, long got, long wanted, int error);

/* A path, returned by value so that it can stand inside a call. */
struct path {
	char s[512];
};

/* Returns DIR/NAME. */
struct path path_in(const char *dir, const char *name);

/* Returns /proc/PID/NAME. */
struct path path_of_pid(int pid, const char *name);

/* Reads up to size - 1 bytes and ends them with NUL.  Returns the number, or
 * -1 with errno. */
ssize_t file_read(const char *path, char *buf, size_t size);

/* Makes or replaces a file with a few bytes.  Returns 0, or -1 with errno. */
int file_make(const char *path, const char *text, mode_t mode);

/* Returns the number that follows `key` in /proc/self/status, in the given
 * base, or -1 if there is none. */
long long status_value(const char *key, int base);

/* Waits for a child.  Returns its exit status, or -1 - signal. */
int child_wait(pid_t pid);

/* Plays a role when the program is run as `probe --role=NAME [ARGUMENT...]`:
 * roles for its own probes, and one for the runner.  NAME is part of the option
 * since a #! line passes only one argument.  Returns the exit status. */
int role_play(const char *name, char **arguments);

/* Runs `program` (this one or a copy of it) in a role, with one argument.
 * Returns its exit status; -1 - signal if it was killed; 126 if it could not be
 * run. */
int role_run(const char *program, const char *role, const char *argument);

/* Makes an executable copy of this program.  Returns 0, or -1 with errno. */
int role_copy(const char *path);

/* The role "hand-exe" sends its descriptor over the socket with this number. */
#define ROLE_SOCKET 3

/* Sends one descriptor over a unix socket.  Returns 0, or -1 with errno. */
int socket_send_fd(int sock, int fd);
/* The same for several, at most SEND_MOST, in one message. */
#define SEND_MOST 253 /* SCM_MAX_FD, unix(7) */
int socket_send_fds(int sock, const int *fds, unsigned count);
/* The same as socket_send_fds(), but waits for room. */
int socket_wait_send_fds(int sock, const int *fds, unsigned count);

/* Takes a descriptor that is already queued.  Returns it, CLOEXEC, or -1. */
int socket_take_fd(int sock);

/* Bits of the exit status of the role "status". */
enum role_status {
	ROLE_NNP = 1,	    /* no_new_privs is set */
	ROLE_FILTER = 2,    /* a seccomp filter is in force */
	ROLE_REFUSED = 4,   /* io_uring_setup is refused */
	ROLE_RAISED = 8,    /* an id was changed by the exec */
	ROLE_CAPABLE = 16,  /* the effective set is not empty */
};
