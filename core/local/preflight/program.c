/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a container's program, its script and its working directory are on this machine. */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "local/pod/images.h"
#include "local/preflight/frameworks.h"
#include "local/preflight/parts.h"

/* What a process without PATH gets. */
#define PROGRAM_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static unsigned program_look(const struct rh_preflight_container *container, const char *path)
{
	const struct rh_preflight_machine *machine = &container->pod->all->machine;

	return machine->look(machine->arg, path);
}

static const char *program_image(const struct rh_preflight_container *container)
{
	const char *image = rh_json_string(rh_json_get(container->json, "image"));

	return image ? image : "";
}

static const struct rh_setting *program_mapping(const struct rh_preflight_container *container)
{
	return rh_images_find(container->pod->all->config, program_image(container));
}

__attribute__((format(printf, 3, 4))) static int program_add(const struct rh_preflight_container *container,
                                                             const char *member, const char *fmt, ...)
{
	rh_auto_free char *place = rh_asprintf("%s.%s", container->place, member);
	rh_auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = rh_vasprintf(fmt, args);
	va_end(args);
	if (!place || !text)
		return RH_ENOMEM;
	return rh_findings_add(container->pod->findings, RH_FINDING_ERROR, place, "%s", text);
}

/* @return the n-th word of command and args together, or NULL */
static const char *program_word(const struct rh_preflight_container *container, size_t n, const char **ret_member,
                                size_t *ret_index)
{
	static const char *const members[] = {"command", "args"};

	for (size_t i = 0; i < 2; i++) {
		const struct rh_json *list = rh_json_get(container->json, members[i]);
		size_t count = rh_json_size(list);

		if (n < count) {
			*ret_member = members[i];
			*ret_index = n;
			return rh_json_string(rh_json_item(list, n));
		}
		n -= count;
	}
	return NULL;
}

static int program_add_word(const struct rh_preflight_container *container, size_t n, const char *text)
{
	const char *member = "command";
	size_t index = 0;
	rh_auto_free char *place = NULL;

	(void)program_word(container, n, &member, &index);
	place = rh_asprintf("%s[%zu]", member, index);
	return place ? program_add(container, place, "%s", text) : RH_ENOMEM;
}

/* What to do where the environment of this machine lacks something. */
static char *program_fix(const struct rh_preflight_container *container)
{
	const struct rh_setting *line = program_mapping(container);
	const char *image = program_image(container);
	const char *framework = rh_framework_of_image(image);

	if (line)
		return rh_asprintf("the image \"%s\" stands for \"%s\" here (%s); install it there, or map the image to "
		                   "another environment with --image",
		                   image, line->value, line->origin);
	return rh_asprintf("the image \"%s\" is not run here, and not mapped; name an environment that has it with --image "
	                   "'%s=FOLDER', or in section [images] of roundhouse.ini%s%s%s",
	                   image, image, framework ? "; or make one that has " : "", framework ? framework : "",
	                   framework ? ", with `roundhouse run --setup`" : "");
}

static int program_check_image(const struct rh_preflight_container *container, const struct rh_setting *line)
{
	for (const char *at = line->value; *at; at += *at == ':' ? 1 : 0) {
		size_t length = strcspn(at, ":");
		rh_auto_free char *folder = rh_strndup(at, length);

		if (!folder)
			return RH_ENOMEM;
		at += length;
		if (length > 0 && (folder[0] != '/' || !(program_look(container, folder) & RH_LOOK_FOLDER)))
			return program_add(container, "image",
			                   "\"%s\" is mapped to \"%s\", which is not a folder of this machine (%s); correct it",
			                   program_image(container), folder, line->origin);
	}
	return 0;
}

/* @return 1: found; 0; or RH_ENOMEM */
static int program_in_list(const struct rh_preflight_container *container, const char *list, const char *name)
{
	for (const char *at = list; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int length = (int)strcspn(at, ":");
		rh_auto_free char *plain = rh_asprintf("%.*s/%s", length, at, name);
		rh_auto_free char *bin = rh_asprintf("%.*s/bin/%s", length, at, name);

		if (!plain || !bin)
			return RH_ENOMEM;
		if (length == 0 || *at != '/') /* relative to a folder that may be made later */
			continue;
		if ((program_look(container, plain) | program_look(container, bin)) & RH_LOOK_EXECUTE)
			return 1;
	}
	return 0;
}

