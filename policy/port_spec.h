/* port_spec -- a port inside the sandbox that can be reached from the host:
 * `-p [[IP:]HOST:]GUEST`.
 *
 * 	8080:80			127.0.0.1:8080 leads to port 80 inside
 * 	0.0.0.0:8080:80		also every machine that reaches this host may connect
 * 	[::1]:8080:80		an IPv6 address stands in brackets
 * 	auto:80			a free port from PORT_SPEC_LOW to PORT_SPEC_HIGH
 * 	80, 0:80		the same, as docker writes it
 * 	127.0.0.1::80		the same of that address; also 127.0.0.1:0:80
 * 	8000-8099:80		a free port from 8000 to 8099
 * 	/run/app.sock:80	a unix socket that only its owner can use */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct policy;

/* The range from which `auto` takes a port; OpenHands uses the same one for an
 * agent's servers. */
#define PORT_SPEC_LOW  50000
#define PORT_SPEC_HIGH 59999
/* The most ports that one sandbox may publish. */
#define PORT_SPEC_MAX 64

struct port_spec {
	char *address;	    /* owned; the IP address, without brackets; NULL: a unix
			     * socket */
	char *path;	    /* owned; the absolute path of a unix socket; NULL: TCP */
	char *folder;	    /* owned; the path's folder after realpath(3), in which no
			     * symbolic link may be followed; NULL: not known */
	uint16_t low, high; /* the range of ports; low == high: only that port */
	uint16_t guest;
	char *from; /* owned: "-p 8080:80", for messages */
};

/* Returns the text that followed -p, borrowed. */
const char *port_spec_word(const struct port_spec *p);

/* Parses one of the forms above.  On failure *ret owns nothing. */
int port_spec_parse(const char *word, struct port_spec *ret, struct err *e);
void port_spec_done(struct port_spec *p);

/* Parses the text that follows -p and adds the result to the policy. */
int port_spec_add(struct policy *p, const char *word, struct err *e);

/* Refuses combinations of options in which no port can be published. */
int port_spec_check(const struct policy *p, struct err *e);
