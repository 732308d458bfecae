/* state -- the folder of a container below --root, and what it says.
 *
 *	ROOT/ID/state.json	the container's process, bundle and cgroup
 *		config.json	a copy of the bundle's configuration
 *		start		the socket at which a created container waits
 *
 * No process of hutch's stays behind `create`: all that later verbs need is here.  The
 * process is known by its pid and its start time, so that a pid that was given again is
 * not taken for it.  Folders are made 0700; their user alone can speak with containers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups_place;
struct err;
struct list;

#define STATE_ID_MAX 255

enum state_status {
	STATE_CREATING,
	STATE_CREATED,
	STATE_RUNNING,
	STATE_PAUSED,
	STATE_STOPPED
};

struct state {
	char *id, *path;     /* owned; the path is that of the folder */
	int folder;	     /* owned */
	pid_t pid;	     /* on the host; 0: none yet */
	uint64_t born;	     /* the process's start time, as in /proc/PID/stat */
	char *bundle, *root; /* owned: absolute paths */
	char *cgroup;	     /* owned: the folder of its cgroup; NULL: none */
	char *v1;	     /* owned: the path of its cgroups of v1; NULL: none */
	char *scope;	     /* owned: the unit of systemd for it; NULL: none */
	char *created;	     /* owned: RFC 3339 */
	char *version;	     /* owned: ociVersion */
	char *annotations;   /* owned: a JSON object; NULL: none */
	bool is_ready;	     /* create has ended */
};

#define AUTO_STATE __attribute__((cleanup(state_done)))

/* Checks an id: letters, digits, "_", "+", "-" and, not first, ".". */
int state_check_id(const char *id, struct err *e);

/* Checks that the folder of --root, if there is one, is this user's, is no link, and cannot
 * be written by others: its files say which hooks run and which cgroup is killed. */
int state_check_root(const char *root, struct err *e);

/* Makes the folder ROOT/ID; ERR_EXISTS: there is one. */
int state_create(const char *root, const char *id, struct state *ret, struct err *e);
/* Opens the folder and reads it.  ERR_NOT_FOUND: "container 'ID' does not exist". */
int state_open(const char *root, const char *id, struct state *ret, struct err *e);
/* Lists the ids of the containers below the root, in order; none if there is no such folder.
 * A folder there that `create` has just made counts, too. */
int state_ids(const char *root, struct list *ret, struct err *e);
/* Notes the process, and writes state.json in one step (rename(2)). */
int state_save(struct state *s, struct err *e);
/* Keeps a copy of the configuration's text. */
int state_keep_config(const struct state *s, const char *text, size_t len, struct err *e);
void state_done(struct state *s);
/* Removes the folder. */
int state_remove(const struct state *s, struct err *e);

/* Returns where its cgroups are; the texts stay the state's. */
struct cgroups_place state_place(const struct state *s);
/* Notes where they are; the texts become the state's. */
void state_set_place(struct state *s, const struct cgroups_place *p);

enum state_status state_status(const struct state *s);
const char *state_word(enum state_status status);
/* Reads a process's start time; 0: there is no such process, or it is a zombie. */
uint64_t state_birth(pid_t pid);
/* Returns the state as the specification has it, allocated. */
char *state_json(const struct state *s, enum state_status status);
/* Returns the path of the copy of the configuration, allocated. */
char *state_config_path(const struct state *s);