/* @return the container's own PATH: "" where it cannot be known; NULL: it has none */
static const char *program_own_path(const struct rh_preflight_container *container)
{
	const struct rh_json *item = rh_json_first(rh_json_get(container->json, "env"));
	const char *found = NULL;

	for (; item; item = rh_json_next(item)) {
		const char *value = rh_json_string(rh_json_get(item, "value"));

		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), "PATH"))
			found = value && !strstr(value, "$(") ? value : "";
	}
	return found;
}

/* @return as program_in_list(); @param own PATH of the container, or NULL */
static int program_is_there(const struct rh_preflight_container *container, const char *own, const char *name)
{
	const struct rh_setting *line = program_mapping(container);
	const char *path = own ? own : container->pod->all->machine.path;
	int r = line && !own ? program_in_list(container, line->value, name) : 0;

	return r == 0 ? program_in_list(container, path ? path : PROGRAM_DEFAULT_PATH, name) : r;
}

/* The package of Debian that has a program for which jobs need no environment of their own; NULL: none is known. */
static const char *program_package(const char *name)
{
	return strcmp(name, "mpirun") == 0 || strcmp(name, "mpiexec") == 0 ? "openmpi-bin" : NULL;
}

/* Images have a "python"; Debian and others have it under another name alone. */
static int program_search(const struct rh_preflight_container *container, const char *name)
{
	const char *own = program_own_path(container);
	const char *package = program_package(name);
	rh_auto_free char *fix = NULL;
	rh_auto_free char *text = NULL;
	int near = 0;
	int r;

	if (own && !*own)
		return 0;
	r = program_is_there(container, own, name);
	if (r == 0 && strcmp(name, "python") == 0)
		near = program_is_there(container, own, "python3");
	if (r != 0 || near < 0)
		return r < 0 || near < 0 ? RH_ENOMEM : 0;
	fix = program_fix(container);
	text = fix ? rh_asprintf("there is no program \"%s\" in PATH on this machine%s: %s%s%s", name,
	                         near ? " (did you mean \"python3\"?)" : "", fix,
	                         package ? "; or install the package " : "", package ? package : "")
	           : NULL;
	return text ? program_add_word(container, 0, text) : RH_ENOMEM;
}

/* Where relative paths of the container start. @param[out] ret_folder owned by the caller */
static int program_folder(const struct rh_preflight_container *container, char **ret_folder)
{
	const char *folder = rh_json_string(rh_json_get(container->json, "workingDir"));

	*ret_folder = folder && *folder ? rh_path_join(container->pod->folder, folder) : rh_strdup(container->pod->folder);
	return *ret_folder ? 0 : RH_ENOMEM;
}

/* @param[out] ret_bits of a path of the container; RH_LOOK_* of all where it cannot be known */
static int program_look_at(const struct rh_preflight_container *container, const char *path, unsigned *ret_bits)
{
	rh_auto_free char *folder = NULL;
	rh_auto_free char *absolute = NULL;
	rh_auto_free char *real = NULL;
	int r = program_folder(container, &folder);

	*ret_bits = ~0u;
	if (r < 0)
		return r;
	while (rh_starts_with(path, "./"))
		path += 2;
	absolute = strcmp(path, ".") == 0 ? rh_strdup(folder) : rh_path_join(folder, path);
	if (!absolute)
		return RH_ENOMEM;
	r = rh_preflight_real(container, absolute, &real);
	if (r == 0 && real)
		*ret_bits = program_look(container, real);
	/* what an init container of the same pod may have made */
	if (*ret_bits == 0 && container->after_init)
		*ret_bits = ~0u;
	return r;
}

