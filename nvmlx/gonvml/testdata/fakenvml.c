/* A libnvidia-ml.so.1 of two GPUs for tests: it behaves as nvml.h allows and as
 * drivers were seen to behave. Build it with
 *
 *     gcc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 fakenvml.c
 *
 * and -DOLD for a driver that has only the first version of each function and
 * none of the younger ones, or -DBARE for one with nothing but the essentials.
 *
 * Environment:
 *   FAKE_FAIL     function=code,...   these functions return these codes, metricN for one of GPM
 *   FAKE_SENTINEL 1                   values are NVML's "not available"
 *   FAKE_LOST     n                   GPU 1 is lost after n utilisation reads
 *   FAKE_MIG      1                   GPU 0 is in MIG mode, with two instances
 *   FAKE_GROW     n                   the first n lists of processes are "too small"
 *   FAKE_PROCS    n                   how many compute processes there are
 *   FAKE_UTIL     1, 2, 3             process utilisation is known; 2: one more appears; 3: old ones come again
 *   FAKE_DRIVER   version             default 580.95.05
 *   FAKE_COUNT    n                   how many GPUs there are, at most 2
 *   FAKE_ALLOC    n                   the n-th GPM sample is not to be had
 *   FAKE_PCIE     n                   MiB/s each way over PCIe
 *   FAKE_INSTANCE n                   the number of the first GPU instance, default 7
 *   FAKE_ECC      0                   no GPU tells of memory errors
 *
 * A call before nvmlInit or after nvmlShutdown aborts the process, as does a
 * structure of a version that the caller did not declare.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;

enum { OK = 0, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15, UNKNOWN = 999 };

struct device { int index, instance; };
static struct device gpus[2] = {{0, -1}, {1, -1}};
static struct device instances[2] = {{0, 0}, {0, 1}};
static int users, gpm_samples, event_sets, util_reads;

static int setting(const char *name, int otherwise) {
	const char *text = getenv(name);
	return text && *text ? atoi(text) : otherwise;
}

/* The code that FAKE_FAIL sets for a function, or 0. */
static int failing(const char *function) {
	const char *at = getenv("FAKE_FAIL");
	size_t n = strlen(function);
	while (at && *at) {
		if (!strncmp(at, function, n) && at[n] == '=')
			return atoi(at + n + 1);
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return 0;
}

static int lost(struct device *d) { return d->index == 1 && getenv("FAKE_LOST") && util_reads >= setting("FAKE_LOST", 0); }

#define ENTER                                                                            \
	do {                                                                             \
		int code_ = failing(__func__);                                           \
		if (users <= 0) {                                                        \
			fprintf(stderr, "fakenvml: %s without nvmlInit\n", __func__);    \
			abort();                                                         \
		}                                                                        \
		if (code_)                                                               \
			return code_;                                                    \
	} while (0)
#define ON(d)                                                                            \
	do {                                                                             \
		ENTER;                                                                   \
		if (lost(d))                                                             \
			return LOST;                                                     \
	} while (0)
#define VALUE32(x) (setting("FAKE_SENTINEL", 0) ? 0xffffffffu : (u32)(x))
#define VALUE64(x) (setting("FAKE_SENTINEL", 0) ? ~0ull : (u64)(x))

#ifdef NOTNVML
int something_else(void) { return 0; }
#else

#ifdef OLD
#define INIT nvmlInit
#define COUNT nvmlDeviceGetCount
#define BY_INDEX nvmlDeviceGetHandleByIndex
#else
#define INIT nvmlInit_v2
#define COUNT nvmlDeviceGetCount_v2
#define BY_INDEX nvmlDeviceGetHandleByIndex_v2
#endif

int INIT(void) {
	int code = failing(__func__);
	if (users > 0)
		fprintf(stderr, "fakenvml: initialised again before the end\n");
	if (!code)
		users++;
	return code;
}

int nvmlShutdown(void) {
	ENTER;
	users--;
	if (users == 0 && gpm_samples + event_sets) {
		fprintf(stderr, "fakenvml: %d GPM samples, %d event sets were not freed\n", gpm_samples, event_sets);
		abort();
	}
	return OK;
}

int COUNT(u32 *count) { ENTER; *count = setting("FAKE_COUNT", 2); return OK; }

int BY_INDEX(u32 index, void **device) {
	ENTER;
	if (index > 1)
		return BAD_ARGUMENT;
	*device = &gpus[index];
	return lost(&gpus[index]) ? LOST : OK;
}

static void uuid(struct device *d, char *text, u32 size) {
	if (d->instance < 0)
		snprintf(text, size, "GPU-%d", d->index);
	else
		snprintf(text, size, "MIG-%d-%d", d->index, d->instance);
}

int nvmlDeviceGetUUID(struct device *d, char *text, u32 size) { ON(d); uuid(d, text, size); return OK; }

#ifndef BARE
int nvmlSystemGetDriverVersion(char *text, u32 size) {
	ENTER;
	snprintf(text, size, "%s", getenv("FAKE_DRIVER") ? getenv("FAKE_DRIVER") : "580.95.05");
	return OK;
}

int nvmlDeviceGetHandleByUUID(const char *text, void **device) {
	struct device *all[] = {&gpus[0], &gpus[1], &instances[0], &instances[1]};
	char own[96];
	ENTER;
	for (int i = 0; i < 4; i++) {
		uuid(all[i], own, sizeof own);
		if (!strcmp(own, text)) {
			*device = all[i];
			return lost(all[i]) ? LOST : OK;
		}
	}
	return NOT_FOUND;
}

int nvmlDeviceGetName(struct device *d, char *text, u32 size) {
	ON(d);
	snprintf(text, size, "NVIDIA H100 80GB HBM3");
	return OK;
}

int nvmlDeviceGetUtilizationRates(struct device *d, u32 *rates) {
	if (d->index == 1)
		util_reads++;
	ON(d);
	if (d->instance >= 0)
		return NOT_SUPPORTED;
	rates[0] = VALUE32(setting("FAKE_MIG", 0) && d->index == 0 ? 0 : 93); /* MIG: the lie of some drivers */
	rates[1] = VALUE32(41);
	return OK;
}

struct memory { u64 total, free, used; };
int nvmlDeviceGetMemoryInfo(struct device *d, struct memory *m) {
	ON(d);
	m->total = VALUE64(81559ull << 20);
	m->free = VALUE64(70000ull << 20);
	m->used = VALUE64(11559ull << 20);
	return OK;
}

int nvmlDeviceGetPowerUsage(struct device *d, u32 *milliwatts) { ON(d); *milliwatts = VALUE32(312500); return OK; }

int nvmlDeviceGetClockInfo(struct device *d, u32 type, u32 *mhz) {
	ON(d);
	*mhz = VALUE32(type == 1 ? 1980 : type == 2 ? 2619 : 0);
	return OK;
}

int nvmlDeviceGetTemperature(struct device *d, u32 sensor, u32 *celsius) { ON(d); *celsius = VALUE32(61); return OK; }

/* Lists of processes: the same in all versions but for the row. */
struct row1 { u32 pid; u64 used; };
struct row2 { u32 pid; u64 used; u32 gi, ci; };

static int grown;
static int list(struct device *d, u32 first, u32 n, u32 *count, void *rows, int version) {
	if (lost(d))
		return LOST;
	if (grown < setting("FAKE_GROW", 0)) { /* one more appeared since you asked */
		grown++;
		*count = *count + 1;
		return TOO_SMALL;
	}
	if (*count < n) {
		*count = n;
		return TOO_SMALL;
	}
	*count = n;
	for (u32 i = 0; i < n; i++) {
		u64 used = VALUE64((u64)(i + 1) << 30);
		if (version == 1) {
			struct row1 r = {first + i, used};
			((struct row1 *)rows)[i] = r;
		} else {
			struct row2 r = {first + i, used, 0xffffffffu, 0xffffffffu};
			if (d->instance >= 0) {
				r.gi = setting("FAKE_INSTANCE", 7) + d->instance;
				r.ci = 0;
			}
			((struct row2 *)rows)[i] = r;
		}
	}
	return OK;
}

int nvmlDeviceGetComputeRunningProcesses(struct device *d, u32 *count, void *rows) { ENTER; return list(d, 1000, setting("FAKE_PROCS", 2), count, rows, 1); }

#ifdef OLD
int nvmlSystemGetCudaDriverVersion(int *version) { ENTER; *version = 9020; return OK; }
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d, u64 *bits) { ON(d); *bits = VALUE64(4); return OK; }
#else
int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, u32 *count, void *rows) { ENTER; return list(d, 1000, setting("FAKE_PROCS", 2), count, rows, 3); }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct device *d, u32 *count, void *rows) { ENTER; return list(d, 1001, d->index == 0, count, rows, 3); }
int nvmlSystemGetNVMLVersion(char *text, u32 size) { ENTER; snprintf(text, size, "13.580.95.05"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { ENTER; *version = 13010; return OK; }

int nvmlSystemGetProcessName(u32 pid, char *text, u32 size) {
	ENTER;
	if (pid == 1000)
		return NOT_FOUND;
	snprintf(text, size, "python%u", pid);
	return OK;
}

int nvmlDeviceGetCudaComputeCapability(struct device *d, int *major, int *minor) { ON(d); *major = 9; *minor = 0; return OK; }
int nvmlDeviceGetComputeMode(struct device *d, u32 *mode) { ON(d); *mode = 3; return OK; }
int nvmlDeviceGetNumaNodeId(struct device *d, u32 *node) { ON(d); *node = VALUE32(d->index); return OK; }

struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(struct device *d, struct pci *p) {
	ON(d);
	memset(p, 0, sizeof *p);
	snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", 0x3b + d->index);
	return OK;
}

struct memory2 { u32 version; u64 total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(struct device *d, struct memory2 *m) {
	ON(d);
	if (m->version != (sizeof *m | 2u << 24))
		abort();
	m->total = VALUE64(d->instance < 0 ? 81559ull << 20 : 9984ull << 20);
	m->reserved = VALUE64(559ull << 20);
	m->free = VALUE64(70000ull << 20);
	m->used = VALUE64(d->instance < 0 ? 11000ull << 20 : 5000ull << 20);
	return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(struct device *d, u64 *millijoules) { ON(d); *millijoules = VALUE64(123456789); return OK; }
int nvmlDeviceGetCurrentClocksEventReasons(struct device *d, u64 *bits) { ON(d); *bits = VALUE64(0x24); return OK; }

int nvmlDeviceGetMigMode(struct device *d, u32 *current, u32 *pending) {
	ON(d);
	*current = *pending = setting("FAKE_MIG", 0) && d->index == 0;
	return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(struct device *d, u32 *count) { ON(d); *count = 7; return OK; }

int nvmlDeviceGetMigDeviceHandleByIndex(struct device *d, u32 index, void **device) {
	ON(d);
	if (index != 1 && index != 3)
		return NOT_FOUND;
	*device = &instances[index / 2];
	return OK;
}

int nvmlDeviceGetGpuInstanceId(struct device *d, u32 *id) { ON(d); *id = setting("FAKE_INSTANCE", 7) + d->instance; return OK; }
int nvmlDeviceGetComputeInstanceId(struct device *d, u32 *id) { ON(d); *id = 0; return OK; }

struct attributes { u32 sms, copy, dec, enc, jpeg, ofa, gpu_slices, compute_slices; u64 memory_mib; };
int nvmlDeviceGetAttributes_v2(struct device *d, struct attributes *a) {
	ON(d);
	memset(a, 0, sizeof *a);
	a->sms = 16;
	a->gpu_slices = a->compute_slices = 1;
	a->memory_mib = 9856; /* of the data sheet */
	return OK;
}

struct utilization { u32 pid; u64 time; u32 sm, mem, enc, dec; };
int nvmlDeviceGetProcessUtilization(struct device *d, struct utilization *u, u32 *count, u64 since) {
	struct utilization all[3] = {{1000, 500, 0, 1, 0, 0}, {1000, 700, 80, 1, 0, 0}, {1001, 600, 0xffffffffu, 0, 0, 0}};
	ON(d);
	if (!setting("FAKE_UTIL", 0))
		return NOT_SUPPORTED;
	if (since >= 700 && setting("FAKE_UTIL", 0) != 3)
		return NOT_FOUND;
	if (!u || *count < 3) {
		*count = 3;
		return TOO_SMALL;
	}
	if (setting("FAKE_UTIL", 0) == 2) {
		*count = 5;
		return TOO_SMALL;
	}
	memcpy(u, all, sizeof all);
	return OK;
}

/* Events: at first nothing happens, then GPU 1 has XID 79 and a memory error, then
 * nothing more happens, until FAKE_EVENTS calls have been made and the driver gives up. */
struct event { struct device *device; u64 type, data; u32 gi, ci; };
int nvmlEventSetCreate(void **set) { ENTER; *set = calloc(1, sizeof(int)); event_sets++; return OK; }
int nvmlEventSetFree(void *set) { ENTER; free(set); event_sets--; return OK; }
int nvmlDeviceRegisterEvents(struct device *d, u64 types, void *set) { ON(d); return types == (setting("FAKE_ECC", 1) ? 10 : 8) ? OK : NOT_SUPPORTED; }

int nvmlEventSetWait_v2(int *set, struct event *e, u32 milliseconds) {
	struct event what = {&gpus[1], *set > 1 ? 2 : 8, *set > 1 ? 0 : 79, 0, 0};
	ENTER;
	if (*set == 1 || *set == 2) {
		++*set;
		*e = what;
		return OK;
	}
	if (++*set > setting("FAKE_EVENTS", 1 << 30))
		return LOST;
	usleep(1000 * milliseconds / 20);
	return 10;
}

/* GPM: a sample is a running number; metrics grow with the distance of two. */
struct metric { u32 id, code; double value; const char *names[3]; };
struct metrics { u32 version, n; int *older, *newer; struct metric metric[]; };
struct support { u32 version, yes; };

int nvmlGpmQueryDeviceSupport(struct device *d, struct support *s) {
	ON(d);
	if (s->version != 1)
		abort();
	s->yes = d->index == 0;
	return OK;
}

int nvmlGpmSampleAlloc(int **sample) {
	static int asked;
	ENTER;
	if (++asked == setting("FAKE_ALLOC", 0))
		return UNKNOWN;
	*sample = calloc(1, sizeof **sample);
	gpm_samples++;
	return OK;
}
int nvmlGpmSampleFree(int *sample) { ENTER; free(sample); gpm_samples--; return OK; }

static int gpm_clock;
int nvmlGpmSampleGet(struct device *d, int *sample) { ON(d); *sample = ++gpm_clock; return OK; }
int nvmlGpmMigSampleGet(struct device *d, u32 gpu_instance, int *sample) { ON(d); *sample = ++gpm_clock; return gpu_instance - setting("FAKE_INSTANCE", 7) < 2 ? OK : BAD_ARGUMENT; }

int nvmlGpmMetricsGet(struct metrics *m) {
	ENTER;
	if (m->version != 1 || *m->newer <= *m->older)
		return BAD_ARGUMENT;
	for (u32 i = 0; i < m->n; i++) {
		struct metric *x = &m->metric[i];
		char name[16];
		snprintf(name, sizeof name, "metric%u", x->id);
		x->code = failing(name);
		x->value = setting("FAKE_SENTINEL", 0) ? 0.0 / 0.0 : x->id == 10 ? 100.004 : x->id >= 20 ? setting("FAKE_PCIE", 512) : 6.25 * x->id;
	}
	return OK;
}
#endif
#endif
#endif
