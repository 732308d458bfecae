/* registry -- the sandboxes that have a name.
 *
 * There is no daemon: the state folder is the registry, and a sandbox is alive if
 * its locks are held.  Below folder_path(FOLDER_STATE), all of it 0700 and ours:
 *
 *	NAME/		one live sandbox
 *	    id		a symbolic link whose text is the sandbox's id
 *	    lock	flock(2)ed by the supervisor and, sharing its descriptor, by
 *			the janitor; a record lock names the supervisor (holder.h).
 *			The content is an empty line, and after the sandbox's end the
 *			record of that end: a waiting process can read it here even if
 *			the folder was moved, and a full disk still has room for it
 *	    control.sock
 *	    info	one line of JSON (registry_set_info())
 *	    status	one word; there is none yet while the sandbox is being built
 *	    waiting	is there until a client takes the sandbox (supervisor/lease.h)
 *	    rm		is there if nothing of the sandbox is to stay after its end
 *	    log/
 *	.ended/WHEN-ID-NAME/	what an ended sandbox leaves: info, end (the record), log/
 *	.tmp/ID/	a folder that is being made or removed; left over if
 *			no process locks it
 *
 * The supervisor alone also locks the folder NAME itself (which keeps
 * systemd-tmpfiles(8) from tidying up an old one in /tmp).  So there are three
 * cases.  Both locks are held: the sandbox is alive.  Only `lock` is held: the
 * janitor tidies up, and a process that wants the name waits for it.  Neither
 * is held: the supervisor was killed together with its janitor, and the next
 * process that comes across the folder moves it to .ended with a record of its
 * own.  A folder becomes visible as NAME with both locks held, and once
 * released they are never taken again, so a folder that was just made is never
 * mistaken for one that was left over.
 *
 * A supervisor: registry_init, registry_create, janitor_start (sandbox/launch/janitor.h),
 *	registry_listen, registry_set_status, registry_set_info, ...
 *	registry_end, janitor_dismiss.
 * A client: registry_connect, registry_list, registry_look, registry_wait, ...
 *
 * A process that the supervisor forks and that does not exec at once must close
 * the entry (registry_done), or the sandbox counts as alive as long as that
 * process lives.
 *
 * Every function that takes a name refuses a malformed one (ERR_USAGE).  A name
 * that no sandbox has is ERR_NOT_FOUND, a name that is taken is ERR_EXISTS.
 * All files that are read here were written by hutch; folders are opened
 * relative to the state folder, without following a link, and are refused
 * (ERR_REFUSED) if they are not the user's or not 0700. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define REGISTRY_NAME_MAX  63
#define REGISTRY_ID_LEN	   12
#define REGISTRY_TEXT_MAX  65536 /* the most bytes of an info or a record */
#define REGISTRY_ENDED_MAX 100	 /* the most ended sandboxes that stay in .ended */

enum registry_status {
	REGISTRY_BUILDING, /* the status of an entry that was just made */
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

/* Returns the status as a word: "building", "starting", ... */
const char *registry_status_name(enum registry_status status);

/* A valid name is [A-Za-z0-9][A-Za-z0-9_.-]{0,62}. */
bool registry_is_name(const char *name);
int registry_check_name(const char *name, struct err *e);
/* Sets the error that `name` is not a valid name, and returns -1 (ERR_USAGE).  For
 * its text: `of` is the named object, such as "pool", and `max` the most bytes of a
 * name. */
int registry_refuse_name(const char *name, const char *of, unsigned max, struct err *e);

/* --- the supervisor's side ------------------------------------------------- */

/* One sandbox's place in the registry.  The descriptors are owned; -1: not
 * open. */
struct registry_entry {
	char name[REGISTRY_NAME_MAX + 1]; /* the sandbox's name; "": there is none */
	char id[REGISTRY_ID_LEN + 1];	  /* hexadecimal digits, random */
	int state;			  /* the state folder */
	int folder;			  /* the folder NAME/ */
	int alive;			  /* the folder NAME/, opened again for its
					   * lock, which the supervisor alone holds */
	int lock;			  /* the file NAME/lock; the janitor shares the
					   * lock that is on it */
};

void registry_init(struct registry_entry *r);

/* Makes NAME/, with its locks held and the status `building`.  The name of a
 * live sandbox is an error; while a dead one of that name is being tidied up
 * the call waits. */
int registry_create(const char *name, struct registry_entry *r, struct err *e);

/* Makes the entry of a sandbox that has ended and is started again, with its
 * old id.  ERR_BUSY: another process starts or removes it. */
int registry_create_again(const char *name, const char *id, struct registry_entry *r,
			  struct err *e);

/* Makes the entry of a sandbox that no client has taken yet.  The entry has that mark
 * from the moment when other processes can see it. */
int registry_create_waiting(const char *name, struct registry_entry *r, struct err *e);

/* Lets go of the entry without ending it: for a child that is not the
 * supervisor, and for a client's entry.  A supervisor calls it after
 * registry_end(). */
void registry_done(struct registry_entry *r);

/* Notes that nothing of the sandbox is to stay, also if its supervisor is killed: the next
 * process that comes across the folder removes it. */
int registry_leave_nothing(const struct registry_entry *r, struct err *e);

/* Both functions replace the old text at once or leave it as it is.  The text is one
 * line, without its newline.  After a rename, an info that contains the name must be
 * set again. */
int registry_set_info(const struct registry_entry *r, const char *json, struct err *e);
int registry_set_status(const struct registry_entry *r, enum registry_status status,
			struct err *e);

/* Notes that a client has taken the sandbox.  Needs no room on the disk. */
void registry_unset_waiting(const struct registry_entry *r);

/* Renames the sandbox.  The janitor need not be told, since it finds the new name by
 * the folder's descriptor. */
int registry_rename(struct registry_entry *r, const char *name, struct err *e);

/* Makes a listening socket at NAME/control.sock, mode 0600, not blocking.  Its
 * name appears only when it listens.  Returns a descriptor, or -1. */
int registry_listen(const struct registry_entry *r, struct err *e);

enum registry_rest { REGISTRY_KEEP, REGISTRY_REMOVE };

/* Ends the entry: the name is free, and waiting processes go on and get `record` (one
 * line of JSON, without its newline).  REGISTRY_KEEP moves the rest of the folder to
 * .ended, and removes the oldest entries there; REGISTRY_REMOVE (--rm) leaves
 * nothing.  Even if this fails, the name is free, and a record that is made here says
 * that `record` could not be written. */
int registry_end(struct registry_entry *r, const char *record, enum registry_rest rest,
		 struct err *e);

/* Ends the entry in the janitor of a supervisor that was killed: the reason is
 * "killed", unless the supervisor got as far as writing a record.  The entry
 * may have been renamed or ended since the janitor was forked. */
void registry_end_killed(struct registry_entry *r);

/* --- the clients' side ----------------------------------------------------- */

/* A sandbox as the registry knows it, without asking the supervisor. */
struct registry_item {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1];
	bool is_waiting;	     /* the sandbox was made before a client asked for
				      * one, and no client has it */
	enum registry_status status; /* REGISTRY_ENDED: the sandbox was found in .ended */
	int64_t ended_us;	     /* when the sandbox ended, in us since 1970; 0: it
				      * has not ended */
	char *info;		     /* owned; NULL: no info was written */
	char *record;		     /* owned; NULL: the sandbox has not ended */
};

