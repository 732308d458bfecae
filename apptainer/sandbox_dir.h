/* sandbox_dir -- the files of Apptainer in a folder that `build --sandbox` made:
 * /.singularity.d, which has the image's variables and its runscript.
 *
 * They are shell scripts, as Apptainer writes them, and a shell inside reads them.  So
 * folders that Apptainer made work here too, and whatever the inside writes into these
 * files is the inside's own affair. */
#pragma once
#include "cli/common/json_view.h"

struct err;
struct list;

#define SANDBOX_DIR   ".singularity.d"
#define SANDBOX_ENV   SANDBOX_DIR "/env"
#define SANDBOX_RUN   SANDBOX_DIR "/runscript"
#define SANDBOX_LABEL SANDBOX_DIR "/labels.json"

/* Writes the files into the folder `path`, in which no process runs yet; `info` is the
 * image as `hutch image inspect` prints it.  A folder that has the files already, since the
 * image was made of such a folder, keeps them.  /etc/hosts and /etc/resolv.conf are
 * written, too, if the image has none: hutch has no others for a folder that is shown as
 * it is. */
int sandbox_dir_write(const char *path, struct json_view info, struct err *e);

/* Adds the words that read the variables inside, set those of `env`, and execute the words
 * that follow. */
void sandbox_dir_enter(const struct list *env, struct list *ret);
