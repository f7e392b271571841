/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/preflight.h"

#include <stdio.h>
#include <string.h>

#include "job/kinds.h"
#include "job/support.h"
#include "local/pod/images.h"
#include "local/pod/volumes.h"

#define MIB ((int64_t)1024 * 1024)
/* A PyTorchJob "j" of two Workers; members of the pod's spec, of its container, and the command's words. */
#define POD(spec, container)                                                                                      \
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'j'},'spec':{'pytorchReplicaSpecs':{" \
	"'Worker':{'replicas':2,'template':{'spec':{" spec                                                            \
	"'containers':[{'name':'pytorch','image':'example/a:1'" container "}]}}}}}}"
#define CONTAINER(members) POD("", ",'command':['sh']," members)
#define COMMAND(words) POD("", ",'command':[" words "]")
#define VOLUME(volume) \
	POD("'volumes':[{'name':'v'," volume "}],", ",'command':['sh'],'volumeMounts':[{'name':'v','mountPath':'/v'}]")
#define SPEC "spec.pytorchReplicaSpecs[Worker].template.spec"
#define PLACE SPEC ".containers[0]"

/* A file of the machine under test. */
struct file {
	const char *path;
	unsigned bits;
};

static const struct file files[] = {
	{"/", RH_LOOK_THERE | RH_LOOK_FOLDER},
	{"/usr/bin/sh", RH_LOOK_THERE | RH_LOOK_EXECUTE},
	{"/usr/bin/python3", RH_LOOK_THERE | RH_LOOK_EXECUTE},
	{"/usr/bin/notes", RH_LOOK_THERE},
	{"/venv", RH_LOOK_THERE | RH_LOOK_FOLDER},
	{"/venv/bin/torchrun", RH_LOOK_THERE | RH_LOOK_EXECUTE},
	{"/home/me", RH_LOOK_THERE | RH_LOOK_FOLDER | RH_LOOK_WRITE},
	{"/home/me/train.py", RH_LOOK_THERE},
	{"/home/me/src", RH_LOOK_THERE | RH_LOOK_FOLDER},
	{"/home/me/src/deep.py", RH_LOOK_THERE},
	{"/data", RH_LOOK_THERE | RH_LOOK_FOLDER | RH_LOOK_WRITE},
	{"/data/in.py", RH_LOOK_THERE},
	{"/a-file", RH_LOOK_THERE},
};

static unsigned look(void *arg, const char *path)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (strcmp(files[i].path, path) == 0)
			return files[i].bits;
	}
	return 0;
}

/* The file system of /data is nearly full. */
static int64_t room(void *arg, const char *path)
{
	(void)arg;
	return strcmp(path, "/data") == 0 ? 12 * MIB : 1024 * MIB;
}

/* On 29500 a server listens on all addresses, on 8080 on one. */
static bool port_used(void *arg, int32_t port, bool everywhere, char who[RH_PREFLIGHT_WHO_SIZE])
{
	(void)arg;
	(void)snprintf(who, RH_PREFLIGHT_WHO_SIZE, "process 42 (server)");
	return port == 29500 || (everywhere && port == 8080);
}

static const struct rh_preflight_machine machine = {.look = look,
                                                    .room = room,
                                                    .port = port_used,
                                                    .path = "/usr/bin:/bin",
                                                    .gpus = 1,
                                                    .memory = 1024 * MIB,
                                                    .shm = 64 * MIB,
                                                    .can_mount = true};

static const char objects[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {k: v}\n---\n"
							  "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {k: v}\n---\n"
							  "apiVersion: v1\nkind: Secret\nmetadata: {name: far, namespace: other}\n---\n"
							  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: new}\n---\n"
							  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: full}\n"
							  "spec: {volumeName: data-1}\n";

/* Checks of one call, with a configuration and files. */
struct test {
	struct rh_config *config;
	struct rh_manifest manifest;
	struct rh_preflight all;
};

