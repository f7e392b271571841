/* SPDX-License-Identifier: Apache-2.0 */
#include "local/devices/devices.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* Numbers of devices that are called by a UUID lie above those of any index. */
#define DEVICES_NUMBER_UUID 0x8000

static bool devices_is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static int32_t devices_number(const char *id)
{
	if (devices_is_number(id) && strlen(id) < 5)
		return (int32_t)strtol(id, NULL, 10);
	return (int32_t)(DEVICES_NUMBER_UUID + rh_hash(id, strlen(id)) % DEVICES_NUMBER_UUID);
}

static void devices_add(struct rh_devices *devices, const char *id)
{
	struct rh_device *device;

	if (devices->count == RH_DEVICES_MAX)
		return;
	device = &devices->items[devices->count++];
	rh_copy(device->id, sizeof(device->id), id);
	device->number = devices_number(id);
}

/* "2,GPU-8932f937": CUDA ignores everything after an unknown entry, such as -1. */
static void devices_read_list(const char *visible, struct rh_devices *devices)
{
	for (const char *at = visible; *at; at += *at == ',' ? 1 : 0) {
		size_t length = strcspn(at, ",");
		const char *start = at + strspn(at, " ");
		rh_auto_free char *id = NULL;

		at += length;
		id = rh_strndup(start, start < at ? (size_t)(at - start) : 0);
		if (!id)
			return;
		id[strcspn(id, " ")] = '\0';
		if (!isalnum((unsigned char)id[0]))
			return;
		devices_add(devices, id);
	}
}

/* How many entries of ROOT/FOLDER are named PREFIX and a number; any name will do where `prefix` is NULL. */
static size_t devices_count(const char *root, const char *folder, const char *prefix)
{
	rh_auto_free char *path = rh_asprintf("%s%s", root, folder);
	DIR *list = path ? opendir(path) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	while (list && (entry = readdir(list))) {
		const char *name = entry->d_name;

		if (prefix)
			count += rh_starts_with(name, prefix) && devices_is_number(name + strlen(prefix)) ? 1 : 0;
		else
			count += name[0] != '.' ? 1 : 0;
	}
	if (list)
		(void)closedir(list);
	return count;
}

void rh_devices_find(const char *root, const char *visible, struct rh_devices *ret_devices)
{
	size_t count;

	*ret_devices = (struct rh_devices){0};
	if (visible) {
		devices_read_list(visible, ret_devices);
		return;
	}
	/* a container sees the driver's list of all devices, but nodes of its own only; on a machine the nodes may not be
	 * made yet */
	count = devices_count(root, "/dev", "nvidia");
	if (count == 0)
		count = devices_count(root, "/proc/driver/nvidia/gpus", NULL);
	for (size_t i = 0; i < count; i++) {
		char id[24];

		(void)snprintf(id, sizeof(id), "%zu", i);
		devices_add(ret_devices, id);
	}
}

int rh_devices_pick(const struct rh_devices *devices, bool *used, size_t want, const char **ret_ids,
                    struct rh_error *err)
{
	size_t free_count = 0;
	size_t picked = 0;

	for (size_t i = 0; i < devices->count; i++)
		free_count += used[i] ? 0 : 1;
	if (want > devices->count)
		return rh_fail(
			err, RH_EINVAL,
			"the pod wants %zu GPUs (nvidia.com/gpu), but this machine has %zu that may be used; ask for fewer", want,
			devices->count);
	if (want > free_count)
		return rh_fail(err, RH_EAGAIN, "the pod wants %zu GPUs (nvidia.com/gpu), but %zu of %zu are in use", want,
		               devices->count - free_count, devices->count);
	for (size_t i = 0; picked < want; i++) {
		if (used[i])
			continue;
		used[i] = true;
		ret_ids[picked++] = devices->items[i].id;
	}
	return 0;
}
