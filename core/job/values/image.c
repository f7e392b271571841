/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define IMAGE_LOWER "abcdefghijklmnopqrstuvwxyz"
#define IMAGE_UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define IMAGE_DIGITS "0123456789"
#define IMAGE_HEX IMAGE_DIGITS "abcdef"
/* Longest name without tag and digest, and longest tag, of the distribution's specification. */
#define IMAGE_NAME_MAX 255
#define IMAGE_TAG_MAX 128
/* Bytes of a digest in hexadecimal digits: of sha256, and the least of any other. */
#define IMAGE_SHA256 64
#define IMAGE_HEX_MIN 32

/* A reference, cut into its parts; none is terminated. */
struct image {
	const char *text;
	const char *name; /* after the registry */
	size_t registry;  /* bytes of it; 0: none */
	size_t length;    /* of the name */
	const char *tag;  /* NULL: none */
	size_t tag_length;
	const char *digest; /* NULL: none */
};

static size_t image_find(const char *text, size_t length, char c)
{
	const char *at = memchr(text, c, length);

	return at ? (size_t)(at - text) : length;
}

static size_t image_find_last(const char *text, size_t length, char c)
{
	const char *at = memrchr(text, c, length);

	return at ? (size_t)(at - text) : length;
}

static bool image_is_of(const char *text, size_t length, const char *set)
{
	for (size_t i = 0; i < length; i++) {
		if (!text[i] || !strchr(set, text[i]))
			return false;
	}
	return length > 0;
}

static bool image_is_registry(const char *text, size_t length)
{
	return image_find(text, length, '.') < length || image_find(text, length, ':') < length ||
	       (length == strlen("localhost") && strncmp(text, "localhost", length) == 0);
}

static struct image image_cut(const char *text)
{
	struct image image = {.text = text, .name = text};
	size_t all = strcspn(text, "@");
	size_t first = image_find(text, all, '/');
	size_t slash = image_find_last(text, all, '/');
	size_t colon = image_find_last(text, all, ':');

	if (text[all] == '@')
		image.digest = text + all + 1;
	image.length = all;
	if (colon < all && (slash == all || colon > slash)) {
		image.tag = text + colon + 1;
		image.tag_length = all - colon - 1;
		image.length = colon;
	}
	if (first < image.length && image_is_registry(text, first)) {
		image.registry = first;
		image.name += first + 1;
		image.length -= first + 1;
	}
	return image;
}

/* Labels with dots between them, or an IPv6 address in brackets; and a port. */
static bool image_check_registry(const struct image *image)
{
	const char *text = image->text;
	size_t length = image->registry;
	size_t colon = image_find_last(text, length, ':');
	bool bracketed = text[0] == '[';

	if (colon < length && (!bracketed || text[colon - 1] == ']')) {
		if (!image_is_of(text + colon + 1, length - colon - 1, IMAGE_DIGITS))
			return false;
		length = colon;
	}
	if (bracketed)
		return length > 2 && text[length - 1] == ']' && image_is_of(text + 1, length - 2, IMAGE_HEX "ABCDEF:");
	for (size_t at = 0; at <= length;) {
		size_t label = image_find(text + at, length - at, '.');

		if (!image_is_of(text + at, label, IMAGE_LOWER IMAGE_UPPER IMAGE_DIGITS "-") || text[at] == '-' ||
		    text[at + label - 1] == '-')
			return false;
		at += label + 1;
	}
	return true;
}

static bool image_is_separator(const char *text, size_t length)
{
	return (length == 1 && strchr("._-", text[0])) || (length == 2 && strncmp(text, "__", 2) == 0) ||
	       image_is_of(text, length, "-");
}

/* Small letters and digits, with one ".", one or two "_" or any number of "-" between them. */
static bool image_is_part(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		size_t word = 0, gap = 0;

		while (at + word < length && strchr(IMAGE_LOWER IMAGE_DIGITS, text[at + word]))
			word++;
		while (at + word + gap < length && strchr("._-", text[at + word + gap]))
			gap++;
		at += word + gap;
		if (word == 0 || (gap > 0 && (at == length || !image_is_separator(text + at - gap, gap))))
			return false;
	}
	return length > 0;
}

static bool image_check_digest(const char *digest)
{
	size_t algorithm = strcspn(digest, ":");
	const char *hex = digest[algorithm] ? digest + algorithm + 1 : digest + algorithm;
	size_t length = strlen(hex);

	if (!image_is_of(digest, algorithm, IMAGE_LOWER IMAGE_DIGITS "+._-") || !image_is_of(hex, length, IMAGE_HEX))
		return false;
	return strncmp(digest, "sha256:", 7) == 0 ? length == IMAGE_SHA256 : length >= IMAGE_HEX_MIN;
}

static int image_refuse(const struct image *image, const char *part, size_t length, const char *why,
                        struct rh_error *err)
{
	return rh_fail(err, RH_EINVAL,
	               "\"%s\" is not a reference to an image: \"%.*s\" %s; write it as registry.example/team/name:1.0",
	               image->text, (int)length, part, why);
}

static int image_check_path(const struct image *image, struct rh_error *err)
{
	for (size_t at = 0; at <= image->length;) {
		size_t length = image_find(image->name + at, image->length - at, '/');

		if (!image_is_part(image->name + at, length))
			return image_refuse(
				image, image->name + at, length,
				"must be small letters and digits, with one \".\", \"_\", \"__\" or any number of \"-\" between them",
				err);
		at += length + 1;
	}
	return 0;
}

static int image_check_tag(const struct image *image, struct rh_error *err)
{
	static const char set[] = IMAGE_LOWER IMAGE_UPPER IMAGE_DIGITS "_.-";

	if (!image->tag || (image->tag_length <= IMAGE_TAG_MAX && image_is_of(image->tag, image->tag_length, set) &&
	                    !strchr(".-", image->tag[0])))
		return 0;
	return image_refuse(image, image->tag, image->tag_length, "is not a tag of at most 128 letters, digits, _, . and -",
	                    err);
}

int rh_image_check(const char *image, struct rh_error *err)
{
	struct image cut = image_cut(image);
	int r;

	if (cut.registry > 0 && !image_check_registry(&cut))
		return image_refuse(&cut, cut.text, cut.registry, "is not a name of a registry", err);
	if (cut.registry + (cut.registry > 0) + cut.length > IMAGE_NAME_MAX)
		return image_refuse(&cut, cut.name, cut.length, "is too long", err);
	r = image_check_path(&cut, err);
	if (r == 0)
		r = image_check_tag(&cut, err);
	if (r == 0 && cut.digest && !image_check_digest(cut.digest))
		r = image_refuse(&cut, cut.digest, strlen(cut.digest), "is not a digest, as sha256: and 64 digits", err);
	return r;
}