void registry_item_done(struct registry_item *item);

struct registry_list {
	struct registry_item *items; /* owned */
	size_t count;
};

/* Lists all live sandboxes by name, then with `has_ended` the ended ones, the latest
 * first; each once, however often it was started again.  Tidies up after sandboxes
 * whose supervisor was killed.  Without a state folder, the list is empty. */
int registry_list(bool has_ended, struct registry_list *ret, struct err *e);
void registry_list_done(struct registry_list *list);

/* Removes what a dead sandbox of that name has left, or waits while another process
 * does that.  Clients call this before they ask a supervisor to take the name: a
 * confined supervisor cannot open folders of other sandboxes (supervisor/confine.h).
 * ERR_EXISTS: a live sandbox has the name. */
int registry_make_way(const char *name, struct err *e);

/* Opens one live sandbox: its folder and id, no locks; release it with
 * registry_done(). */
int registry_open(const char *name, struct registry_entry *ret, struct err *e);
int registry_look(const char *name, struct registry_item *ret, struct err *e);

/* Finds the name of the live sandbox with this id.  Returns 0, or -1: there is
 * none. */
int registry_name_of(const char *id, char ret[REGISTRY_NAME_MAX + 1]);

/* Connects to the sandbox's control socket.  A supervisor that accepts no
 * connection for ten seconds, or has no socket yet, is ERR_SYSTEM; one that has written
 * the record of its end counts as ended, ERR_NOT_FOUND.  Returns a blocking descriptor,
 * or -1.  The working directory is another one during the call, so the caller has one
 * thread. */
int registry_connect(const char *name, struct err *e);

/* Opens a pidfd of the supervisor of the live sandbox with this name and id, by its lock,
 * where there is no socket yet.  ERR_NOT_FOUND: it has ended; ERR_GONE: this process does not
 * see its supervisor, which is in another pid namespace. */
int registry_supervisor(const char *name, const char *id, struct err *e);

/* Opens a pidfd of the janitor (sandbox/launch/janitor.h) of the sandbox, whose supervisor may
 * have ended.  ERR_NOT_FOUND: no sandbox has the name; ERR_GONE: there is no janitor, or this
 * process does not see it. */
int registry_janitor(const char *name, struct err *e);

/* Finds the latest ended sandbox of this name, or the ended sandbox with this
 * id. */
int registry_find_ended(const char *name, struct registry_item *ret, struct err *e);

/* Removes all ended sandboxes of this name, or the ended sandbox with this id. */
int registry_forget(const char *name, struct err *e);

/* Opens the folder of the logs of a live sandbox, or else of the latest ended
 * one.  Returns a descriptor, or -1. */
int registry_log(const char *name, struct err *e);

/* Blocks in flock(2) until the sandbox has ended and is tidied up, and gives
 * its record, allocated; returns at once for one that has ended already. */
int registry_wait(const char *name, char **ret_record, struct err *e);