static void test_open(struct test *test)
{
	struct rh_error err = {0};

	test->config = rh_config_new();
	assert_non_null(test->config);
	if (rh_manifest_parse(&test->manifest, "objects.yaml", objects, strlen(objects), &err) < 0)
		fail_msg("%s", err.message);
	test->all = (struct rh_preflight){.config = test->config, .manifest = &test->manifest, .machine = machine};
}

static void test_close(struct test *test)
{
	rh_manifest_deinit(&test->manifest);
	rh_config_free(test->config);
}

/* The pods are the templates: what plugins add is tested with them (tests/cli). */
static int check(const struct test *test, const char *text, struct rh_findings *findings)
{
	rh_auto(job) job = test_job(&test_pytorch, text);
	const struct rh_json *pods[RH_TYPES_MAX] = {NULL};
	const struct rh_preflight_job one = {job, "/home/me", pods};

	for (size_t i = 0; i < job->spec_count; i++)
		pods[i] = job->specs[i].template_;
	return rh_preflight_check(&test->all, &one, findings);
}

/* One finding that is expected, or none. */
struct row {
	const char *name;
	const char *job;
	const char *path; /* NULL: nothing is found */
	const char *word; /* part of the detail, with the fix */
};

static void check_row(const struct test *test, const struct row *row)
{
	rh_auto_findings findings = {0};

	assert_int_equal(check(test, row->job, &findings), 0);
	for (size_t i = row->path ? 1 : 0; i < findings.count; i++)
		print_message("unexpected: %s: %s\n", findings.items[i].path, findings.items[i].detail);
	if (findings.count != (row->path ? 1 : 0))
		fail_msg("%s: %zu findings", row->name, findings.count);
	if (!row->path)
		return;
	if (strcmp(findings.items[0].path, row->path) != 0 || !strstr(findings.items[0].detail, row->word))
		fail_msg("%s: %s: %s", row->name, findings.items[0].path, findings.items[0].detail);
}

static void check_rows(const struct test *test, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_row(test, &rows[i]);
}

static void test_preflight__programs(void **state)
{
	static const struct row rows[] = {
		{"in PATH", COMMAND("'sh'"), NULL, NULL},
		{"not in PATH", COMMAND("'torchrun'"), PLACE ".command[0]",
	     "no program \"torchrun\" in PATH on this machine: the image \"example/a:1\" is not run here, and not mapped; "
	     "name "
	     "an environment that has it with --image 'example/a:1=FOLDER'"},
		{"not in PATH, and a package has it", COMMAND("'mpirun'"), PLACE ".command[0]",
	     "in section [images] of roundhouse.ini; or install the package openmpi-bin"},
		{"python, where there is python3", COMMAND("'python','train.py'"), PLACE ".command[0]",
	     "no program \"python\" in PATH on this machine (did you mean \"python3\"?): the image \"example/a:1\" is not"},
		{"python, where there is none", POD("", ",'command':['python'],'env':[{'name':'PATH','value':'/nowhere'}]"),
	     PLACE ".command[0]", "on this machine: the image"},
		{"in PATH, but not a program", COMMAND("'notes'"), PLACE ".command[0]", "\"notes\""},
		{"by its path", COMMAND("'/usr/bin/python3'"), NULL, NULL},
		{"a path that is not there", COMMAND("'/opt/conda/bin/python'"), PLACE ".command[0]",
	     "\"/opt/conda/bin/python\""},
		{"a path that is not a program", COMMAND("'./train.py'"), PLACE ".command[0]", "chmod +x"},
		{"a variable", COMMAND("'$(PROGRAM)','/nowhere/x.py'"), NULL, NULL},
		{"no command", POD("", ""), PLACE ".command", "add command: [\"python3\", \"train.py\"]"},
		{"arguments alone", POD("", ",'args':['x']"), PLACE ".command", "Required value"},
		{"own PATH", CONTAINER("'env':[{'name':'PATH','value':'/nowhere'}]"), PLACE ".command[0]", "\"sh\""},
		{"own PATH that is made", CONTAINER("'env':[{'name':'PATH','value':'/nowhere:$(X)'}]"), NULL, NULL},
	};
	struct test test = {0};

	(void)state;
	test_open(&test);
	check_rows(&test, rows, sizeof(rows) / sizeof(rows[0]));
	test_close(&test);
}