static int program_check_path(const struct rh_preflight_container *container, const char *path)
{
	unsigned bits;
	rh_auto_free char *fix = NULL;
	rh_auto_free char *text = NULL;
	int r = program_look_at(container, path, &bits);

	if (r < 0 || (bits & RH_LOOK_EXECUTE))
		return r;
	if (bits != 0)
		return program_add_word(container, 0,
		                        "it is not a program that this user may execute; make it one with chmod +x, or name "
		                        "its interpreter before it");
	fix = program_fix(container);
	text = fix ? rh_asprintf("there is no program \"%s\" on this machine: %s, and then leave out the folder", path, fix)
	           : NULL;
	return text ? program_add_word(container, 0, text) : RH_ENOMEM;
}

static const char *program_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Programs whose first argument that is not an option is a file that they read. */
static bool program_is_interpreter(const char *name)
{
	return rh_starts_with(name, "python") || strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 ||
	       strcmp(name, "dash") == 0 || strcmp(name, "torchrun") == 0;
}

/*
 * The script among the arguments: the first that is not an option, and ends as scripts do, since an option may have a
 * value of its own. @return its position, or 0: none, or text and modules instead (-c, -m)
 */
static size_t program_script(const struct rh_preflight_container *container)
{
	const char *member;
	size_t index;

	for (size_t i = 1;; i++) {
		const char *word = program_word(container, i, &member, &index);

		if (!word || strcmp(word, "-c") == 0 || strcmp(word, "-m") == 0 || strcmp(word, "--module") == 0)
			return 0;
		if (word[0] != '-' && (rh_ends_with(word, ".py") || rh_ends_with(word, ".sh")))
			return i;
	}
}

static int program_check_script(const struct rh_preflight_container *container, size_t n)
{
	const char *member;
	size_t index;
	const char *path = program_word(container, n, &member, &index);
	rh_auto_free char *folder = NULL;
	rh_auto_free char *near = NULL;
	rh_auto_free char *text = NULL;
	unsigned bits;
	int r;

	if (strstr(path, "$("))
		return 0;
	r = program_look_at(container, path, &bits);
	if (r == 0 && bits == 0)
		r = program_folder(container, &folder);
	if (r < 0 || bits != 0)
		return r;
	near = rh_path_nearest(folder, path);
	text = rh_asprintf(
		"there is no file \"%s\" on this machine%s%s%s: the image \"%s\" is not run here; copy the file beside "
		"the job file, and name its path (relative ones start at the folder of the job file, or at "
		"workingDir)",
		path, near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "", program_image(container));
	return text ? program_add_word(container, n, text) : RH_ENOMEM;
}

static int program_check_words(const struct rh_preflight_container *container)
{
	const char *member;
	size_t index, script;
	const char *first = program_word(container, 0, &member, &index);
	int r;

	if (!first || !*first || strstr(first, "$("))
		return 0;
	r = strchr(first, '/') ? program_check_path(container, first) : program_search(container, first);
	script = program_is_interpreter(program_base(first)) ? program_script(container) : 0;
	return r == 0 && script > 0 ? program_check_script(container, script) : r;
}

/* @return 1: it is there, or may be; 0: it is not, which has been added; or RH_ENOMEM */
static int program_check_folder(const struct rh_preflight_container *container)
{
	const char *folder = rh_json_string(rh_json_get(container->json, "workingDir"));
	unsigned bits;
	int r;

	if (!folder || !*folder || strstr(folder, "$("))
		return 1;
	r = program_look_at(container, ".", &bits);
	if (r < 0 || (bits & RH_LOOK_FOLDER))
		return r < 0 ? r : 1;
	return program_add(container, "workingDir",
	                   "there is no folder \"%s\" on this machine: the image is not run here; remove workingDir, so "
	                   "that the program starts in the folder of the job file, or name a folder that exists",
	                   folder);
}

int rh_preflight_program(const struct rh_preflight_container *container)
{
	const struct rh_setting *line = program_mapping(container);
	int r = line ? program_check_image(container, line) : 0;

	if (r < 0)
		return r;
	if (rh_json_size(rh_json_get(container->json, "command")) == 0)
		return program_add(container, "command",
		                   "Required value: on one machine the image \"%s\" is not run, so the program must be named; "
		                   "add command: [\"python3\", \"train.py\"] or the like",
		                   program_image(container));
	r = program_check_folder(container);
	return r > 0 ? program_check_words(container) : r;
}
