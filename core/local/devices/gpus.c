/* SPDX-License-Identifier: Apache-2.0 */
/* The C API of NVML as far as it is needed: names, layouts and numbers of nvml.h. */
#include "local/devices/gpus.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/os/clock.h"

#define GPUS_LIBRARY "libnvidia-ml.so.1"
/* Most GPUs that are looked at. */
#define GPUS_MAX 64
/* Processes of one GPU that there is room for at first, and most. */
#define GPUS_ROOM 64
#define GPUS_ROOM_MAX 65536
/* How far back samples are asked for, microseconds: the driver takes one or more a second. Its time is that of the wall
 * clock. */
#define GPUS_SPAN (2 * RH_SECOND)
/* NVML_VALUE_NOT_AVAILABLE */
#define GPUS_NOT_AVAILABLE UINT64_MAX

/* nvmlReturn_t */
enum gpus_status { GPUS_SUCCESS = 0, GPUS_NOT_SUPPORTED = 3, GPUS_NOT_FOUND = 6, GPUS_INSUFFICIENT_SIZE = 7 };

/* nvmlProcessInfo_t of the second and the third version of the function */
struct gpus_process {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance;
	unsigned compute_instance;
};

/* nvmlProcessUtilizationSample_t; parts of a GPU in percent */
struct gpus_sample {
	unsigned pid;
	unsigned long long at;
	unsigned sm;
	unsigned memory;
	unsigned encoder;
	unsigned decoder;
};

struct rh_gpus {
	void *library;
	int (*shut_down)(void);
	int (*processes)(void *device, unsigned *count, struct gpus_process *infos);
	int (*samples)(void *device, struct gpus_sample *samples, unsigned *count, unsigned long long since);
	void *devices[GPUS_MAX]; /* nvmlDevice_t */
	size_t count;
};

/* What is found. */
struct gpus_look {
	struct rh_gpu_use *uses;
	size_t count;
};

/* POSIX gives functions as pointers to data; C knows no such conversion. */
static bool gpus_symbol(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	*(void **)function = found;
	return found != NULL;
}

static void gpus_find(struct rh_gpus *gpus)
{
	int (*count_of)(unsigned *count);
	int (*handle_of)(unsigned index, void **device);
	unsigned count = 0;

	if (!gpus_symbol(gpus->library, "nvmlDeviceGetCount_v2", &count_of) ||
	    !gpus_symbol(gpus->library, "nvmlDeviceGetHandleByIndex_v2", &handle_of) || count_of(&count) != GPUS_SUCCESS)
		return;
	/* one that is lost or forbidden has no handle */
	for (unsigned i = 0; i < count && gpus->count < GPUS_MAX; i++)
		gpus->count += handle_of(i, &gpus->devices[gpus->count]) == GPUS_SUCCESS ? 1 : 0;
}

