#include "rootfs-tools/index/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/launch_config.h"
#include "tests/unit/in_store.h"

#define OCI    "application/vnd.oci.image."
#define DOCKER "application/vnd.docker."

#define SHA(hex)	  "\"digest\":\"sha256:" hex "\""
#define OF(type, hex)	  "{\"mediaType\":\"" type "\"," SHA(hex) ",\"size\":7}"
#define CONFIG		  "\"config\":" OF(OCI "config.v1+json", HEX_A)
#define LAYER		  OF(OCI "layer.v1.tar+gzip", HEX_B)
#define MANIFEST(members) "{\"schemaVersion\":2," members "}"
#define INDEX(entries)	  "{\"schemaVersion\":2,\"manifests\":[" entries "]}"
#define ENTRY(hex, os, architecture, variant)                                \
	"{\"mediaType\":\"" OCI                                              \
	"manifest.v1+json\"," SHA(hex) ",\"size\":7,\"platform\":"           \
				       "{\"os\":\"" os                       \
				       "\",\"architecture\":\"" architecture \
				       "\"" variant "}}"

/* --- which one it is ----------------------------------------------------------- */

static const struct {
	const char *text, *media_type;
	int kind; /* kind of the document; -1: it is refused */
	const char *says;
} kinds[] = {
	{ MANIFEST(CONFIG ",\"layers\":[]"), NULL, DOCUMENT_MANIFEST, NULL },
	{ MANIFEST(CONFIG ",\"layers\":[]"), OCI "manifest.v1+json", DOCUMENT_MANIFEST,
	  NULL },
	{ MANIFEST(CONFIG ",\"layers\":[]"), OCI "manifest.v1+json; charset=x",
	  DOCUMENT_MANIFEST, NULL },
	{ MANIFEST(CONFIG ",\"layers\":[]"), DOCKER "distribution.manifest.v2+json",
	  DOCUMENT_MANIFEST, NULL },
	{ INDEX(""), NULL, DOCUMENT_INDEX, NULL },
	{ INDEX(""), DOCKER "distribution.manifest.list.v2+json", DOCUMENT_INDEX, NULL },
	/* Media type and content disagree. */
	{ MANIFEST(CONFIG ",\"layers\":[]"), OCI "index.v1+json", -1,
	  "is a manifest, and" },
	{ INDEX(""), OCI "manifest.v1+json", -1, "is an index, and" },
	{ MANIFEST("\"mediaType\":\"" OCI "index.v1+json\"," CONFIG ",\"layers\":[]"),
	  NULL, -1, "is a manifest, and" },
	{ MANIFEST(CONFIG ",\"layers\":[],\"manifests\":[]"), NULL, -1, "both" },
	{ MANIFEST("\"manifests\":[]," CONFIG), OCI "index.v1+json", -1, "both" },
	/* Other documents. */
	{ "{}", NULL, -1, "no schemaVersion" },
	{ MANIFEST("\"x\":1"), NULL, -1, "neither" },
	{ "[]", NULL, -1, "object" },
	{ "{\"schemaVersion\":3}", NULL, -1, "3, and 2 is known" },
	{ "{\"schemaVersion\":1,\"fsLayers\":[]}", NULL, -1, "schema 1" },
	{ MANIFEST("\"fsLayers\":[]"), NULL, -1, "schema 1" },
	{ INDEX(""), DOCKER "distribution.manifest.v1+prettyjws", -1, "schema 1" },
	{ INDEX(""), "text/html", -1, "'text/html'" },
	{ MANIFEST("\"mediaType\":1," CONFIG), NULL, -1, "string" },
	{ "<html>", NULL, -1, "line 1" },
	{ "", NULL, -1, "manifest" },
};

static void test_a_document_is_what_all_of_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		enum document_kind kind = 77;
		struct err e = { 0 };
		int rc = document_kind(kinds[i].text, strlen(kinds[i].text),
				       kinds[i].media_type, &kind, &e);
		if (rc < 0 && (kinds[i].kind >= 0 || !strstr(e.text, kinds[i].says)))
			fail_msg("number %zu: %s", i, e.text);
		assert_int_equal(rc < 0 ? -1 : (int)kind, kinds[i].kind);
	}
}

/* --- manifests ----------------------------------------------------------------- */

