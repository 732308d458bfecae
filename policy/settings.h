/* settings -- a policy file, as the flags that it stands for.
 *
 * A policy is one JSON object (docs/policy.md, docs/policy.schema.json).  Everything that
 * `hutch create` can be told by a flag it can say by a key, and the other way round: so a
 * file is read into a list of settings, each a key, a text as the flag takes it, and who
 * says it, and the flags judge them (sandbox/cli/options.h).  What a policy means is
 * decided in one place.
 *
 * `extends` names what a file builds on: its settings come first.  A later one replaces an
 * earlier one of the same key, or of the same name in a map; a list adds to it, or replaces
 * it if it is written as {"replace": [...]}.
 *
 * A word without a '/' and without ".json" at its end is one of the profiles that hutch
 * has in it (policy/profiles); every other is the path of a file.  Relative paths in a file
 * are below its folder; in a profile below the working directory.  "~/" is $HOME. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

#define SETTINGS_VERSION   1
#define SETTINGS_BYTES_MAX (1u << 20)
#define SETTINGS_DEPTH_MAX 16  /* files that build on one another */
#define SETTINGS_FILES_MAX 256 /* of all, one counts each time that it is read */
#define SETTINGS_MAX	   8192

enum setting_type {
	SETTING_TEXT,	/* a string */
	SETTING_NUMBER, /* a number, or a string as the flag takes it */
	SETTING_YES,	/* true: the flag; false: not the flag */
	SETTING_LIST,	/* strings: the flag, for each */
	SETTING_MAP,	/* an object of strings: the flag, for each as KEY=VALUE */
	SETTING_OBJECTS /* objects: the flag, for each as its text */
};

struct setting_kind {
	const char *key;  /* "limits.memory" */
	const char *flag; /* "memory" */
	enum setting_type type;
	bool is_path; /* what it begins with is one of the host's */
};

struct setting {
	const struct setting_kind *kind;
	char *value;	    /* owned; of SETTING_YES "true" or "false" */
	const char *origin; /* borrowed from the settings: a profile, or a file as named */
};

struct settings {
	struct setting *items; /* owned; in the order of being said */
	size_t count, room;
	char **origins; /* owned, each owned */
	size_t origin_count;
};

/* All keys, in the order in which they are shown; ended by one without a key. */
extern const struct setting_kind setting_kinds[];

/* Reads `name` and what it extends; what was read before comes first.  ERR_USAGE and a sentence with the file and the place
 * in it: what is no JSON, an unknown key, a wrong type. */
int settings_read(struct settings *s, const char *name, struct err *e);
void settings_done(struct settings *s);

/* As if a file in the folder `origin` said it, behind all that is there: what a flag was
 * given.  A NULL value is that of a flag without one.  A flag that no key stands for is
 * passed over. */
int settings_say(struct settings *s, const char *flag, const char *value,
		 const char *origin, struct err *e);

/* Takes out what is said for a flag. */
void settings_forget(struct settings *s, const char *flag);

/* All of it as a policy file that says the same, allocated. */
char *settings_print(const struct settings *s);

/* The profiles: their names, ended by NULL; and what one says of itself, allocated. */
const char *const *settings_profiles(void);
char *settings_about(const char *profile);
/* Adds the patterns that one protects itself (policy/protect.h). */
void settings_protected(const char *profile, struct list *ret);
