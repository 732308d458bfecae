/* count -- what is in an unpacked layer: how much, and a sum by which a change shows.
 *
 * Strangers chose what is in it: it is work for a jail. */
#pragma once
#include <stdint.h>

struct err;
struct idmaps;

struct count {
	uint64_t entries, bytes; /* names; bytes of files, by each of their names */
	/* Of every path with its kind and mode, of files the size, of them and of links the
	 * time (FNV-1a, 64 bits): against accidents, not against somebody who means it. */
	uint64_t sum;
};

/* `folder` is borrowed.  What cannot be looked at is passed over, every time. */
int count_tree(int folder, struct count *ret, struct err *e);

/* The same in a jail, for whoever is in none. */
struct counting {
	int folder;	   /* borrowed, the caller's own */
	const char *below; /* the folder in it that is counted; NULL: itself */
	const struct idmaps *ranges; /* its files belong to ids of these, and nothing is
				      * passed over; NULL: to the caller */
};

int count_in_jail(const struct counting *c, struct count *ret, struct err *e);