static void test_a_manifest_is_read(void **state)
{
	const char *text = MANIFEST(CONFIG ",\"layers\":[" LAYER ","
				    OF(DOCKER "image.rootfs.diff.tar.gzip", HEX_A) "]");
	struct manifest m;
	struct err e;

	(void)state;
	if (manifest_parse(text, strlen(text), &m, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(m.config.digest.hex, HEX_A);
	assert_int_equal(m.config.size, 7);
	assert_int_equal(m.layer_count, 2);
	assert_string_equal(m.layers[0].digest.hex, HEX_B);
	assert_string_equal(m.layers[0].media_type, OCI "layer.v1.tar+gzip");
	assert_string_equal(m.layers[1].digest.hex, HEX_A);
	manifest_done(&m);
}

static const struct {
	const char *text, *says;
} bad_manifests[] = {
	{ INDEX(""), "is an index" },
	{ MANIFEST("\"layers\":[]"), "no config" },
	{ MANIFEST(CONFIG), "no layers" },
	{ MANIFEST(CONFIG ",\"layers\":{}"), "array" },
	{ MANIFEST(CONFIG ",\"layers\":[1]"), "layers[0]" },
	{ MANIFEST(CONFIG ",\"layers\":[{}]"), "layers[0] has no mediaType" },
	{ MANIFEST(CONFIG ",\"layers\":[" LAYER "," OF(OCI "layer.v2", HEX_A) "]"),
	  "layers[1] is of the media type '" OCI "layer.v2'" },
	{ MANIFEST(CONFIG ",\"layers\":[" OF(OCI "config.v1+json", HEX_A) "]"),
	  "a layer" },
	{ MANIFEST(CONFIG ",\"layers\":[" OF(OCI "layer.nondistributable.v1.tar+gzip",
					     HEX_A) "]"),
	  "layers[0] may not be distributed" },
	{ MANIFEST(CONFIG ",\"layers\":[" OF(DOCKER "image.rootfs.foreign.diff.tar.gzip",
					     HEX_A) "]"),
	  "may not be distributed" },
	{ MANIFEST("\"config\":" OF("application/vnd.cncf.helm.config.v1+json",
				    HEX_A) ",\"layers\":[]"),
	  "helm" },
	{ MANIFEST("\"config\":{\"mediaType\":\"" OCI
		   "config.v1+json\"," SHA(HEX_A) ",\"size\":4194305},\"layers\":[]"),
	  "4194305 bytes" },
	{ MANIFEST("\"config\":{\"mediaType\":\"" OCI
		   "config.v1+json\"," SHA(HEX_A) ",\"size\":-1},\"layers\":[]"),
	  "size" },
	{ MANIFEST("\"config\":{\"mediaType\":\"" OCI "config.v1+json\","
		   "\"digest\":\"sha512:" HEX_A HEX_A "\",\"size\":1},\"layers\":[]"),
	  "algorithm" },
	{ MANIFEST(
		  "\"config\":{\"mediaType\":\"" OCI "config.v1+json\","
		  "\"digest\":\"sha256:../../../../../etc/passwd\",\"size\":1},\"layers\":[]"),
	  "no digest" },
};

static void test_a_hostile_manifest_is_refused_in_a_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad_manifests); i++) {
		struct manifest m = { .layer_count = 77 };
		struct err e = { 0 };
		const char *text = bad_manifests[i].text;
		if (manifest_parse(text, strlen(text), &m, &e) == 0)
			fail_msg("number %zu was taken", i);
		if (!strstr(e.text, bad_manifests[i].says))
			fail_msg("number %zu: %s", i, e.text);
		assert_int_equal(m.layer_count, 77);
	}
}

static void test_there_are_no_more_layers_than_a_kernel_takes(void **state)
{
	(void)state;
	for (int count = IMAGE_LAYERS_MAX; count <= 10000; count += 9500) {
		AUTO_FREE char *text =
			text_copy("{\"schemaVersion\":2," CONFIG ",\"layers\":[");
		size_t len = strlen(text), each = strlen(LAYER) + 1;
		text = realloc(text, len + (size_t)count * each + 2);
		assert_non_null(text);
		for (int i = 0; i < count; i++)
			len += (size_t)sprintf(text + len, "%s%s", LAYER,
					       i + 1 < count ? "," : "]}");
		struct manifest m = { 0 };
		struct err e = { 0 };
		int rc = manifest_parse(text, len - 0, &m, &e);
		assert_int_equal(rc, count == IMAGE_LAYERS_MAX ? 0 : -1);
		if (rc < 0)
			assert_int_equal(e.kind, ERR_LIMIT);
		manifest_done(&m);
	}
}

