/* list_format -- --format of lists: json, a template, or `table` in front of a template.
 *
 *	list_format_read	once
 *	list_format_add		for each row; prints it, or keeps it for the table
 *	list_format_print	prints the table
 *	list_format_done
 *
 * The columns of a table are what the template has between its tabs, as wide as docker's. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;

/* A column's name in templates, and its head in a table. */
struct list_format_head {
	const char *name, *head;
};

struct list_format {
	const char *template; /* NULL: none, the list has columns of its own */
	bool is_table;
	struct list lines; /* owned: the rows of the table, its head first */
	char *text;	   /* owned: the template is a part of it */
};

/* Reads the value of --format, or NULL.  `heads` ends with a row without a name. */
int list_format_read(struct list_format *f, const char *given,
		     const struct list_format_head *heads, struct err *e);
/* Takes a row, docker's object. */
int list_format_add(struct list_format *f, const char *row, struct err *e);
void list_format_print(const struct list_format *f);
void list_format_done(struct list_format *f);
