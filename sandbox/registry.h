/* registry -- the sandboxes that have a name.
 *
 * There is no daemon: the state folder is the registry, and a held lock is
 * liveness.  Below folder_path(FOLDER_STATE), all of it 0700 and ours:
 *
 *	NAME/		one live sandbox
 *	    id		a link that leads nowhere
 *	    lock	flock(2)ed by who sees to the sandbox: its supervisor and,
 *			sharing the descriptor, its janitor.  Holds an empty line;
 *			at the end the record, so that who waits can read it there
 *			whatever becomes of the folder, and so that a disk that is
 *			full has room for it
 *	    control.sock
 *	    info	one line of JSON, the caller's
 *	    status	one word
 *	    waiting	is there while nobody has taken the sandbox (control/lease.h)
 *	    log/
 *	.ended/WHEN-ID-NAME/	what is left of one: info, end (the record), log/
 *	.tmp/ID/	being made or removed; what nobody locks there is left over
 *
 * The folder NAME itself is locked too, by the supervisor alone (which also keeps
 * systemd-tmpfiles(8) from tidying up an old one in /tmp).  So there are three
 * cases: alive (both locks held), being tidied up by the janitor (`lock`
 * held: whoever wants the name waits for it), and left over by a supervisor that
 * was killed together with its janitor (neither: whoever comes across it moves it
 * to .ended with a record of its own and goes on).  A folder becomes visible as
 * NAME with both locks held and never gets them again, so nobody mistakes one
 * that was just made for one left over.
 *
 * A supervisor: registry_init, registry_create, janitor_start (sandbox/janitor.h),
 *	registry_listen, registry_set_status, registry_set_info, ...
 *	registry_end, janitor_dismiss.
 * A client: registry_connect, registry_list, registry_look, registry_wait, ...
 *
 * A process that the supervisor forks and that does not exec at once must close
 * the entry (registry_done), or the sandbox counts as alive as long as it is.
 *
 * Every function that takes a name refuses a malformed one (ERR_USAGE).  A name
 * that nobody has is ERR_NOT_FOUND, one that somebody has is ERR_EXISTS.  All that
 * is read here was written by ourselves; folders are opened relative to the state
 * folder, without following a link, and are refused (ERR_REFUSED) if they are not
 * ours or not 0700. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define REGISTRY_NAME_MAX  63
#define REGISTRY_ID_LEN	   12
#define REGISTRY_TEXT_MAX  65536 /* bytes of an info or a record */
#define REGISTRY_ENDED_MAX 100	 /* that are kept */

enum registry_status {
	REGISTRY_BUILDING, /* as made */
	REGISTRY_STARTING,
	REGISTRY_STARTED,
	REGISTRY_READY,
	REGISTRY_PAUSED,
	REGISTRY_STOPPING,
	REGISTRY_ENDED,
	REGISTRY_ERROR,
	REGISTRY_DISCONNECTED,
	REGISTRY_STATUS_COUNT
};

/* "building", "starting", ... */
const char *registry_status_name(enum registry_status status);

/* [A-Za-z0-9][A-Za-z0-9_.-]{0,62} */
bool registry_is_name(const char *name);
int registry_check_name(const char *name, struct err *e);
/* -1: what is called `of` can have no such name, and none of more than `max` bytes. */
int registry_refuse_name(const char *name, const char *of, unsigned max, struct err *e);

/* --- the supervisor's side ------------------------------------------------- */

/* One sandbox's place.  Its descriptors are owned; -1: not had. */
struct registry_entry {
	char name[REGISTRY_NAME_MAX + 1]; /* "": none */
	char id[REGISTRY_ID_LEN + 1];	  /* hexadecimal digits, random */
	int state;			  /* the state folder */
	int folder;			  /* NAME/ */
	int alive;			  /* its lock, the supervisor's own */
	int lock;			  /* NAME/lock, shared with the janitor */
};

void registry_init(struct registry_entry *r);

/* Makes NAME/, with its locks held and the status `building`.  The name of a live
 * sandbox is an error; one that is being tidied up is waited for. */
int registry_create(const char *name, struct registry_entry *r, struct err *e);

/* The same for one that has ended and lives again: it had that id.  ERR_BUSY: somebody
 * removes what is left of it. */
