/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs, as Kubernetes' library reads them: isURL() is Go's url.ParseRequestURI(), url() is url.Parse() of what that
 * takes. A value keeps what Go's String() makes of the URL, by which two of them are compared.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "job/cel/functions/functions.h"

/* Most parameters of a query that Go reads; of a query with more it reads none. */
#define URL_QUERY_MAX 10000

/* Signs beside letters and digits that Go leaves as they are in a part, and those that it takes there as they are. */
#define URL_HOST_SIGNS "-_.~!$&'()*+,;=:[]<>\""
#define URL_USER_SIGNS "-_.~$&+,;="
#define URL_PATH_SIGNS "/-_.~$&+,:;=@"
#define URL_PATH_VALID URL_PATH_SIGNS "%!'()*[]"
#define URL_FRAGMENT_SIGNS URL_PATH_SIGNS "?!()*"
#define URL_FRAGMENT_VALID URL_FRAGMENT_SIGNS "%'[]"

/* Stands before the text of a value whose two slashes are of its path and begin no host: Go's text of "/%2f^" is
 * "//%5E". */
#define URL_NO_HOST "\n"

/* Every function below has the form of rh_cel_call; most do not need all of it. */
#define URL_CALL(name) \
	static struct rh_cel_value name(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)

/* A part of a text. */
struct url_part {
	const char *data;
	size_t length;
};

/* The parts of a URL, as they are written. */
struct url {
	struct url_part scheme, opaque, user, host, path, query, fragment;
	bool has_authority, has_user, has_query;
};

/* What an escape of a part may stand for. */
enum url_mode { URL_PLAIN, URL_HOST, URL_ZONE, URL_QUERY };

static struct url_part url_cut(const struct url_part *from, size_t start, size_t end)
{
	return (struct url_part){from->data + start, end - start};
}

/* @return where @p sign stands first, or the length */
static size_t url_index(const struct url_part *in, char sign)
{
	const char *found = in->length ? memchr(in->data, sign, in->length) : NULL;

	return found ? (size_t)(found - in->data) : in->length;
}

static size_t url_last_index(const struct url_part *in, char sign)
{
	for (size_t i = in->length; i-- > 0;) {
		if (in->data[i] == sign)
			return i;
	}
	return in->length;
}

static bool url_all(const struct url_part *part, const char *signs)
{
	for (size_t i = 0; i < part->length; i++) {
		if (!part->data[i] || !(isalnum((unsigned char)part->data[i]) || strchr(signs, part->data[i])))
			return false;
	}
	return true;
}

/* @return the byte of two hexadecimal digits, or -1 */
static int url_hex(const struct url_part *in, size_t at)
{
	static const char digits[] = "0123456789abcdef";
	int value = 0;

	for (size_t i = at; i < at + 2; i++) {
		const char *digit = i < in->length && in->data[i] ? strchr(digits, tolower((unsigned char)in->data[i])) : NULL;

		if (!digit)
			return -1;
		value = value * 16 + (int)(digit - digits);
	}
	return value;
}

/* @return whether a host may have the sign without an escape; all that is not ASCII it may */
static bool url_is_of_host(unsigned char sign)
{
	return sign >= 0x80 || (sign && (isalnum(sign) || strchr(URL_HOST_SIGNS, sign)));
}

/* @return whether the escape of a byte is valid where it stands: of a host, ASCII is not escaped, but for a % */
static bool url_is_escape_valid(int byte, enum url_mode mode)
{
	if (mode == URL_HOST)
		return byte >= 0x80 || byte == '%';
	return mode != URL_ZONE || byte == '%' || byte == ' ' || (byte < 0x80 && url_is_of_host((unsigned char)byte));
}

/* Undo escapes. @return whether they are valid where the part stands */
static bool url_unescape(const struct url_part *part, enum url_mode mode, struct rh_str *out)
{
	for (size_t i = 0; i < part->length; i++) {
		char sign = part->data[i];
		bool escaped = sign == '%', host = mode == URL_HOST || mode == URL_ZONE;
		int byte = escaped ? url_hex(part, i + 1) : (unsigned char)sign;

		if (byte < 0 || (escaped ? !url_is_escape_valid(byte, mode) : host && !url_is_of_host((unsigned char)byte)))
			return false;
		sign = (char)(mode == URL_QUERY && sign == '+' ? ' ' : byte);
		rh_str_append_bytes(out, &sign, 1);
		i += escaped ? 2 : 0;
	}
	return true;
}

