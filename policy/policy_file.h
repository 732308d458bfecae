/* policy_file -- reads a policy file into the flags that it stands for.
 *
 * A policy is one JSON object (docs/policy.md, docs/policy.schema.json).  Each flag
 * of `hutch create` has a key and each key a flag, so a file is read into a list of
 * settings: each has a key, a text in the flag's form, and its origin.  The flags'
 * parser then checks them (cli/common/options.h), so that only one place defines
 * their meaning.
 *
 * `extends` names the policy that a file builds on, whose settings come first.  A
 * later one replaces an earlier one of the same key, or of the same name in a map; a
 * list adds to it, or replaces it if it is written as {"replace": [...]}.
 *
 * A name without a '/' and without ".json" at its end is one of the profiles that are
 * part of hutch (policy/profiles); any other name is the path of a file.  Relative
 * paths in a file are below its folder; in a profile below the working directory.
 * "~/" is $HOME. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

#define POLICY_FILE_VERSION   1
#define POLICY_FILE_BYTES_MAX (1u << 20)
#define POLICY_FILE_DEPTH_MAX 16  /* the most files that extend one another */
#define POLICY_FILE_FILES_MAX 256 /* the most files in all; a file counts each time
				   * that it is read */
#define POLICY_FILE_MAX	   8192

enum setting_type {
	SETTING_TEXT,	/* the value is a string */
	SETTING_NUMBER, /* the value is a number, or a string as the flag takes it */
	SETTING_YES,	/* the value is true: the flag is given; or false: it is not */
	SETTING_LIST,	/* the value is strings: the flag is given for each */
	SETTING_MAP,	/* the value is an object of strings: the flag is given for
			 * each, as KEY=VALUE */
	SETTING_OBJECTS /* the value is objects: the flag is given for each, as its
			 * text */
};

struct setting_kind {
	const char *key;  /* the key in the file, such as "limits.memory" */
	const char *flag; /* the flag without dashes, such as "memory" */
	enum setting_type type;
	bool is_path; /* the value begins with a path of the host */
};

struct setting {
	const struct setting_kind *kind;
	char *value;	    /* owned; of SETTING_YES "true" or "false" */
	const char *origin; /* borrowed from the settings: a profile, or a file as it was
			     * named */
};

struct policy_file {
	struct setting *items; /* owned; the settings, in the order in which they were
			        * read */
	size_t count, room;
	char **origins; /* owned, each text owned; the origins that settings name */
	size_t origin_count;
};

/* All keys, in the order in which they are printed; ended by a row without a key. */
extern const struct setting_kind setting_kinds[];

/* Reads `name` and the policies that it extends, behind the settings that are there
 * already.  ERR_USAGE, naming the file and the place in it: invalid JSON, an unknown
 * key, a wrong type. */
int policy_file_read(struct policy_file *s, const char *name, struct err *e);
void policy_file_done(struct policy_file *s);

/* Adds a flag and its value behind all settings that are there, as if a file in the
 * folder `origin` had them.  A NULL value is that of a flag without one.  A flag
 * without a key is ignored. */
int policy_file_say(struct policy_file *s, const char *flag, const char *value,
		 const char *origin, struct err *e);

/* Removes the settings of a flag. */
void policy_file_forget(struct policy_file *s, const char *flag);

/* Prints all settings as an equivalent policy file, allocated. */
char *settings_print(const struct policy_file *s);

/* Return the names of the profiles, ended by NULL; and the text that a profile has
 * about itself, allocated. */
const char *const *policy_file_profiles(void);
char *policy_file_about(const char *profile);
/* Adds the patterns that a profile itself protects (policy/protect.h). */
void policy_file_protected(const char *profile, struct list *ret);
