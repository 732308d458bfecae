/* registry_look -- how the parts of the registry that serve clients find a sandbox, live or
 * ended.  Clients include registry.h. */
#pragma once
#include "sandbox/state/registry.h"

struct list;

/* Opens the state folder without making it; where there is none, no sandbox has a name. */
int registry_state_of(const char *name, struct err *e);

/* Finds the folder of a sandbox, which may be dead, and returns 0. */
int registry_find_folder(const char *name, struct registry_entry *ret, struct err *e);

/* Reads the status of a live sandbox. */
enum registry_status registry_read_status(int folder);

/* Reads a live sandbox, whose folder is open. */
void registry_read_live(const struct registry_entry *r, struct registry_item *ret);

/* Opens the folder .ended and lists the sandboxes in it with this name or id, the latest
 * first; NULL: all.  -1 with an empty list: there is no such folder. */
int registry_all_ended(int state, const char *name, struct list *ret);

/* Reads an ended sandbox.  A sandbox that another process removes meanwhile counts as
 * absent. */
int registry_read_ended(int ended, const char *name, struct registry_item *ret);