static bool url_is_escaped(const struct url_part *part, enum url_mode mode)
{
	rh_auto_str plain = {0};

	return url_unescape(part, mode, &plain);
}

/* ":80", ":" or nothing */
static bool url_is_port(const struct url_part *part)
{
	for (size_t i = 1; i < part->length; i++) {
		if (!isdigit((unsigned char)part->data[i]))
			return false;
	}
	return part->length == 0 || part->data[0] == ':';
}

/* [::1], with a zone as in [fe80::1%25en0] */
static bool url_is_bracket_valid(const struct url_part *host, size_t end)
{
	struct url_part inside = url_cut(host, 1, end), port = url_cut(host, end + 1, host->length);
	size_t percent = url_index(&inside, '%');
	struct url_part zone = url_cut(&inside, percent, inside.length);
	unsigned char bytes[16];
	char address[64];

	if (percent >= sizeof(address) || !url_is_port(&port))
		return false;
	memcpy(address, inside.data, percent);
	address[percent] = '\0';
	return inet_pton(AF_INET6, address, bytes) == 1 &&
	       (zone.length == 0 ||
	        (zone.length > 3 && rh_starts_with(zone.data, "%25") && url_is_escaped(&zone, URL_ZONE)));
}

static bool url_is(const struct url_part *part, const char *text)
{
	return part->length == strlen(text) && strncasecmp(part->data, text, part->length) == 0;
}

/* Of HTTP a colon stands before a port alone; others name several hosts. */
static bool url_is_host_valid(const struct url *url)
{
	const struct url_part *host = &url->host;
	bool strict = url_is(&url->scheme, "http") || url_is(&url->scheme, "https");
	size_t colon = strict ? url_index(host, ':') : url_last_index(host, ':');
	size_t open = url_last_index(host, '['), close = url_last_index(host, ']');
	struct url_part port = url_cut(host, colon, host->length);

	if (open < host->length)
		return open == 0 && close < host->length && url_is_bracket_valid(host, close);
	return url_is_port(&port) && url_is_escaped(host, URL_HOST);
}

/* user:password@host:port; @p rest loses it */
static bool url_read_authority(struct url *url, struct url_part *rest)
{
	struct url_part authority = url_cut(rest, 2, rest->length);
	size_t slash = url_index(&authority, '/'), at;

	*rest = url_cut(&authority, slash, authority.length);
	authority = url_cut(&authority, 0, slash);
	at = url_last_index(&authority, '@');
	url->has_authority = true;
	url->has_user = at < authority.length;
	url->user = url_cut(&authority, 0, url->has_user ? at : 0);
	url->host = url->has_user ? url_cut(&authority, at + 1, authority.length) : authority;
	return url_is_host_valid(url) && url_all(&url->user, "-._:~!$&'()*+,;=%@") && url_is_escaped(&url->user, URL_PLAIN);
}

/* @return whether a scheme, or none, stands first; @p rest loses it */
static bool url_read_scheme(struct url *url, struct url_part *rest)
{
	size_t colon = url_index(rest, ':');
	struct url_part scheme = url_cut(rest, 0, colon);

	if (colon == 0 && rest->length)
		return false;
	if (colon == rest->length || !isalpha((unsigned char)rest->data[0]) || !url_all(&scheme, "+-."))
		return true;
	url->scheme = scheme;
	*rest = url_cut(rest, colon + 1, rest->length);
	return true;
}

static bool url_has_control(const struct url_part *text)
{
	for (size_t i = 0; i < text->length; i++) {
		if ((unsigned char)text->data[i] < ' ' || text->data[i] == 0x7F)
			return true;
	}
	return false;
}

/* @return whether two slashes stand first that begin an authority; in a request they do behind a scheme alone */
static bool url_is_authority(const struct url *url, const struct url_part *rest, bool request)
{
	if (rest->length < 2 || rest->data[1] != '/')
		return false;
	return url->scheme.length > 0 || (!request && !(rest->length > 2 && rest->data[2] == '/'));
}

