/* verbs -- the verbs of hutch image.
 *
 * Each takes the words after the verb, prints its errors itself, and returns
 * the exit code. */
#pragma once

int image_build_main(char **argv);
int image_commit_main(char **argv); /* the verb of hutch commit */
int image_copy_root_main(char **argv); /* a verb that is run by a launch */
int image_exists_main(char **argv);
int image_export_main(char **argv);
int image_fork_source_main(char **argv); /* a verb that is run by hutch fork */
int image_gc_main(char **argv);
int image_import_main(char **argv);
int image_inspect_main(char **argv);
int image_launch_pull_main(char **argv); /* a verb that is run by a launch */
int image_launch_ranged_main(char **argv); /* a verb that is run by a launch */
int image_ls_main(char **argv);
int image_pull_main(char **argv);
int image_quota_main(char **argv);
int image_rm_main(char **argv);
int image_runtime_build_main(char **argv);
int image_snapshot_main(char **argv); /* the verb of hutch snapshot */
int image_tag_main(char **argv);
int image_verify_main(char **argv);
