/* files -- the uploads and downloads of the action server. */
#pragma once

struct http_part;
struct visit;

/* POST upload_file?destination=FOLDER[&recursive=true], a form with the part `file`: goes to a
 * spool, and from there as a tar into the sandbox. */
#define UPLOAD_MAX (4ull << 30)
void upload_begin(struct visit *v);
void upload_part(struct visit *v, const struct http_part *p);
void upload(struct visit *v);
void upload_closed(struct visit *v);

/* GET download_files?path=PATH: a zip of what is there. */
void download(struct visit *v);
void download_closed(struct visit *v);
