/* policy_file -- reads a policy file into the flags that it stands for.
 *
 * A policy is one JSON object (docs/policy.md, docs/policy.schema.json).  Each flag of
 * `hutch create` has a key and each key a flag, so a file is read into a list of
 * settings: each has a key, a text in the flag's form, and its origin.  The flags'
 * parser then checks them (cli/common/options.h), so that only one place defines their
 * meaning.
 *
 * `extends` names the policies on which a file builds; their settings come before the
 * file's own.  A later setting replaces an earlier one with the same key or, in a map,
 * with the same name.  A list is appended to the earlier list, unless it is written as
 * {"replace": [...]}.
 *
 * A name without a '/' and without ".json" at its end is one of the profiles that are
 * part of hutch (policy/profiles); any other name is the path of a file.  Relative
 * paths in a file are relative to the file's folder; those in a profile, to the working
 * directory.  "~/" is $HOME. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

#define POLICY_FILE_VERSION   1
#define POLICY_FILE_BYTES_MAX (1u << 20)
#define POLICY_FILE_DEPTH_MAX 16  /* the longest chain of files that extend one another */
#define POLICY_FILE_FILES_MAX 256 /* the most files that are read; a file that is read
				   * twice counts twice */
#define POLICY_FILE_MAX	   8192

enum setting_type {
	SETTING_TEXT,	/* the value is a string */
	SETTING_NUMBER, /* the value is a number, or a string in the flag's syntax */
	SETTING_YES,	/* the value is true if the flag is given, or false if not */
	SETTING_LIST,	/* the value is an array of strings: the flag is given once for
			 * each */
	SETTING_MAP,	/* the value is an object of strings: the flag is given once for
			 * each, as KEY=VALUE */
	SETTING_OBJECTS /* the value is an array of objects: the flag is given once for
			 * each, with the object's JSON text */
};

struct setting_kind {
	const char *key;  /* the key in the file, such as "limits.memory" */
	const char *flag; /* the flag without dashes, such as "memory" */
	enum setting_type type;
	bool is_path; /* the value begins with a path on the host */
};

struct setting {
	const struct setting_kind *kind;
	char *value;	    /* owned; for SETTING_YES "true" or "false" */
	const char *origin; /* borrowed from `origins`: the name of the profile or file
			     * that has the setting */
};

struct policy_file {
	struct setting *items; /* owned; the settings, in the order in which they were
			        * read */
	size_t count, room;
	char **origins; /* owned, each text owned; the names to which settings point as
			 * their origin */
	size_t origin_count;
};

/* All keys, in the order of printing; the last row has no key. */
extern const struct setting_kind setting_kinds[];

/* Reads the policy `name` and the policies that it extends, and appends their settings.
 * ERR_USAGE, with the file and the location in it: invalid JSON, an unknown key, or a
 * value of the wrong type. */
int policy_file_read(struct policy_file *s, const char *name, struct err *e);
void policy_file_done(struct policy_file *s);

/* Adds a flag and its value after all other settings, as if a policy file in the folder
 * `origin` contained them.  A NULL `value` is for a flag without a value.  A flag that
 * has no key is ignored. */
int policy_file_say(struct policy_file *s, const char *flag, const char *value,
		 const char *origin, struct err *e);

/* Removes all settings of a flag. */
void policy_file_forget(struct policy_file *s, const char *flag);

/* Prints all settings as an equivalent policy file, allocated. */
char *settings_print(const struct policy_file *s);

/* policy_file_profiles() returns the names of the profiles, ended by NULL;
 * policy_file_about() returns a profile's description of itself, allocated. */
const char *const *policy_file_profiles(void);
char *policy_file_about(const char *profile);
/* Adds the protected patterns that a profile itself contains (policy/protect.h),
 * without those of policies that it extends. */
void policy_file_protected(const char *profile, struct list *ret);
