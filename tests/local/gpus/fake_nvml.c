/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 of ours: functions of NVML's C API with the names, layouts and numbers of nvml.h, over a text
 * file, which $RH_FAKE_NVML names. A line is GPU PID MEMORY USE: bytes, and percent of the GPU at a time (the one of
 * the line; the last line of a process is the newest); "-" for what the driver does not say. PID 0 makes a GPU without
 * a process. GPUs count from 0. A file with a line "mig" refuses samples, as a GPU in parts does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9
};

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct nvmlProcessInfo_st {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId;
	unsigned int computeInstanceId;
} nvmlProcessInfo_t;

typedef struct nvmlProcessUtilizationSample_st {
	unsigned int pid;
	unsigned long long timeStamp;
	unsigned int smUtil;
	unsigned int memUtil;
	unsigned int encUtil;
	unsigned int decUtil;
} nvmlProcessUtilizationSample_t;

#define FAKE_LINES 1000

/* One line of the file. */
struct line {
	unsigned gpu;
	unsigned pid;
	unsigned long long memory;
	int use; /* -1: "-" */
};

/* The whole file. */
struct all {
	struct line lines[FAKE_LINES];
	unsigned count;
	unsigned gpus;
	bool parts;
};

static int opened;

static bool read_all(struct all *all)
{
	const char *path = getenv("RH_FAKE_NVML");
	FILE *file = path ? fopen(path, "re") : NULL;
	char text[200];

	*all = (struct all){.count = 0};
	while (file && all->count < FAKE_LINES && fgets(text, sizeof(text), file)) {
		struct line *line = &all->lines[all->count];
		char memory[32];
		char use[32];

		if (strcmp(text, "mig\n") == 0)
			all->parts = true;
		else if (sscanf(text, "%u %u %31s %31s", &line->gpu, &line->pid, memory, use) == 4) {
			line->memory = strcmp(memory, "-") == 0 ? (unsigned long long)-1 : strtoull(memory, NULL, 10);
			line->use = strcmp(use, "-") == 0 ? -1 : (int)strtol(use, NULL, 10);
			all->gpus = line->gpu + 1 > all->gpus ? line->gpu + 1 : all->gpus;
			all->count++;
		}
	}
	if (file)
		(void)fclose(file);
	return file != NULL;
}

static unsigned index_of(nvmlDevice_t device)
{
	return (unsigned)((size_t)device - 1);
}

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos);
int nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned int *count,
                                    unsigned long long since);

int nvmlInit_v2(void)
{
	struct all all;

	opened = read_all(&all);
	return opened ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

int nvmlShutdown(void)
{
	opened = 0;
	return NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	struct all all;

	(void)read_all(&all);
	*count = all.gpus;
	return opened ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)((char *)NULL + index + 1);
	return NVML_SUCCESS;
}

/* As the driver: a process once, and the number of all where there is no room. */
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	unsigned int room = *count;
	unsigned int last = 0;
	struct all all;

	(void)read_all(&all);
	*count = 0;
	for (unsigned i = 0; i < all.count; i++) {
		const struct line *line = &all.lines[i];

		if (line->gpu != index_of(device) || line->pid == 0 || line->pid == last)
			continue;
		last = line->pid;
		if (*count < room && infos)
			infos[*count] = (nvmlProcessInfo_t){.pid = line->pid, .usedGpuMemory = line->memory};
		++*count;
	}
	return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

int nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples, unsigned int *count,
                                    unsigned long long since)
{
	unsigned int room = samples ? *count : 0;
	struct all all;

	(void)read_all(&all);
	if (all.parts)
		return NVML_ERROR_NOT_SUPPORTED;
	*count = 0;
	for (unsigned i = 0; i < all.count; i++) {
		const struct line *line = &all.lines[i];

		if (line->gpu != index_of(device) || line->pid == 0 || line->use < 0)
			continue;
		if (*count < room)
			samples[*count] = (nvmlProcessUtilizationSample_t){
				.pid = line->pid, .timeStamp = since + 1 + i, .smUtil = (unsigned)line->use};
		++*count;
	}
	if (*count == 0)
		return NVML_ERROR_NOT_FOUND;
	return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