static void test_preflight__scripts(void **state)
{
	static const struct row rows[] = {
		{"beside the job", COMMAND("'python3','-u','train.py','--epochs','3'"), NULL, NULL},
		{"not there", COMMAND("'python3','/opt/pytorch-mnist/mnist.py'"), PLACE ".command[1]",
	     "no file \"/opt/pytorch-mnist/mnist.py\" on this machine: the image \"example/a:1\" is not run here; copy the "
	     "file "
	     "beside the job file"},
		{"in args", POD("", ",'command':['python3'],'args':['-u','other.py']"), PLACE ".args[1]", "\"other.py\""},
		{"a module", COMMAND("'python3','-m','train.py'"), NULL, NULL},
		{"a text", COMMAND("'sh','-c','python3 other.py'"), NULL, NULL},
		{"of a shell", COMMAND("'sh','start.sh'"), PLACE ".command[1]", "\"start.sh\""},
		{"with a variable", COMMAND("'python3','$(DIR)/x.py'"), NULL, NULL},
		{"of another program", COMMAND("'/usr/bin/sh','/usr/bin/python3'"), NULL, NULL},
		{"in workingDir", POD("", ",'command':['python3','deep.py'],'workingDir':'/home/me/src'"), NULL, NULL},
		{"relative workingDir", POD("", ",'command':['python3','deep.py'],'workingDir':'src'"), NULL, NULL},
		{"no workingDir there", POD("", ",'command':['python3','deep.py'],'workingDir':'/workspace'"),
	     PLACE ".workingDir", "remove workingDir"},
		{"made by an init container",
	     POD("'initContainers':[{'name':'i','image':'i','command':['sh']}],", ",'command':['python3','made.py']"), NULL,
	     NULL},
		{"init container's own",
	     POD("'initContainers':[{'name':'i','image':'i','command':['sh','get.sh']}],", ",'command':['sh']"),
	     SPEC ".initContainers[0].command[1]", "\"get.sh\""},
		{"in a volume that is made",
	     POD("'volumes':[{'name':'v','emptyDir':{}}],",
	         ",'command':['python3','/v/x.py'],'volumeMounts':[{'name':'v','mountPath':'/v'}]"),
	     NULL, NULL},
		{"in a folder of this machine",
	     POD("'volumes':[{'name':'v','hostPath':{'path':'/data'}}],",
	         ",'command':['python3','/v/in.py'],'volumeMounts':[{'name':'v','mountPath':'/v/'}]"),
	     NULL, NULL},
		{"missing in a folder of this machine",
	     POD("'volumes':[{'name':'v','hostPath':{'path':'/data'}}],",
	         ",'command':['python3','/v/out.py'],'volumeMounts':[{'name':'v','mountPath':'/v'}]"),
	     PLACE ".command[1]", "\"/v/out.py\""},
	};
	struct test test = {0};

	(void)state;
	test_open(&test);
	check_rows(&test, rows, sizeof(rows) / sizeof(rows[0]));
	test_close(&test);
}

static void test_preflight__images(void **state)
{
	static const struct row good = {"mapped", COMMAND("'torchrun','train.py'"), NULL, NULL};
	static const struct row lacks = {"mapped, and not there", COMMAND("'mpirun'"), PLACE ".command[0]",
	                                 "stands for \"/venv\" here (test.ini:2)"};
	static const struct row wrong = {"mapped to nothing", COMMAND("'sh'"), PLACE ".image",
	                                 "mapped to \"/nowhere\", which is not a folder of this machine (--image)"};
	static const char text[] = "[images]\nexample/* = /venv\n";
	struct test test = {0};

	(void)state;
	test_open(&test);
	assert_int_equal(rh_config_parse(test.config, "test.ini", text, strlen(text), NULL), 0);
	check_row(&test, &good);
	check_row(&test, &lacks);
	/* what the command line says comes first */
	assert_int_equal(rh_config_set(test.config, "images", "example/a:1", "/nowhere", "--image"), 0);
	check_row(&test, &wrong);
	test_close(&test);
}