int registry_create_again(const char *name, const char *id, struct registry_entry *r,
			  struct err *e);

/* The same for one that is nobody's yet, which whoever sees it sees from the start. */
int registry_create_waiting(const char *name, struct registry_entry *r, struct err *e);

/* Lets go of the entry without ending it: for a child that is not the supervisor,
 * and for a client's.  In a supervisor, to be called after registry_end(). */
void registry_done(struct registry_entry *r);

/* Both replace what is there at once or leave it as it is.  The text is one line,
 * without its newline.  Set the info again after a rename if it tells the name. */
int registry_set_info(const struct registry_entry *r, const char *json, struct err *e);
int registry_set_status(const struct registry_entry *r, enum registry_status status,
			struct err *e);

/* Somebody has taken it: which takes no room anywhere. */
void registry_unset_waiting(const struct registry_entry *r);

/* The janitor need not be told. */
int registry_rename(struct registry_entry *r, const char *name, struct err *e);

/* A listening socket at NAME/control.sock, mode 0600, not blocking.  It is there
 * for clients only when it listens.  A descriptor, or -1. */
int registry_listen(const struct registry_entry *r, struct err *e);

enum registry_rest { REGISTRY_KEEP, REGISTRY_REMOVE };

/* Ends the entry: the name is free, who waits goes on and gets `record` (one line
 * of JSON, without its newline).  REGISTRY_KEEP leaves the rest in .ended, of which
 * the oldest are then removed; REGISTRY_REMOVE (--rm) nothing.  Even if it fails the
 * name is free, and a record of ours says what became of the given one. */
int registry_end(struct registry_entry *r, const char *record, enum registry_rest rest,
		 struct err *e);

/* The same for the janitor of a supervisor that was killed: the reason is "killed",
 * unless the supervisor got as far as writing a record.  The entry may have been
 * renamed or ended since the janitor was forked. */
void registry_end_killed(struct registry_entry *r);

/* --- the clients' side ----------------------------------------------------- */

/* What is known of a sandbox, without asking it. */
struct registry_item {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1];
	bool is_waiting;	     /* it was made ahead, and is nobody's */
	enum registry_status status; /* REGISTRY_ENDED: of those in .ended alone */
	int64_t ended_us;	     /* since 1970; 0: not ended */
	char *info;		     /* owned; NULL: none was written */
	char *record;		     /* owned; NULL: not ended */
};

void registry_item_done(struct registry_item *item);

struct registry_list {
	struct registry_item *items; /* owned */
	size_t count;
};

/* All live ones by name, then with `has_ended` the ended ones, the latest first; each
 * once, however often it was started again.
 * What was left over is ended on the way.  No state folder: an empty list. */
int registry_list(bool has_ended, struct registry_list *ret, struct err *e);
void registry_list_done(struct registry_list *list);

/* What a dead sandbox left by that name is tidied up, and who tidies it up is waited for,
 * so that a supervisor, which may open nothing of others (control/confine.h), can be asked
 * to take the name.  ERR_EXISTS: a live one has it. */
int registry_make_way(const char *name, struct err *e);

/* One live sandbox: its folder and id, no locks; release with registry_done(). */
int registry_open(const char *name, struct registry_entry *ret, struct err *e);
int registry_look(const char *name, struct registry_item *ret, struct err *e);

/* Of a live one with this id the name: 0, or -1: there is none. */
int registry_name_of(const char *id, char ret[REGISTRY_NAME_MAX + 1]);

/* A connection to its control socket, blocking.  One whose supervisor takes no
 * connection for ten seconds, or has no socket yet, is ERR_SYSTEM.  A descriptor,
 * or -1. */
int registry_connect(const char *name, struct err *e);

/* The latest ended one of this name, or the one with this id. */
int registry_find_ended(const char *name, struct registry_item *ret, struct err *e);

/* Removes all ended ones of this name, or the one with this id. */
int registry_forget(const char *name, struct err *e);

/* The folder of the logs of a live one, or else of the latest ended one.  A
 * descriptor, or -1. */
int registry_log(const char *name, struct err *e);

/* Blocks until the sandbox has ended and is tidied up, and gives its record,
 * allocated; at once for one that has ended already.  It waits in flock(2). */
int registry_wait(const char *name, char **ret_record, struct err *e);
