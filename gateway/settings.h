/* settings -- refuses settings of hutch-serve that would fail at the first request.
 *
 * A server that starts with a wrong word would refuse each sandbox, and its operator would learn
 * that from clients. */
#pragma once

struct err;
struct serve;

/* Checks --image and the words behind "--" as `hutch create` does, the network of builds, and
 * that --host and --origin can be those of a request. */
int settings_check(const struct serve *s, struct err *e);