static void test_preflight__volumes(void **state)
{
	static const struct row rows[] = {
		{"an empty one", VOLUME("'emptyDir':{}"), NULL, NULL},
		{"in memory", VOLUME("'emptyDir':{'medium':'Memory','sizeLimit':'1Gi'}"), NULL, NULL},
		{"in more memory than there is", VOLUME("'emptyDir':{'medium':'Memory','sizeLimit':'2Gi'}"), SPEC ".volumes[0]",
	     "emptyDir.sizeLimit is 2048 MiB; this machine has 1024 MiB of memory"},
		{"a claim", VOLUME("'persistentVolumeClaim':{'claimName':'c'}"), SPEC ".volumes[0]",
	     "the claim \"c\" has no folder on this machine; name one with --volume 'c=FOLDER'"},
		{"a claim of the files", VOLUME("'persistentVolumeClaim':{'claimName':'new'}"), NULL, NULL},
		{"a claim of a volume that is there", VOLUME("'persistentVolumeClaim':{'claimName':'full'}"),
	     SPEC ".volumes[0]", "the claim \"full\" has no folder on this machine"},
		{"a claim with a folder", VOLUME("'persistentVolumeClaim':{'claimName':'good'}"), NULL, NULL},
		{"a claim with none", VOLUME("'persistentVolumeClaim':{'claimName':'lost'}"), SPEC ".volumes[0]",
	     "mkdir -p '/lost'"},
		{"a folder", VOLUME("'hostPath':{'path':'/data'}"), NULL, NULL},
		{"no folder", VOLUME("'hostPath':{'path':'/none'}"), SPEC ".volumes[0]", "mkdir -p '/none'"},
		{"one that is made", VOLUME("'hostPath':{'path':'/none','type':'DirectoryOrCreate'}"), NULL, NULL},
		{"a file for a folder", VOLUME("'hostPath':{'path':'/a-file','type':'Directory'}"), SPEC ".volumes[0]",
	     "is not a folder"},
		{"a relative one", VOLUME("'hostPath':{'path':'data'}"), SPEC ".volumes[0]", "write its whole path"},
		{"of a network", VOLUME("'nfs':{'server':'s','path':'/'}"), SPEC ".volumes[0]", "nfs is not supported"},
		{"that nobody mounts", POD("'volumes':[{'name':'v','nfs':{}}],", ",'command':['sh']"), NULL, NULL},
		{"a ConfigMap", VOLUME("'configMap':{'name':'map'}"), NULL, NULL},
		{"no ConfigMap", VOLUME("'configMap':{'name':'none'}"), SPEC ".volumes[0]",
	     "no ConfigMap \"none\" in namespace \"default\" of the files; add it to the job file"},
		{"a Secret of another namespace", VOLUME("'secret':{'secretName':'far'}"), SPEC ".volumes[0]",
	     "kubectl create secret generic far"},
		{"projected", VOLUME("'projected':{'sources':[{'configMap':{'name':'map'}},{'secret':{'name':'none'}}]}"),
	     SPEC ".volumes[0]", "Secret \"none\""},
	};
	struct test test = {0};

	(void)state;
	test_open(&test);
	assert_int_equal(rh_config_set(test.config, RH_VOLUMES_SECTION, "good", "/data", "--volume"), 0);
	assert_int_equal(rh_config_set(test.config, RH_VOLUMES_SECTION, "lost", "/lost", "--volume"), 0);
	check_rows(&test, rows, sizeof(rows) / sizeof(rows[0]));
	test_close(&test);
}

