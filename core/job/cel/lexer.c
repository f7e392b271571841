/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/cel/ast.h"

/* A string literal that is read. */
struct lexer_quoted {
	bool raw, bytes;
	char quote[4];
	size_t at, length; /* of what is between the quotes */
};

static int lexer_refuse(const struct rh_cel_lexer *lexer, size_t at, const char *what)
{
	return rh_cel_refuse(lexer->err, lexer->text, at, "%s", what);
}

static bool lexer_is_name(char letter)
{
	return isalnum((unsigned char)letter) || letter == '_';
}

static void lexer_skip_space(struct rh_cel_lexer *lexer)
{
	for (;;) {
		lexer->at += strspn(lexer->text + lexer->at, " \t\r\n\f");
		if (!rh_starts_with(lexer->text + lexer->at, "//"))
			return;
		lexer->at += strcspn(lexer->text + lexer->at, "\n");
	}
}

static int lexer_integer(struct rh_cel_lexer *lexer, struct rh_cel_token *token, size_t length)
{
	const char *start = lexer->text + token->at;
	bool hex = start[0] == '0' && (start[1] == 'x' || start[1] == 'X');
	char *end;

	errno = 0;
	token->literal.kind = RH_CEL_UINT;
	token->literal.natural = strtoull(start, &end, hex ? 16 : 10);
	if (errno || end != start + length)
		return lexer_refuse(lexer, token->at, "a number is not valid");
	if (*end == 'u' || *end == 'U') {
		lexer->at++;
		return 0;
	}
	/* -9223372036854775808 is a minus and a number beyond int: the parser puts them together */
	if (token->literal.natural > (uint64_t)INT64_MAX + 1)
		return lexer_refuse(lexer, token->at, "an integer is beyond 64 bits");
	token->literal.kind = RH_CEL_INT;
	token->literal.integer = (int64_t)token->literal.natural;
	return 0;
}

static int lexer_number(struct rh_cel_lexer *lexer, struct rh_cel_token *token)
{
	const char *text = lexer->text;
	size_t at = token->at;
	bool fraction = false;
	char *end;

	token->kind = RH_CEL_TOKEN_LITERAL;
	if (text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X')) {
		at += 2 + strspn(text + at + 2, "0123456789abcdefABCDEF");
	} else {
		at += strspn(text + at, "0123456789");
		if (text[at] == '.' && isdigit((unsigned char)text[at + 1])) {
			fraction = true;
			at += 1 + strspn(text + at + 1, "0123456789");
		}
		if ((text[at] | 32) == 'e') {
			fraction = true;
			at += 1 + (text[at + 1] == '+' || text[at + 1] == '-');
			at += strspn(text + at, "0123456789");
		}
	}
	lexer->at = at;
	if (!fraction)
		return lexer_integer(lexer, token, at - token->at);
	token->literal.kind = RH_CEL_DOUBLE;
	token->literal.number = strtod(text + token->at, &end);
	return end == text + at ? 0 : lexer_refuse(lexer, token->at, "a number is not valid");
}

static size_t lexer_put_utf8(char *to, uint32_t letter)
{
	if (letter < 0x80) {
		to[0] = (char)letter;
		return 1;
	}
	if (letter < 0x800) {
		to[0] = (char)(0xC0 | letter >> 6);
		to[1] = (char)(0x80 | (letter & 0x3F));
		return 2;
	}
	if (letter < 0x10000) {
		to[0] = (char)(0xE0 | letter >> 12);
		to[1] = (char)(0x80 | (letter >> 6 & 0x3F));
		to[2] = (char)(0x80 | (letter & 0x3F));
		return 3;
	}
	to[0] = (char)(0xF0 | letter >> 18);
	to[1] = (char)(0x80 | (letter >> 12 & 0x3F));
	to[2] = (char)(0x80 | (letter >> 6 & 0x3F));
	to[3] = (char)(0x80 | (letter & 0x3F));
	return 4;
}

/* \x41, \u0041, \U00000041 and \101. @return digits read, or 0 */
static size_t lexer_code(const char *text, uint32_t *ret_letter)
{
	size_t digits = *text == 'x' || *text == 'X' ? 2 : *text == 'u' ? 4 : *text == 'U' ? 8 : 3;
	size_t skip = *text >= '0' && *text <= '3' ? 0 : 1;
	char copy[9] = "", *end;

	if (strlen(text) < skip + digits)
		return 0;
	rh_copy(copy, digits + 1, text + skip);
	*ret_letter = (uint32_t)strtoul(copy, &end, skip ? 16 : 8);
	return isalnum((unsigned char)copy[0]) && end == copy + digits ? skip + digits : 0;
}

