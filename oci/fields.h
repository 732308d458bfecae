/* fields -- reads members of JSON objects into typed, bounded values.
 *
 * An absent member leaves the value as it is; a member of another type or beyond its
 * bound is an error that names its place ("config.json.process.cwd: a string was
 * expected").  Unknown members are ignored, as the runtime specification demands. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_at;
struct list;

#define FIELDS_ITEMS_MAX 4096	     /* the bound of an array of a configuration */
#define FIELDS_FILE_MAX	 (16u << 20) /* the bound of a JSON file in bytes */

/* Borrows the text from the document. */
int fields_text(const struct json_at *object, const char *key, const char **ret,
		struct err *e);
int fields_bool(const struct json_at *object, const char *key, bool *ret, struct err *e);
int fields_int(const struct json_at *object, const char *key, int64_t *ret,
	       struct err *e);
int fields_u32(const struct json_at *object, const char *key, uint32_t *ret,
	       struct err *e);
/* Any unsigned number of 64 bits; -1 stands for the highest. */
int fields_u64(const struct json_at *object, const char *key, uint64_t *ret,
	       struct err *e);
/* Adds the strings of an array. */
int fields_list(const struct json_at *object, const char *key, struct list *ret,
		struct err *e);

/* Finds a member of the given type: 1, 0 if there is none, -1 with the error. */
int fields_object(const struct json_at *object, const char *key, struct json_at *ret,
		  struct err *e);
/* Finds an array and allocates room for its items of `size` bytes, zeroed: returns their
 * number; 0 with NULL if there is none; -1 with the error. */
int64_t fields_array(const struct json_at *object, const char *key, struct json_at *ret,
		     void *ret_items, size_t size, struct err *e);
