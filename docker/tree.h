/* tree -- what hutch says of a sandbox or an image, in docker's form. */
#pragma once

#include "cli/common/json_view.h"

/* Makes docker's object about a container of one that `hutch inspect` prints; allocated,
 * on one line.  The labels of its image stand below its own; `image_labels` may be no
 * value. */
char *tree_container(struct json_view info, struct json_view image_labels);
/* Makes docker's object about an image of one that `hutch image inspect` prints. */
char *tree_image(struct json_view info);

/* Returns the words of `docker ps` about the ports of a container, allocated:
 * "127.0.0.1:8080->80/tcp, ...". */
char *tree_ports(struct json_view info);
/* Returns the words of the main process with blanks between them, allocated; "": there is
 * none. */
char *tree_command(struct json_view info);
/* Returns the labels of a container as `docker ps` has them, "a=1,b=2"; allocated. */
char *tree_labels_line(struct json_view info);
struct buffer;
/* Writes an object of the labels of `below` and `labels`, of which the latter win. */
void tree_put_labels(struct buffer *b, const char *key, struct json_view below,
		     struct json_view labels);
/* Returns docker's word for the state of a sandbox: "running", "exited", ... */
const char *tree_status(struct json_view info);
/* Returns the exit code of one that has ended, or whose main process waits for its
 * restart; 0 else. */
int tree_exit_code(struct json_view info);
/* Returns the port inside that a row of `ports` leads to, and the address and port of
 * the host, allocated; *ret_ip is NULL for a unix socket, whose path is *ret_port. */
int tree_port(struct json_view row, char **ret_ip, char **ret_port);
