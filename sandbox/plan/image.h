/* image -- plans the steps that make a root file system.
 *
 * The image "host" shows the host's programs and nothing of its users: /usr read-only, a
 * synthesized /etc with the harmless host entries that programs in /usr need, private
 * /tmp /var/tmp /run /home /workspace, a /dev with ten entries and a /proc of its own.
 * An image "dir:PATH" shows a directory, an image of the store shows its layers.  In
 * both, hutch's own files lie above the image, and the files that are written inside lie
 * above both. */
#pragma once
#include <stdint.h>

struct err;
struct list;
struct plan;
struct policy;

/* Adds the steps for everything below the root except the user's mounts. */
int image_plan(struct plan *p, const struct policy *policy, struct err *e);

/* Return the path of the image's shell, and the name of the host's time zone
 * for the TZ of programs inside.  Both texts are allocated. */
char *image_shell(const struct plan *p, const struct policy *policy);
char *image_timezone(void);

/* Lists the host's paths that the host image shows: the programs of the host,
 * and the entries of /etc that these programs need.  Some of the paths may not
 * exist.  `now` is that of etc_names_list(); 0: names are not kept for the next launch. */
int image_list_host(int64_t now, struct list *ret, struct err *e);