struct rh_gpus *rh_gpus_open(void)
{
	void *library = dlopen(GPUS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct rh_gpus *gpus = library ? rh_alloc(sizeof(*gpus)) : NULL;
	int (*init)(void);

	if (!gpus) {
		if (library)
			(void)dlclose(library);
		return NULL;
	}
	gpus->library = library;
	if (gpus_symbol(library, "nvmlInit_v2", &init) && init() == GPUS_SUCCESS) {
		(void)gpus_symbol(library, "nvmlShutdown", &gpus->shut_down);
		if (gpus_symbol(library, "nvmlDeviceGetComputeRunningProcesses_v3", &gpus->processes) ||
		    gpus_symbol(library, "nvmlDeviceGetComputeRunningProcesses_v2", &gpus->processes))
			gpus_find(gpus);
		(void)gpus_symbol(library, "nvmlDeviceGetProcessUtilization", &gpus->samples);
	}
	if (gpus->count > 0)
		return gpus;
	rh_gpus_free(gpus);
	return NULL;
}

void rh_gpus_free(struct rh_gpus *gpus)
{
	if (!gpus)
		return;
	if (gpus->shut_down)
		(void)gpus->shut_down();
	(void)dlclose(gpus->library);
	rh_free(gpus);
}

static int gpus_add(struct gpus_look *look, int64_t pid, int64_t memory)
{
	struct rh_gpu_use *grown = rh_realloc_array(look->uses, look->count + 1, sizeof(*grown));

	if (!grown)
		return RH_ENOMEM;
	look->uses = grown;
	grown[look->count++] = (struct rh_gpu_use){.pid = pid, .memory = memory, .share = -1};
	return 0;
}

static int gpus_read_processes(const struct rh_gpus *gpus, void *device, struct gpus_look *look)
{
	rh_auto_free struct gpus_process *infos = NULL;
	unsigned count = 0;
	int status = GPUS_INSUFFICIENT_SIZE;
	int r = 0;

	for (unsigned room = GPUS_ROOM; status == GPUS_INSUFFICIENT_SIZE && room <= GPUS_ROOM_MAX; room *= 4) {
		struct gpus_process *grown = rh_realloc_array(infos, room, sizeof(*grown));

		if (!grown)
			return RH_ENOMEM;
		infos = grown;
		count = room;
		status = gpus->processes(device, &count, infos);
	}
	for (unsigned i = 0; status == GPUS_SUCCESS && i < count && r == 0; i++) {
		bool known = infos[i].memory != GPUS_NOT_AVAILABLE;

		r = gpus_add(look, infos[i].pid, known ? (int64_t)infos[i].memory : -1);
	}
	return r;
}

/* Samples of one GPU, and the first use of it. */
struct gpus_samples {
	const struct gpus_sample *items;
	unsigned count;
	size_t from;
};

/* The newest sample of a process counts; one without a sample did nothing. */
static void gpus_take_samples(const struct gpus_look *look, const struct gpus_samples *samples)
{
	for (size_t i = samples->from; i < look->count; i++) {
		unsigned long long newest = 0;

		look->uses[i].share = 0;
		for (unsigned k = 0; k < samples->count; k++) {
			const struct gpus_sample *sample = &samples->items[k];

			if ((int64_t)sample->pid != look->uses[i].pid || sample->at < newest)
				continue;
			newest = sample->at;
			look->uses[i].share = sample->sm < 100 ? (double)sample->sm / 100 : 1;
		}
	}
}

/* Parts of a GPU (MIG) and some machines have no samples: then shares stay unknown. */
static int gpus_read_samples(const struct rh_gpus *gpus, void *device, size_t from, struct gpus_look *look)
{
	unsigned long long since = (unsigned long long)(rh_clock_wall() - GPUS_SPAN);
	rh_auto_free struct gpus_sample *items = NULL;
	struct gpus_samples samples = {.from = from};
	int status = gpus->samples ? gpus->samples(device, NULL, &samples.count, since) : GPUS_NOT_SUPPORTED;

	if (status == GPUS_INSUFFICIENT_SIZE && samples.count <= GPUS_ROOM_MAX) {
		items = rh_alloc_array(samples.count, sizeof(*items));
		if (!items)
			return RH_ENOMEM;
		samples.items = items;
		status = gpus->samples(device, items, &samples.count, since);
	}
	if (status == GPUS_NOT_FOUND || (status == GPUS_SUCCESS && !items))
		samples.count = 0;
	else if (status != GPUS_SUCCESS)
		return 0;
	gpus_take_samples(look, &samples);
	return 0;
}

void rh_gpu_total_add(struct rh_gpu_total *total, const struct rh_gpu_use *use)
{
	total->count++;
	total->memory = total->memory < 0 || use->memory < 0 ? -1 : total->memory + use->memory;
	total->share = total->share < 0 || use->share < 0 ? -1 : total->share + use->share;
}

int rh_gpus_read(struct rh_gpus *gpus, struct rh_gpu_use **ret_uses, size_t *ret_count)
{
	struct gpus_look look = {NULL, 0};
	int r = 0;

	for (size_t i = 0; i < gpus->count && r == 0; i++) {
		size_t from = look.count;

		r = gpus_read_processes(gpus, gpus->devices[i], &look);
		if (r == 0)
			r = gpus_read_samples(gpus, gpus->devices[i], from, &look);
	}
	if (r < 0) {
		rh_free(look.uses);
		look = (struct gpus_look){NULL, 0};
	}
	*ret_uses = look.uses;
	*ret_count = look.count;
	return r;
}
