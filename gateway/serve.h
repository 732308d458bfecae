/* serve -- the settings of hutch-serve, from its command line. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define SERVE_LABEL \
	"hutch.serve" /* the label of a server's sandboxes; its value: the name */

struct serve {
	const char *hutch;			   /* the path of the program `hutch` */
	const char *name;			   /* of this server: --name */
	const char *listen;			   /* ADDRESS:PORT; NULL: none */
	const char *socket;			   /* a path; NULL: none */
	const char *key_file;			   /* NULL: the one in the state folder */
	const char *certificate, *certificate_key; /* files; NULL: no TLS */
	const char *image; /* the image of all sandboxes; NULL: that of the request */
	const char *url;   /* under which clients reach the server; NULL: by `listen` */
	struct list origins, hosts; /* further Origin and Host that are answered */
	struct list options;	    /* of `hutch create`, for each sandbox */
	const char *build_network;  /* the network of each RUN of a build; NULL: none */
	struct list build_allow;    /* the hosts that a RUN may connect to */
	uint64_t memory; /* bytes for a sandbox, times what its request says; 0: no limit */
	uint32_t cpus;	 /* the same, in thousandths of a CPU */
	uint64_t idle_ms;	    /* a sandbox without a request is paused; 0: never */
	unsigned connections;	    /* the most at once */
	uint64_t body_memory;	    /* bytes of all bodies that are collected */
	const char *pod;	    /* the beginning of all ids; NULL: none */
	uint64_t most_sandboxes;    /* at once; 0: no bound but BOXES_MAX */
	bool drains;		    /* stops the sandboxes at its end */
	uint64_t host_memory;	    /* bytes that this host has */
	unsigned host_cpus;	    /* that this host has */
	char key[129];		    /* the key of clients */
};
