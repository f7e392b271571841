/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/machine.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "local/devices/devices.h"
#include "local/preflight/listeners.h"

static unsigned machine_look(void *arg, const char *path)
{
	struct stat st;
	unsigned bits = RH_LOOK_THERE;

	(void)arg;
	if (stat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		bits |= RH_LOOK_FOLDER;
	/* what is no file either, such as a device, is left to the start, which has the system's own words */
	if (!S_ISDIR(st.st_mode) && (!S_ISREG(st.st_mode) || access(path, X_OK) == 0))
		bits |= RH_LOOK_EXECUTE;
	if (access(path, W_OK) == 0)
		bits |= RH_LOOK_WRITE;
	return bits;
}

static int64_t machine_room(void *arg, const char *path)
{
	struct statvfs st;

	(void)arg;
	return statvfs(path, &st) == 0 ? (int64_t)(st.f_bavail * st.f_frsize) : -1;
}

static int64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

static int64_t machine_shm(void)
{
	struct statvfs st;

	return statvfs("/dev/shm", &st) == 0 ? (int64_t)(st.f_blocks * st.f_frsize) : 0;
}

void rh_preflight_machine_read(bool can_mount, struct rh_preflight_machine *ret_machine)
{
	struct rh_devices devices = {.count = 0};

	rh_devices_find("", getenv("CUDA_VISIBLE_DEVICES"), &devices);
	*ret_machine = (struct rh_preflight_machine){.look = machine_look,
	                                             .room = machine_room,
	                                             .port = rh_preflight_listener,
	                                             .path = getenv("PATH"),
	                                             .gpus = devices.count,
	                                             .memory = machine_memory(),
	                                             .shm = machine_shm(),
	                                             .can_mount = can_mount};
}