static void test_preflight__variables(void **state)
{
	static const struct row rows[] = {
		{"a key", CONTAINER("'env':[{'name':'A','valueFrom':{'configMapKeyRef':{'name':'map','key':'k'}}}]"), NULL,
	     NULL},
		{"no key", CONTAINER("'env':[{'name':'A','valueFrom':{'secretKeyRef':{'name':'secret','key':'q'}}}]"),
	     PLACE ".env[0].valueFrom.secretKeyRef", "Secret \"secret\" has no key \"q\""},
		{"no object",
	     CONTAINER("'env':[{'name':'A'},{'name':'B','valueFrom':{'secretKeyRef':{'name':'none','key':'k'}}}]"),
	     PLACE ".env[1].valueFrom.secretKeyRef", "no Secret \"none\""},
		{"an optional one",
	     CONTAINER("'env':[{'name':'A','valueFrom':{'secretKeyRef':{'name':'none','key':'k','optional':true}}}]"), NULL,
	     NULL},
		{"all of a map", CONTAINER("'envFrom':[{'configMapRef':{'name':'map'}}]"), NULL, NULL},
		{"all of none", CONTAINER("'envFrom':[{'configMapRef':{'name':'map'}},{'secretRef':{'name':'none'}}]"),
	     PLACE ".envFrom[1].secretRef", "no Secret \"none\""},
		{"a field", CONTAINER("'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}}]"), NULL,
	     NULL},
	};
	struct test test = {0};

	(void)state;
	test_open(&test);
	check_rows(&test, rows, sizeof(rows) / sizeof(rows[0]));
	test_close(&test);
}

static void test_preflight__resources(void **state)
{
	static const struct row rows[] = {
		{"too many GPUs", CONTAINER("'resources':{'limits':{'nvidia.com/gpu':1}}"), "",
	     "its replicas ask for 2 nvidia.com/gpu in all; this machine has 1; lower replicas or resources.limits"},
		{"memory", CONTAINER("'resources':{'requests':{'memory':'512Mi'}}"), NULL, NULL},
		{"too much memory", CONTAINER("'resources':{'requests':{'memory':'513Mi'}}"), "",
	     "ask for 1026 MiB of memory in all; this machine has 1024 MiB"},
		{"a limit is not a request", CONTAINER("'resources':{'limits':{'memory':'900Gi'}}"), NULL, NULL},
	};
	static const struct row none = {"no GPUs", CONTAINER("'resources':{'limits':{'nvidia.com/gpu':1}}"), "",
	                                "use none with --cpu"};
	static const struct row shm = {"/dev/shm of the machine",
	                               POD("'volumes':[{'name':'v','emptyDir':{'medium':'Memory','sizeLimit':'65Mi'}}],",
	                                   ",'command':['sh'],'volumeMounts':[{'name':'v','mountPath':'/dev/shm'}]"),
	                               SPEC ".volumes[0]", "this machine has 64 MiB of /dev/shm"};
	struct test test = {0};

	(void)state;
	test_open(&test);
	check_rows(&test, rows, sizeof(rows) / sizeof(rows[0]));
	test.all.machine.gpus = 0;
	check_row(&test, &none);
	test.all.machine.can_mount = false;
	check_row(&test, &shm);
	test_close(&test);
}

static void test_preflight__ports(void **state)
{
	static const char fix[] =
		"port 29500 is in use on this machine by process 42 (server); stop that, or choose another";
	static const struct row rows[] = {
		{"in two words", COMMAND("'sh','--master_port','29500'"), PLACE ".command[1]", fix},
		{"in one word", COMMAND("'sh','--master-port=29500'"), PLACE ".command[1]", fix},
		{"for a shell", COMMAND("'sh','-c','torchrun --master_port 29500 train.py'"), PLACE ".command[2]", fix},
		{"an argument", CONTAINER("'args':['--main_process_port=29500']"), PLACE ".args[0]", fix},
		{"on one address", COMMAND("'sh','--master_port=8080'"), PLACE ".command[1]", "port 8080"},
		{"a variable", CONTAINER("'env':[{'name':'MASTER_PORT','value':'29500'}]"), PLACE ".env[MASTER_PORT]", fix},
		{"the plugin's variable counts",
	     CONTAINER("'env':[{'name':'MASTER_PORT','value':'29500'},{'name':'MASTER_PORT','value':'1'}]"), NULL, NULL},
		{"free", COMMAND("'sh','--master_port','29501'"), NULL, NULL},
		{"not a number", COMMAND("'sh','--master_port','$(PORT)'"), NULL, NULL},
		{"not a port", COMMAND("'sh','--master_port','295001'"), NULL, NULL},
		{"nothing follows", COMMAND("'sh','--master_port'"), NULL, NULL},
		{"another option", COMMAND("'sh','--master_portal','29500'"), NULL, NULL},
		{"of the kind", CONTAINER("'ports':[{'name':'pytorchjob-port','containerPort':29500}]"), SPEC ".containers",
	     "containerPort 29500 is in use on this machine by process 42 (server); replicas get another port"},
		{"of the kind, on another address", CONTAINER("'ports':[{'name':'pytorchjob-port','containerPort':8080}]"),
	     NULL, NULL},
	};
	struct test test = {0};

	(void)state;
	test_open(&test);
	check_rows(&test, rows, sizeof(rows) / sizeof(rows[0]));
	test_close(&test);
}

