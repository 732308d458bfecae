/* image -- the steps that make a root file system.
 *
 * The host image shows the host's programs and nothing of its users: /usr
 * read-only, a synthesized /etc with the harmless host entries that /usr does
 * not work without, private /tmp /var/tmp /run /home /workspace, a /dev with
 * ten entries and a /proc of its own.  A dir: image shows a directory, one of the store
 * its layers, each with what is the sandbox's own in between it and what is written. */
#pragma once
#include <stdint.h>

struct err;
struct list;
struct plan;
struct policy;

/* Everything below the root but what the user mounts. */
int image_plan(struct plan *p, const struct policy *policy, struct err *e);

/* What programs will find: the shell of the image, the host's time zone name.
 * Both allocated. */
char *image_shell(const struct plan *p, const struct policy *policy);
char *image_timezone(void);

/* What the host image shows of this host: its programs, and what of /etc they need.  Not
 * all of it is there. */
int image_list_host(struct list *ret, struct err *e);