/* @return bytes of the escape behind the backslash, or 0 */
static size_t lexer_escape(const struct lexer_quoted *quoted, const char *text, char *to, size_t *length)
{
	static const char names[] = "abfnrtv\\?\"'`", letters[] = "\a\b\f\n\r\t\v\\?\"'`";
	const char *named = *text ? strchr(names, *text) : NULL;
	uint32_t letter;
	size_t read;

	if (named) {
		to[(*length)++] = letters[named - names];
		return 1;
	}
	if (!strchr("xXuU0123", *text) || !*text)
		return 0;
	read = lexer_code(text, &letter);
	if (read == 0 || letter > 0x10FFFF || (letter >= 0xD800 && letter < 0xE000) || letter == 0)
		return 0;
	if (quoted->bytes && (*text | 32) != 'u')
		to[(*length)++] = (char)letter;
	else
		*length += lexer_put_utf8(to + *length, letter);
	return read;
}

static int lexer_unquote(struct rh_cel_lexer *lexer, const struct lexer_quoted *quoted, struct rh_cel_token *token)
{
	const char *from = lexer->text + quoted->at, *end = from + quoted->length;
	char *to = rh_cel_room_take(lexer->room, quoted->length + 1);
	size_t length = 0;

	if (!to)
		return RH_ENOMEM;
	while (from < end) {
		size_t read = 1;

		if (*from != '\\' || quoted->raw) {
			to[length++] = *from++;
			continue;
		}
		read = lexer_escape(quoted, ++from, to, &length);
		if (read == 0)
			return lexer_refuse(lexer, (size_t)(from - lexer->text - 1), "an escape in a string is not valid");
		from += read;
	}
	token->literal.kind = quoted->bytes ? RH_CEL_BYTES : RH_CEL_STRING;
	token->literal.text.data = to;
	token->literal.text.length = length;
	return 0;
}

/* Behind the prefix, at the quote. */
static int lexer_string(struct rh_cel_lexer *lexer, struct lexer_quoted *quoted, struct rh_cel_token *token)
{
	const char *text = lexer->text;
	char quote = text[lexer->at];
	bool triple = text[lexer->at + 1] == quote && text[lexer->at + 2] == quote;
	size_t width = triple ? 3 : 1, at = lexer->at + width;

	memset(quoted->quote, quote, width);
	token->kind = RH_CEL_TOKEN_LITERAL;
	quoted->at = at;
	for (; !rh_starts_with(text + at, quoted->quote); at++) {
		if (text[at] == '\\' && !quoted->raw && text[at + 1])
			at++;
		if (!text[at] || (!triple && text[at] == '\n'))
			return lexer_refuse(lexer, token->at, "a text has no closing quote");
	}
	quoted->length = at - quoted->at;
	lexer->at = at + width;
	return lexer_unquote(lexer, quoted, token);
}

static bool lexer_is_string(const struct rh_cel_lexer *lexer, struct lexer_quoted *quoted, size_t *ret_prefix)
{
	const char *text = lexer->text + lexer->at;
	size_t i = 0;

	for (; i < 2; i++) {
		char letter = (char)(text[i] | 32);

		if (letter == 'r' && isalpha((unsigned char)text[i]) && !quoted->raw)
			quoted->raw = true;
		else if (letter == 'b' && isalpha((unsigned char)text[i]) && !quoted->bytes)
			quoted->bytes = true;
		else
			break;
	}
	*ret_prefix = i;
	return text[i] == '"' || text[i] == '\'';
}

int rh_cel_lexer_next(struct rh_cel_lexer *lexer, struct rh_cel_token *ret_token)
{
	static const char *const signs[] = {"==", "!=", "<=", ">=", "&&", "||"};
	struct lexer_quoted quoted = {0};
	const char *text;
	size_t prefix;

	lexer_skip_space(lexer);
	text = lexer->text + lexer->at;
	*ret_token = (struct rh_cel_token){.at = lexer->at};
	if (!*text)
		return 0;
	if (lexer_is_string(lexer, &quoted, &prefix)) {
		lexer->at += prefix;
		return lexer_string(lexer, &quoted, ret_token);
	}
	if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1])))
		return lexer_number(lexer, ret_token);
	ret_token->kind = RH_CEL_TOKEN_SIGN;
	ret_token->length = 1;
	if (lexer_is_name(*text)) {
		ret_token->kind = RH_CEL_TOKEN_NAME;
		while (lexer_is_name(text[ret_token->length]))
			ret_token->length++;
	} else if (!strchr("()[]{}<>.,:?!-+*/%", *text)) {
		ret_token->length = 2;
		if (*text != '=' && *text != '&' && *text != '|')
			return lexer_refuse(lexer, lexer->at, "a character belongs to no expression");
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (rh_starts_with(text, signs[i])) {
			ret_token->length = 2;
			lexer->at += 2;
			return 0;
		}
	}
	if (strchr("=&|", *text))
		return lexer_refuse(lexer, lexer->at, "a character belongs to no expression");
	lexer->at += ret_token->length;
	return 0;
}
