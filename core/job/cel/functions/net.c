/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses and CIDRs, as Kubernetes' library reads them (apiserver, pkg/cel/library, on Go's net/netip). */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "job/cel/functions/functions.h"

/* Bytes of the address of a CIDR; its prefix length is the byte behind. */
#define NET_SIZE(cidr) ((cidr)->text.length - 1)
#define NET_BITS(cidr) ((unsigned char)(cidr)->text.data[NET_SIZE(cidr)])

/* Every function below has the form of rh_cel_call; most do not need all of it. */
#define NET_CALL(name) \
	static struct rh_cel_value name(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
#define NET_UNUSED() ((void)room, (void)count)

/* @return bytes of the address; 0: it is none. One of IPv4 in the form of IPv6 is none either. */
static size_t net_read(const char *text, size_t length, unsigned char bytes[17])
{
	static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
	char buffer[64];

	if (length >= sizeof(buffer) || memchr(text, '\0', length))
		return 0;
	memcpy(buffer, text, length);
	buffer[length] = '\0';
	if (inet_pton(AF_INET, buffer, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, buffer, bytes) == 1 && memcmp(bytes, mapped, sizeof(mapped)) != 0 ? 16 : 0;
}

/* As net_read(), with the prefix length behind the bytes. */
static size_t net_read_cidr(const struct rh_cel_value *text, unsigned char bytes[17])
{
	const char *slash = memchr(text->text.data, '/', text->text.length);
	size_t length = slash ? (size_t)(slash - text->text.data) : 0, digits = text->text.length - length - 1;
	size_t size = slash ? net_read(text->text.data, length, bytes) : 0;
	unsigned bits = 0;

	if (size == 0 || digits == 0 || digits > 3 || (slash[1] == '0' && digits > 1))
		return 0;
	for (size_t i = 1; i <= digits; i++) {
		if (slash[i] < '0' || slash[i] > '9')
			return 0;
		bits = bits * 10 + (unsigned)(slash[i] - '0');
	}
	bytes[size] = (unsigned char)bits;
	return bits <= size * 8 ? size : 0;
}

static struct rh_cel_value net_make(struct rh_cel_room *room, enum rh_cel_kind kind, const void *bytes, size_t size)
{
	struct rh_cel_value value = rh_cel_string(room, bytes, size);

	if (value.kind == RH_CEL_STRING)
		value.kind = kind;
	return value;
}

static struct rh_cel_value net_broken(struct rh_cel_room *room, const char *what, const struct rh_cel_value *text)
{
	char message[160];

	(void)snprintf(message, sizeof(message), "%s \"%.*s\" parse error during conversion from string", what,
	               (int)(text->text.length < 64 ? text->text.length : 64), text->text.data);
	return net_make(room, RH_CEL_ERROR, message, strlen(message));
}

NET_CALL(net_is_ip)
{
	unsigned char bytes[17];

	NET_UNUSED();
	return rh_cel_bool(net_read(args[0].text.data, args[0].text.length, bytes) > 0);
}

NET_CALL(net_ip)
{
	unsigned char bytes[17];
	size_t size = net_read(args[0].text.data, args[0].text.length, bytes);

	(void)count;
	return size ? net_make(room, RH_CEL_IP, bytes, size) : net_broken(room, "IP Address", &args[0]);
}

NET_CALL(net_is_cidr)
{
	unsigned char bytes[17];

	NET_UNUSED();
	return rh_cel_bool(net_read_cidr(&args[0], bytes) > 0);
}

NET_CALL(net_cidr)
{
	unsigned char bytes[17];
	size_t size = net_read_cidr(&args[0], bytes);

	(void)count;
	return size ? net_make(room, RH_CEL_CIDR, bytes, size + 1)
	            : net_broken(room, "network address parse error during conversion from string: CIDR", &args[0]);
}

static unsigned net_group(const unsigned char *bytes, size_t i)
{
	return (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
}

/* Append IPv6 as RFC 5952 and Go write it: the longest run of two or more zeros is "::", the first of several. */
static void net_print_long(const unsigned char *bytes, struct rh_str *out)
{
	size_t best = 8, longest = 1;

	for (size_t i = 0, run; i < 8; i += run ? run : 1) {
		for (run = 0; i + run < 8 && net_group(bytes, i + run) == 0;)
			run++;
		if (run > longest) {
			best = i;
			longest = run;
		}
	}
	for (size_t i = 0; i < 8; i++) {
		if (i == best) {
			rh_str_append(out, "::");
			i += longest - 1;
			continue;
		}
		rh_str_appendf(out, "%s%x", i > 0 && i != best + longest ? ":" : "", net_group(bytes, i));
	}
}

static void net_print(const unsigned char *bytes, size_t size, struct rh_str *out)
{
	if (size == 4)
		rh_str_appendf(out, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
	else
		net_print_long(bytes, out);
}

static struct rh_cel_value net_text(struct rh_cel_room *room, const struct rh_str *text)
{
	room->failed = room->failed || text->failed;
	return text->failed ? rh_cel_error("out of memory") : rh_cel_string(room, rh_str_text(text), text->length);
}

NET_CALL(net_string)
{
	bool cidr = args[0].kind == RH_CEL_CIDR;
	size_t size = cidr ? NET_SIZE(&args[0]) : args[0].text.length;
	rh_auto_str out = {0};

	(void)count;
	net_print((const unsigned char *)args[0].text.data, size, &out);
	if (cidr)
		rh_str_appendf(&out, "/%u", NET_BITS(&args[0]));
	return net_text(room, &out);
}

NET_CALL(net_is_canonical)
{
	unsigned char bytes[17];
	size_t size = net_read(args[0].text.data, args[0].text.length, bytes);
	rh_auto_str out = {0};

	(void)count;
	if (size == 0)
		return net_broken(room, "IP Address", &args[0]);
	net_print(bytes, size, &out);
	room->failed = room->failed || out.failed;
	return rh_cel_bool(out.length == args[0].text.length && memcmp(out.data, args[0].text.data, out.length) == 0);
}

NET_CALL(net_family)
{
	NET_UNUSED();
	return rh_cel_integer(RH_CEL_INT, args[0].text.length == 4 ? 4 : 6);
}

/* @return whether the first @p bits of both are the same */
static bool net_same(const unsigned char *a, const unsigned char *b, size_t bits)
{
	unsigned mask = 0xFF00u >> (bits % 8) & 0xFFu;

	return memcmp(a, b, bits / 8) == 0 && (mask == 0 || ((a[bits / 8] ^ b[bits / 8]) & mask) == 0);
}

/* @return whether an address is in one of two ranges, by its family */
static bool net_in(const struct rh_cel_value *ip, const char *range, const char *long_range)
{
	const char *text = ip->text.length == 4 ? range : long_range;
	struct rh_cel_value cidr = {.kind = RH_CEL_STRING, .text = {text, strlen(text)}};
	unsigned char bytes[17] = {0};
	size_t size = net_read_cidr(&cidr, bytes);

	return size > 0 && size == ip->text.length && net_same((const unsigned char *)ip->text.data, bytes, bytes[size]);
}

static bool net_unspecified(const struct rh_cel_value *ip)
{
	return net_in(ip, "0.0.0.0/32", "::/128");
}

static bool net_loopback(const struct rh_cel_value *ip)
{
	return net_in(ip, "127.0.0.0/8", "::1/128");
}

static bool net_link_local(const struct rh_cel_value *ip)
{
	return net_in(ip, "169.254.0.0/16", "fe80::/10");
}

NET_CALL(net_is_unspecified)
{
	NET_UNUSED();
	return rh_cel_bool(net_unspecified(&args[0]));
}

NET_CALL(net_is_loopback)
{
	NET_UNUSED();
	return rh_cel_bool(net_loopback(&args[0]));
}

/* Of IPv6 the flags of the address do not count: ff02::, ff12:: and so on. */
NET_CALL(net_is_link_local_multicast)
{
	const unsigned char *bytes = (const unsigned char *)args[0].text.data;

	NET_UNUSED();
	return rh_cel_bool(args[0].text.length == 4 ? net_in(&args[0], "224.0.0.0/24", "::/128")
	                                            : bytes[0] == 0xFF && (bytes[1] & 0x0F) == 0x02);
}

NET_CALL(net_is_link_local_unicast)
{
	NET_UNUSED();
	return rh_cel_bool(net_link_local(&args[0]));
}

NET_CALL(net_is_global_unicast)
{
	const struct rh_cel_value *ip = &args[0];

	NET_UNUSED();
	return rh_cel_bool(!net_unspecified(ip) && !net_loopback(ip) && !net_link_local(ip) &&
	                   !net_in(ip, "224.0.0.0/4", "ff00::/8") && !net_in(ip, "255.255.255.255/32", "::/128"));
}

NET_CALL(net_ip_of_cidr)
{
	(void)count;
	return net_make(room, RH_CEL_IP, args[0].text.data, NET_SIZE(&args[0]));
}

NET_CALL(net_prefix_length)
{
	NET_UNUSED();
	return rh_cel_integer(RH_CEL_INT, NET_BITS(&args[0]));
}

NET_CALL(net_masked)
{
	unsigned char bytes[17];
	size_t bits = NET_BITS(&args[0]), size = NET_SIZE(&args[0]);

	(void)count;
	memcpy(bytes, args[0].text.data, size + 1);
	for (size_t i = (bits + 7) / 8; i < size; i++)
		bytes[i] = 0;
	if (bits % 8)
		bytes[bits / 8] &= (unsigned char)(0xFF00u >> (bits % 8));
	return net_make(room, RH_CEL_CIDR, bytes, size + 1);
}

NET_CALL(net_contains_ip)
{
	struct rh_cel_value ip = args[1].kind == RH_CEL_STRING ? net_ip(room, &args[1], count) : args[1];

	if (ip.kind == RH_CEL_ERROR)
		return ip;
	return rh_cel_bool(
		ip.text.length == NET_SIZE(&args[0]) &&
		net_same((const unsigned char *)args[0].text.data, (const unsigned char *)ip.text.data, NET_BITS(&args[0])));
}

NET_CALL(net_contains_cidr)
{
	struct rh_cel_value other = args[1].kind == RH_CEL_STRING ? net_cidr(room, &args[1], count) : args[1];

	if (other.kind == RH_CEL_ERROR)
		return other;
	return rh_cel_bool(
		other.text.length == args[0].text.length && NET_BITS(&args[0]) <= NET_BITS(&other) &&
		net_same((const unsigned char *)args[0].text.data, (const unsigned char *)other.text.data, NET_BITS(&args[0])));
}

const struct rh_cel_function rh_cel_net_functions[] = {
	{"isIP", "s", 'b', false, net_is_ip},
	{"ip", "s", 'I', false, net_ip},
	{"ip", "C", 'I', true, net_ip_of_cidr},
	{"ip.isCanonical", "s", 'b', false, net_is_canonical},
	{"family", "I", 'i', true, net_family},
	{"isUnspecified", "I", 'b', true, net_is_unspecified},
	{"isLoopback", "I", 'b', true, net_is_loopback},
	{"isLinkLocalMulticast", "I", 'b', true, net_is_link_local_multicast},
	{"isLinkLocalUnicast", "I", 'b', true, net_is_link_local_unicast},
	{"isGlobalUnicast", "I", 'b', true, net_is_global_unicast},
	{"isCIDR", "s", 'b', false, net_is_cidr},
	{"cidr", "s", 'C', false, net_cidr},
	{"containsIP", "CI", 'b', true, net_contains_ip},
	{"containsIP", "Cs", 'b', true, net_contains_ip},
	{"containsCIDR", "CC", 'b', true, net_contains_cidr},
	{"containsCIDR", "Cs", 'b', true, net_contains_cidr},
	{"masked", "C", 'C', true, net_masked},
	{"prefixLength", "C", 'i', true, net_prefix_length},
	{"string", "I", 's', false, net_string},
	{"string", "C", 's', false, net_string},
	{NULL, NULL, 0, false, NULL},
};