/* --- indexes ------------------------------------------------------------------- */

#define ALL INDEX(ENTRY(HEX_A, "linux", "amd64", "") "," \
		  ENTRY(HEX_B, "linux", "arm64", ",\"variant\":\"v8\"") "," \
		  ENTRY(HEX_A, "linux", "arm", ",\"variant\":\"v7\"") "," \
		  ENTRY(HEX_B, "windows", "amd64", "") "," \
		  ENTRY(HEX_A, "unknown", "unknown", ""))

static const struct {
	const char *text, *platform, *hex; /* NULL: an error */
	const char *says;
} choices[] = {
	{ ALL, "linux/amd64", HEX_A, NULL },
	{ ALL, "linux/amd64/v1", HEX_A, NULL },
	{ ALL, "linux/arm64", HEX_B, NULL },
	{ ALL, "linux/arm64/v8", HEX_B, NULL },
	{ ALL, "linux/arm/v7", HEX_A, NULL },
	{ ALL, "windows/amd64", HEX_B, NULL },
	{ ALL, "linux/arm/v6", NULL,
	  "no image for linux/arm/v6 here, but: linux/amd64, linux/arm64/v8, linux/arm/v7, "
	  "windows/amd64" },
	{ ALL, "linux/s390x", NULL, "no image for linux/s390x" },
	{ INDEX(""), "linux/amd64", NULL, "but: none" },
	/* umoci and skopeo write indexes without a platform. */
	{ INDEX(OF(OCI "manifest.v1+json", HEX_B)), "linux/amd64", HEX_B, NULL },
	{ INDEX(OF(OCI "manifest.v1+json", HEX_B) "," ENTRY(HEX_A, "linux", "amd64", "")),
	  "linux/amd64", HEX_A, NULL },
	{ INDEX(OF("text/plain", HEX_B)), "linux/amd64", NULL, "but: none" },
	{ INDEX("1"), "linux/amd64", NULL, "manifests[0]" },
	{ INDEX("{\"mediaType\":\"x\"}"), "linux/amd64", NULL, "no digest" },
	{ MANIFEST(CONFIG ",\"layers\":[]"), "linux/amd64", NULL, "is a manifest" },
};

static void test_an_index_has_one_for_each_platform(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		struct platform p;
		struct descriptor d = { .size = 77 };
		struct err e = { 0 };
		assert_int_equal(platform_parse(choices[i].platform, &p, &e), 0);
		int rc = index_choose(choices[i].text, strlen(choices[i].text), &p, &d,
				      &e);
		if (rc < 0 && (choices[i].hex || !strstr(e.text, choices[i].says)))
			fail_msg("number %zu: %s", i, e.text);
		assert_int_equal(rc, choices[i].hex ? 0 : -1);
		if (rc == 0)
			assert_string_equal(d.digest.hex, choices[i].hex);
		else
			assert_int_equal(d.size, 77);
	}
}

