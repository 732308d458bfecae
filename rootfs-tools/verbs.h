/* verbs -- those of hutch image.
 *
 * Each takes the words behind the verb and returns the exit code; errors it prints
 * itself. */
#pragma once

int image_build_main(char **argv);
int image_commit_main(char **argv); /* hutch commit */
int image_copy_root_main(char **argv); /* of a launch, for itself */
int image_exists_main(char **argv);
int image_export_main(char **argv);
int image_fork_source_main(char **argv); /* of hutch fork, for itself */
int image_gc_main(char **argv);
int image_import_main(char **argv);
int image_inspect_main(char **argv);
int image_launch_pull_main(char **argv); /* of a launch, for itself */
int image_launch_ranged_main(char **argv); /* the same */
int image_ls_main(char **argv);
int image_pull_main(char **argv);
int image_quota_main(char **argv);
int image_rm_main(char **argv);
int image_runtime_build_main(char **argv);
int image_snapshot_main(char **argv); /* hutch snapshot */
int image_tag_main(char **argv);
int image_verify_main(char **argv);
