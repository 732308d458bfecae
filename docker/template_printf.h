/* template_printf -- the function printf of templates.
 *
 * It knows %s, %v, %q, %d, %t and %%, a width, the flags - and 0, and a precision for
 * texts.  In Go a value that does not fit its verb is printed with the reason; here it is
 * an error. */
#pragma once

struct err;
struct json_view;
struct template_args;

int template_printf(struct template_args *a, struct json_view *ret, struct err *e);
