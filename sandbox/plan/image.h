/* image -- plans the steps that make a root file system.
 *
 * The host image shows the host's programs and nothing of its users: /usr
 * read-only, a synthesized /etc with the harmless host entries that /usr does
 * not work without, private /tmp /var/tmp /run /home /workspace, a /dev with
 * ten entries and a /proc of its own.  A dir: image shows a directory, an image
 * of the store its layers.  In both, the sandbox's own files lie between the
 * image and what is written. */
#pragma once
#include <stdint.h>

struct err;
struct list;
struct plan;
struct policy;

/* Plans everything below the root but what the user mounts. */
int image_plan(struct plan *p, const struct policy *policy, struct err *e);

/* The shell of the image and the host's time zone name, for programs to find.
 * Both allocated. */
char *image_shell(const struct plan *p, const struct policy *policy);
char *image_timezone(void);

/* Lists the paths of this host that the host image shows: its programs, and the
 * entries of /etc that they need.  Some of them may not exist. */
int image_list_host(struct list *ret, struct err *e);
