/* request -- the head of a client's request, after http_head_parse() has accepted it: its
 * fields, its target, and the head that a pod gets.
 *
 * Source: RFC 9110, section 7.6.1; RFC 9112. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/http_head.h"

struct buffer;

/* A piece of the head. */
struct span {
	const char *at; /* NULL: it is absent */
	size_t len;
};

struct request {
	const struct http_head *head;
	const char *bytes;	 /* of the head; borrowed */
	struct span path, query; /* of the target, not decoded; without the "?" */
};

void request_init(struct request *r, const struct http_head *head, const uint8_t *bytes);

bool span_is(struct span s, const char *text);

/* Returns the value of the first field of this name. */
struct span request_field(const struct request *r, const char *name);

/* Takes the next component of a path off, without its slash; one that is absent has no
 * bytes. */
struct span request_component(struct span *path);

/* Writes the head for a pod.  The fields that are about this connection alone are left
 * out, and so is Expect where `has_body`, since the client was answered; "Connection:
 * close" makes it the pod's only request. */
void request_write(const struct request *r, bool has_body, struct buffer *to);

/* Writes a question of the router's own for a pod: GET of `target`, with the fields by
 * which the pod decides whether the client may ask. */
void request_write_question(const struct request *r, struct span target,
			    struct buffer *to);
