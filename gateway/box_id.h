/* box_id -- ids of the sandboxes of hutch-serve: `r` and 16 hexadecimal digits, behind
 * the name of the pod and a hyphen where the server is one of several (--pod).
 *
 * hutch-route finds the pod of a request by its id, and keeps no table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/state/registry.h"

struct err;

#define BOX_ID_MAX     REGISTRY_NAME_MAX
#define BOX_ID_POD_MAX 40 /* bytes of a pod's name */
#define BOX_ID_DIGITS  16

/* Checks the name of a pod: lower-case letters, digits and hyphens inside, as Kubernetes
 * names those of a StatefulSet. */
int box_id_check_pod(const char *pod, struct err *e);

/* Makes an id of the pod, which may be NULL, and of BOX_ID_DIGITS hexadecimal digits. */
void box_id_make(const char *pod, const char *digits, char ret[BOX_ID_MAX + 1]);

/* Whether the text is an id that box_id_make() makes with this pod. */
bool box_id_is(const char *pod, const char *text);

/* Returns how many bytes of an id are its pod's name; 0: it has none, or it is no id. */
size_t box_id_pod(const char *id, size_t len);