/* Take a text apart. @param request only what the first line of HTTP may have. @return whether it is a URL */
static bool url_read(const struct url_part *text, bool request, struct url *ret_url)
{
	struct url_part rest = *text;
	size_t question;

	*ret_url = (struct url){{"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, false, false, false};
	if ((request && rest.length == 0) || url_has_control(&rest) || !url_read_scheme(ret_url, &rest))
		return false;
	question = url_index(&rest, '?');
	ret_url->has_query = question < rest.length;
	ret_url->query = url_cut(&rest, question + ret_url->has_query, rest.length);
	rest = url_cut(&rest, 0, question);
	/* what has a scheme and no slash is opaque; what has no scheme is a path, or the * of HTTP */
	if (rest.length == 0 || rest.data[0] != '/') {
		*(ret_url->scheme.length ? &ret_url->opaque : &ret_url->path) = rest;
		return ret_url->scheme.length > 0 || !request || (text->length == 1 && text->data[0] == '*');
	}
	if (url_is_authority(ret_url, &rest, request) && !url_read_authority(ret_url, &rest))
		return false;
	ret_url->path = rest;
	return url_is_escaped(&rest, URL_PLAIN);
}

/* Take a text with a fragment apart. @return as url_read() */
static bool url_read_all(const struct url_part *text, bool request, struct url *ret_url)
{
	size_t hash = url_index(text, '#');
	struct url_part before = url_cut(text, 0, hash);
	bool valid = url_read(&before, request, ret_url);

	ret_url->fragment = url_cut(text, hash < text->length ? hash + 1 : hash, text->length);
	return valid && url_is_escaped(&ret_url->fragment, URL_PLAIN);
}

/* Take the text of a value apart, which was valid when the value was made. */
static struct url url_of(const struct rh_cel_value *value)
{
	struct url_part text = {value->text.data, value->text.length};
	bool no_host = text.length > 0 && text.data[0] == *URL_NO_HOST;
	struct url url;

	text = url_cut(&text, no_host, text.length);
	(void)url_read_all(&text, no_host, &url);
	return url;
}

/* Write a part without its escapes, and with those that it needs. */
static void url_print_escaped(const struct url_part *part, enum url_mode mode, const char *signs, struct rh_str *out)
{
	rh_auto_str plain = {0};

	(void)url_unescape(part, mode, &plain);
	for (size_t i = 0; i < plain.length; i++) {
		unsigned char sign = (unsigned char)plain.data[i];
		bool kept = sign && sign < 0x80 && (isalnum(sign) || strchr(signs, sign));

		rh_str_appendf(out, kept ? "%c" : "%%%02X", sign);
	}
	out->failed = out->failed || plain.failed;
}

/* Write a part as it is, where that is valid; else with all escapes that it needs. */
static void url_print_part(const struct url_part *part, const char *valid, const char *signs, struct rh_str *out)
{
	if (url_all(part, valid))
		rh_str_append_bytes(out, part->data, part->length);
	else
		url_print_escaped(part, URL_PLAIN, signs, out);
}

static void url_print_authority(const struct url *url, struct rh_str *out)
{
	size_t colon = url_index(&url->user, ':');
	struct url_part name = url_cut(&url->user, 0, colon), password = url_cut(&url->user, colon, url->user.length);

	if (url->host.length || url->path.length || url->has_user)
		rh_str_append(out, "//");
	url_print_escaped(&name, URL_PLAIN, URL_USER_SIGNS, out);
	if (password.length) {
		rh_str_append(out, ":");
		password = url_cut(&password, 1, password.length);
		url_print_escaped(&password, URL_PLAIN, URL_USER_SIGNS, out);
	}
	rh_str_append(out, url->has_user ? "@" : "");
	url_print_escaped(&url->host, url->host.length && url->host.data[0] == '[' ? URL_ZONE : URL_HOST, URL_HOST_SIGNS,
	                  out);
}

static void url_print(const struct url *url, struct rh_str *out)
{
	rh_auto_str path = {0};

	if (url_is(&url->path, "*"))
		rh_str_append(&path, "*");
	else
		url_print_part(&url->path, URL_PATH_VALID, URL_PATH_SIGNS, &path);
	if (!url->has_authority && !url->scheme.length && rh_starts_with(rh_str_text(&path), "//"))
		rh_str_append(out, URL_NO_HOST);
	for (size_t i = 0; i < url->scheme.length; i++)
		rh_str_appendf(out, "%c", tolower((unsigned char)url->scheme.data[i]));
	rh_str_append(out, url->scheme.length ? ":" : "");
	rh_str_append_bytes(out, url->opaque.data, url->opaque.length);
	if (url->has_authority)
		url_print_authority(url, out);
	rh_str_append(out, rh_str_text(&path));
	rh_str_append(out, url->has_query ? "?" : "");
	rh_str_append_bytes(out, url->query.data, url->query.length);
	rh_str_append(out, url->fragment.length ? "#" : "");
	url_print_part(&url->fragment, URL_FRAGMENT_VALID, URL_FRAGMENT_SIGNS, out);
	out->failed = out->failed || path.failed;
}

/* @return a string; escapes can stand for bytes that are no characters, each of which counts as U+FFFD */
static struct rh_cel_value url_text(struct rh_cel_room *room, const struct rh_str *text)
{
	rh_auto_str valid = {0};

	for (size_t at = 0, bytes; at < text->length; at += bytes ? bytes : 1) {
		bytes = rh_utf8_length(text->data + at, text->length - at);
		rh_str_append_bytes(&valid, bytes ? text->data + at : "\xEF\xBF\xBD", bytes ? bytes : 3);
	}
	room->failed = room->failed || text->failed || valid.failed;
	return room->failed ? rh_cel_error("out of memory") : rh_cel_string(room, rh_str_text(&valid), valid.length);
}

static struct rh_cel_value url_value(const struct url_part *part)
{
	return (struct rh_cel_value){.kind = RH_CEL_STRING, .text = {part->data, part->length}};
}

URL_CALL(url_is_url)
{
	struct url_part text = {args[0].text.data, args[0].text.length};
	struct url url;

	(void)room;
	(void)count;
	return rh_cel_bool(url_read(&text, true, &url));
}

URL_CALL(url_make)
{
	struct url_part text = {args[0].text.data, args[0].text.length};
	struct rh_cel_value value;
	rh_auto_str out = {0};
	struct url url;

	(void)count;
	if (!url_read(&text, true, &url) || !url_read_all(&text, false, &url))
		return rh_cel_error("URL parse error during conversion from string");
	url_print(&url, &out);
	value = url_text(room, &out);
	if (value.kind == RH_CEL_STRING)
		value.kind = RH_CEL_URL;
	return value;
}

URL_CALL(url_scheme)
{
	struct url url = url_of(&args[0]);

	(void)room;
	(void)count;
	return url_value(&url.scheme);
}

URL_CALL(url_host)
{
	struct url url = url_of(&args[0]);
	rh_auto_str out = {0};

	(void)count;
	(void)url_unescape(&url.host, url.host.length && url.host.data[0] == '[' ? URL_ZONE : URL_HOST, &out);
	return url_text(room, &out);
}

/* @return bytes of the host before its port; the colon is behind */
static size_t url_host_length(const struct url_part *host)
{
	size_t colon = url_last_index(host, ':');
	struct url_part port = url_cut(host, colon, host->length);

	return url_is_port(&port) ? colon : host->length;
}

URL_CALL(url_hostname)
{
	struct rh_cel_value host = url_host(room, args, count);
	struct url_part part = {host.text.data, host.text.length};

	if (host.kind == RH_CEL_ERROR)
		return host;
	part.length = url_host_length(&part);
	if (part.length > 1 && part.data[0] == '[' && part.data[part.length - 1] == ']')
		part = url_cut(&part, 1, part.length - 1);
	return url_value(&part);
}

URL_CALL(url_port)
{
	struct rh_cel_value host = url_host(room, args, count);
	struct url_part part = {host.text.data, host.text.length};
	size_t colon;

	if (host.kind == RH_CEL_ERROR)
		return host;
	colon = url_host_length(&part);
	part = url_cut(&part, colon < part.length ? colon + 1 : part.length, part.length);
	return url_value(&part);
}

URL_CALL(url_path)
{
	struct url url = url_of(&args[0]);

	(void)room;
	(void)count;
	return url_value(&url.path);
}

/* A key of a query with its values. */
struct url_key {
	struct rh_cel_value name;
	struct rh_cel_value *values;
	size_t count;
};

/* The keys of a query. */
struct url_keys {
	struct url_key *keys;
	size_t count;
};

/* Add a value to those of its key. @return whether there was memory */
static bool url_add_pair(struct rh_cel_room *room, struct url_keys *keys, const struct rh_cel_value pair[2])
{
	struct url_key *key = keys->keys;
	struct rh_cel_value *values;

	while (key < keys->keys + keys->count && !rh_cel_equal(room, &key->name, &pair[0]))
		key++;
	if (key == keys->keys + keys->count)
		keys->keys[keys->count++].name = pair[0];
	values = key->values;
	/* the memory for values doubles whenever their number is a power of two */
	if ((key->count & (key->count - 1)) == 0)
		values = rh_cel_room_take(room, (key->count ? key->count * 2 : 1) * sizeof(*values));
	if (!values)
		return false;
	if (key->count && values != key->values)
		memcpy(values, key->values, key->count * sizeof(*values));
	key->values = values;
	values[key->count++] = pair[1];
	return true;
}

static struct rh_cel_value url_map(struct rh_cel_room *room, const struct url_keys *keys)
{
	struct rh_cel_value *items = rh_cel_room_take(room, 2 * keys->count * sizeof(*items));

	if (!items)
		return rh_cel_error("out of memory");
	for (size_t i = 0; i < keys->count; i++) {
		items[2 * i] = keys->keys[i].name;
		items[2 * i + 1] = rh_cel_list(keys->keys[i].values, keys->keys[i].count);
	}
	return (struct rh_cel_value){.kind = RH_CEL_MAP, .items = items, .count = keys->count};
}

/* @return whether the escapes of a part of a query are valid; then what it stands for */
static bool url_read_word(struct rh_cel_room *room, const struct url_part *part, struct rh_cel_value *ret_value)
{
	rh_auto_str plain = {0};
	bool valid = url_unescape(part, URL_QUERY, &plain);

	if (valid)
		*ret_value = url_text(room, &plain);
	return valid && ret_value->kind == RH_CEL_STRING;
}

/* "key=value". @return whether it is one; Go leaves out those with a semicolon or a wrong escape */
static bool url_read_pair(struct rh_cel_room *room, const struct url_part *part, struct rh_cel_value pair[2])
{
	size_t equal = url_index(part, '=');
	struct url_part key = url_cut(part, 0, equal);
	struct url_part value = url_cut(part, equal < part->length ? equal + 1 : equal, part->length);

	return part->length > 0 && url_index(part, ';') == part->length && url_read_word(room, &key, &pair[0]) &&
	       url_read_word(room, &value, &pair[1]);
}

/* @return how many parameters a query has, also empty ones */
static size_t url_query_size(const struct url_part *query)
{
	size_t size = 1;

	for (size_t i = 0; i < query->length; i++)
		size += query->data[i] == '&';
	return size;
}

URL_CALL(url_query)
{
	struct url url = url_of(&args[0]);
	struct url_part rest = url.query;
	struct rh_cel_value pair[2];
	size_t size = url_query_size(&rest);
	struct url_keys keys = {NULL, 0};

	(void)count;
	if (size > URL_QUERY_MAX)
		return (struct rh_cel_value){.kind = RH_CEL_MAP};
	keys.keys = rh_cel_room_take(room, size * sizeof(*keys.keys));
	while (keys.keys && rest.length > 0) {
		size_t end = url_index(&rest, '&');
		struct url_part part = url_cut(&rest, 0, end);

		if (url_read_pair(room, &part, pair) && !url_add_pair(room, &keys, pair))
			return rh_cel_error("out of memory");
		rest = url_cut(&rest, end < rest.length ? end + 1 : end, rest.length);
	}
	return keys.keys ? url_map(room, &keys) : rh_cel_error("out of memory");
}

const struct rh_cel_function rh_cel_url_functions[] = {
	{"isURL", "s", 'b', false, url_is_url},
	{"url", "s", 'U', false, url_make},
	{"getScheme", "U", 's', true, url_scheme},
	{"getHost", "U", 's', true, url_host},
	{"getHostname", "U", 's', true, url_hostname},
	{"getPort", "U", 's', true, url_port},
	{"getEscapedPath", "U", 's', true, url_path},
	{"getQuery", "U", 'M', true, url_query},
	{NULL, NULL, 0, false, NULL},
};
