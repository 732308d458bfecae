/* image -- the steps that make a root file system.
 *
 * The host image shows the host's programs and nothing of its users: /usr
 * read-only, a synthesized /etc with the harmless host entries that /usr does
 * not work without, private /tmp /var/tmp /run /home /workspace, a /dev with
 * ten entries and a /proc of its own.  A dir: image shows a directory. */
#pragma once
#include <stdint.h>

struct err;
struct plan;
struct policy;

/* Everything below the root but what the user mounts. */
int image_plan_host(struct plan *p, const struct policy *policy, struct err *e);
int image_plan_dir(struct plan *p, const struct policy *policy, struct err *e);

/* What programs will find: the shell of the image, the host's time zone name.
 * Both allocated. */
char *image_shell(const struct policy *policy);
char *image_timezone(void);
