/* option_takes -- the functions of the table of options (options.h): each does what one
 * option, or a kind of options, asks for.  r->option is its row, r->words its operands. */
#pragma once

struct err;
struct reader;

/* Returns the descriptor that a word names; -1 with *e set. */
int take_parse_fd(const char *text, struct err *e);

/* Options that set a field of struct args, or change the environment. */
int take_flag(struct reader *r, struct err *e);
int take_all(struct reader *r, struct err *e);
int take_share_net(struct reader *r, struct err *e);
int take_text(struct reader *r, struct err *e);
int take_argv0(struct reader *r, struct err *e);
int take_fd(struct reader *r, struct err *e);
int take_seccomp(struct reader *r, struct err *e);
int take_add_seccomp(struct reader *r, struct err *e);
int take_id(struct reader *r, struct err *e);
int take_lock(struct reader *r, struct err *e);
int take_cap_add(struct reader *r, struct err *e);
int take_cap_drop(struct reader *r, struct err *e);
int take_label(struct reader *r, struct err *e);
int take_clearenv(struct reader *r, struct err *e);
int take_setenv(struct reader *r, struct err *e);
int take_unsetenv(struct reader *r, struct err *e);
int take_help(struct reader *r, struct err *e);
int take_version(struct reader *r, struct err *e);

/* Options that add an operation, and the modifiers of the next one. */
int take_perms(struct reader *r, struct err *e);
int take_size(struct reader *r, struct err *e);
int take_op(struct reader *r, struct err *e);
int take_fd_op(struct reader *r, struct err *e);
int take_chmod(struct reader *r, struct err *e);
int take_overlay_src(struct reader *r, struct err *e);
int take_overlay(struct reader *r, struct err *e);

/* --args, whose words are parsed in its place. */
int take_args(struct reader *r, struct err *e);