static void test_preflight__folder_of_logs(void **state)
{
	static const struct {
		const char *folder;
		size_t count;
	} rows[] = {{NULL, 0}, {"/home/me", 0}, {"/home/me/new/logs", 0}, {"/data/logs", 1}, {"/a-file", 1}, {"/none", 1}};
	struct test test = {0};

	(void)state;
	test_open(&test);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_findings findings = {0};

		test.all.log_dir = rows[i].folder;
		assert_int_equal(rh_preflight_check_call(&test.all, &findings), 0);
		assert_int_equal(findings.count, rows[i].count);
	}
	test_close(&test);
}

static void test_preflight__full_file_systems(void **state)
{
	static const char logs[] =
		"the file system of \"/data/logs\" has 12 MiB left, and the run writes there; make room, or choose another "
		"folder with --log-dir";
	static const char volumes[] = "[local]\nstate-dir = /data/state\n";
	struct test test = {0};
	rh_auto_findings findings = {0};

	(void)state;
	test_open(&test);
	test.all.log_dir = "/home/me/logs";
	assert_int_equal(rh_preflight_check_call(&test.all, &findings), 0);
	assert_int_equal(findings.count, 0);
	test.all.log_dir = "/data/logs";
	assert_int_equal(rh_config_parse(test.config, "test.ini", volumes, strlen(volumes), NULL), 0);
	assert_int_equal(rh_preflight_check_call(&test.all, &findings), 0);
	assert_int_equal(findings.count, 2);
	assert_int_equal(rh_findings_errors(&findings), 0);
	assert_string_equal(findings.items[0].detail, logs);
	assert_non_null(strstr(findings.items[1].detail, "[local] state-dir"));
	test_close(&test);
}

/* Every problem at once, and warnings apart from errors. */
static void test_preflight__all_together(void **state)
{
	static const char job[] = POD("'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}],",
	                              ",'command':['python3','x.py'],'volumeMounts':[{'name':'v','mountPath':'/v'}],"
	                              "'envFrom':[{'secretRef':{'name':'none'}}],"
	                              "'resources':{'limits':{'nvidia.com/gpu':8},'requests':{'memory':'9Ti'}}");
	struct test test = {0};
	rh_auto_findings findings = {0};

	(void)state;
	test_open(&test);
	assert_int_equal(check(&test, job, &findings), 0);
	assert_int_equal(findings.count, 5);
	assert_int_equal(rh_findings_errors(&findings), 4);
	test_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preflight__programs),     cmocka_unit_test(test_preflight__scripts),
		cmocka_unit_test(test_preflight__images),       cmocka_unit_test(test_preflight__volumes),
		cmocka_unit_test(test_preflight__variables),    cmocka_unit_test(test_preflight__resources),
		cmocka_unit_test(test_preflight__ports),        cmocka_unit_test(test_preflight__folder_of_logs),
		cmocka_unit_test(test_preflight__all_together), cmocka_unit_test(test_preflight__full_file_systems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