static void test_a_platform_has_two_or_three_parts(void **state)
{
	static const char *const bad[] = {
		"",
		"linux",
		"linux/",
		"/amd64",
		"linux//v8",
		"linux/arm/v7/x",
		"linux/arm/",
		"Linux/amd64",
		"linux/amd 64",
		"linux/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	};
	struct platform p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (platform_parse(bad[i], &p, NULL) == 0)
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(platform_parse("linux/arm/v7", &p, NULL), 0);
	assert_string_equal(p.variant, "v7");
	platform_here(&p);
	assert_string_equal(p.os, "linux");
	assert_true(p.architecture[0]);
}

/* --- configurations ------------------------------------------------------------ */

static void test_a_configuration_is_read(void **state)
{
	const char *text =
		"{\"architecture\":\"amd64\",\"os\":\"linux\",\"created\":"
		"\"2026-01-01T01:00:00.5+01:00\",\"config\":{\"User\":\"me:0\",\"Env\":["
		"\"A=b\",\"C=\"],\"Entrypoint\":[\"/init\"],\"Cmd\":[\"a\",\"\"],"
		"\"WorkingDir\":\"srv\",\"StopSignal\":\"SIGINT\",\"Labels\":{\"x\":\"y\"},"
		"\"ExposedPorts\":null},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":["
		"\"sha256:" HEX_B "\",\"sha256:" HEX_A "\"]},\"history\":[{}]}";
	struct list ids = { 0 };
	struct launch_config r;
	struct err e;

	(void)state;
	launch_config_init(&r);
	if (config_parse(text, strlen(text), &r, &ids, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(r.architecture, "amd64");
	assert_string_equal(r.user, "me:0");
	assert_int_equal(r.env.count, 2);
	assert_string_equal(r.env.items[1], "C=");
	assert_string_equal(r.entrypoint.items[0], "/init");
	assert_int_equal(r.cmd.count, 2);
	assert_string_equal(r.workdir, "/srv");
	assert_string_equal(r.stop_signal, "SIGINT");
	assert_int_equal(r.created, 1767225600);
	assert_int_equal(ids.count, 2);
	assert_string_equal(ids.items[0], HEX_B);
	list_done(&ids);
	launch_config_done(&r);
}

static void test_little_is_needed(void **state)
{
	static const char *const good[] = {
		"{}",
		"{\"config\":null}",
		"{\"config\":{}}",
		"{\"created\":\"yesterday\"}",
		"{\"config\":{\"Env\":null,\"Cmd\":null,\"User\":\"\",\"WorkingDir\":\"\"}}",
		"{\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct list ids = { 0 };
		struct launch_config r;
		struct err e;
		launch_config_init(&r);
		if (config_parse(good[i], strlen(good[i]), &r, &ids, &e) < 0)
			fail_msg("%s: %s", good[i], e.text);
		assert_null(r.user);
		assert_null(r.workdir);
		assert_int_equal(r.created, 0);
		assert_int_equal(ids.count, 0);
		launch_config_done(&r);
	}
}

static void test_a_hostile_configuration_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "[]", "object" },
		{ "{\"os\":\"windows\"}", "for windows" },
		{ "{\"os\":1}", "string" },
		{ "{\"config\":[]}", "object" },
		{ "{\"config\":{\"Env\":[\"A\"]}}", "NAME=value" },
		{ "{\"config\":{\"Env\":[\"=x\"]}}", "NAME=value" },
		{ "{\"config\":{\"Env\":{}}}", "array" },
		{ "{\"config\":{\"Env\":[1]}}", "Env[0]" },
		{ "{\"config\":{\"Cmd\":\"ls\"}}", "array" },
		{ "{\"config\":{\"User\":\"a\\nroot:x:0\"}}", "no word" },
		{ "{\"config\":{\"StopSignal\":\"\\u001b[2J\"}}", "no word" },
		{ "{\"config\":{\"Env\":[\"A=\\u0000\"]}}", "line 1" },
		{ "{\"config\":{},\"config\":{}}", "config" },
		{ "{\"rootfs\":{\"diff_ids\":[\"sha256:x\"]}}", "diff_ids[0]" },
		{ "{\"rootfs\":{\"diff_ids\":[1]}}", "diff_ids[0]" },
		{ "{\"rootfs\":{\"diff_ids\":{}}}", "array" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct list ids = { 0 };
		struct launch_config r;
		struct err e = { 0 };
		launch_config_init(&r);
		if (config_parse(bad[i].text, strlen(bad[i].text), &r, &ids, &e) == 0)
			fail_msg("%s was taken", bad[i].text);
		if (!strstr(e.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, e.text);
		list_done(&ids);
		launch_config_done(&r);
	}
}

static void test_a_word_is_no_longer_than_one_can_be_handed_on(void **state)
{
	AUTO_FREE char *text =
		text_format("{\"config\":{\"Env\":[\"A=%0*d\"]}}", 1 << 20, 0);
	struct list ids = { 0 };
	struct launch_config r;
	struct err e;

	(void)state;
	launch_config_init(&r);
	assert_int_equal(config_parse(text, strlen(text), &r, &ids, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	launch_config_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_document_is_what_all_of_it_says),
		cmocka_unit_test(test_a_manifest_is_read),
		cmocka_unit_test(test_a_hostile_manifest_is_refused_in_a_sentence),
		cmocka_unit_test(test_there_are_no_more_layers_than_a_kernel_takes),
		cmocka_unit_test(test_an_index_has_one_for_each_platform),
		cmocka_unit_test(test_a_platform_has_two_or_three_parts),
		cmocka_unit_test(test_a_configuration_is_read),
		cmocka_unit_test(test_little_is_needed),
		cmocka_unit_test(test_a_hostile_configuration_is_refused),
		cmocka_unit_test(test_a_word_is_no_longer_than_one_can_be_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
