/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in queues: the test is Kueue, and writes what it does into the Workloads' status. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "job/values/names.h"
#include "kueue/kueue.h"
#include "kueue/workload.h"

#define PAIR "Master=OnFailure Worker=OnFailure"
#define QUEUED "{'metadata':{'labels':{'" RH_LABEL_QUEUE "':'q'}}}"

static const struct rh_resource flavors = {"kueue.x-k8s.io/v1beta2", "ResourceFlavor", "resourceflavors"};
static const struct rh_resource classes = {"kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass",
                                           "workloadpriorityclasses"};

/* The sim comes first: its turn() gets a pointer to it. */
struct queue_sim {
	struct sim sim;
	struct rh_kueue *kueue;
};

static void queue_changed(void *arg, const struct rh_engine_change *change)
{
	rh_kueue_changed(((struct queue_sim *)arg)->kueue, change);
}

static void queue_gate(void *arg, const struct rh_job *job, struct rh_gate *ret_gate)
{
	rh_kueue_gate(((struct queue_sim *)arg)->kueue, job, ret_gate);
}

static void queue_still(void *arg, const struct rh_job *job)
{
	rh_kueue_still(((struct queue_sim *)arg)->kueue, job);
}

static bool queue_turn(struct sim *sim)
{
	struct rh_kueue *kueue = ((struct queue_sim *)sim)->kueue;

	rh_kueue_step(kueue, sim->now);
	return rh_kueue_deadline(kueue) <= sim->now;
}

static void queue_start(struct queue_sim *queue)
{
	struct sim *sim = &queue->sim;

	assert_int_equal(rh_kueue_new(sim->host, rh_memory_store_face(sim->store), &queue->kueue, NULL), 0);
	sim->options.changed = queue_changed;
	sim->options.gate = queue_gate;
	sim->options.still = queue_still;
	sim->options.arg = queue;
	sim->turn = queue_turn;
	sim_start(sim);
	rh_kueue_set_engine(queue->kueue, sim->engine);
}

/* The program ends, with the requests that are in flight. */
static void queue_kill(struct queue_sim *queue)
{
	if (queue->sim.engine)
		rh_engine_free(rh_take(queue->sim.engine));
	rh_kueue_free(rh_take(queue->kueue));
	rh_memory_store_disconnect(queue->sim.store);
}

static void queue_close(struct queue_sim *queue)
{
	queue_kill(queue);
	sim_close(&queue->sim);
}

#define auto_queue __attribute__((cleanup(queue_close))) struct queue_sim

static void make(struct queue_sim *queue, const struct rh_resource *resource, const char *text)
{
	assert_int_equal(
		sim_user(&queue->sim,
	             (struct rh_request){.verb = RH_VERB_CREATE, .resource = resource, .body = sim_json(text)}),
		RH_OUTCOME_OK);
}

static void queue_open(struct queue_sim *queue)
{
	sim_open(&queue->sim, true);
	make(queue, &flavors,
	     "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ResourceFlavor','metadata':{'name':'f'},"
	     "'spec':{'nodeLabels':{'pool':'a'},'tolerations':[{'key':'t','operator':'Exists'}]}}");
	queue_start(queue);
}

static struct rh_json *queued_job(const char *name, const char *policy, const char *labels)
{
	rh_auto(json) patch = sim_json(labels);
	struct rh_json *job = sim_new_job(name, PAIR, policy, NULL);

	assert_int_equal(rh_json_merge(job, patch), 0);
	return job;
}

static void queue_create(struct queue_sim *queue, const char *name, const char *policy)
{
	sim_create(&queue->sim, queued_job(name, policy, QUEUED));
	sim_settle(&queue->sim);
}

/* The Workload of a job. */
struct found {
	const char *job;
	char name[RH_NAME_SIZE];
	size_t count;
};

static void found_add(void *arg, const struct rh_json *object)
{
	struct found *found = arg;

	if (strcmp(rh_json_string_at(object, "metadata.ownerReferences[0].name"), found->job) != 0)
		return;
	rh_copy(found->name, sizeof(found->name), rh_json_string_at(object, "metadata.name"));
	found->count++;
}

static const struct rh_json *workload(const struct queue_sim *queue, const char *job)
{
	struct found found = {.job = job};

	rh_memory_store_each(queue->sim.store, &rh_kueue_workloads, found_add, &found);
	assert_true(found.count <= 1);
	return rh_memory_store_find(queue->sim.store, &rh_kueue_workloads, "default", found.name);
}

static void write_workload(struct queue_sim *queue, const char *job, enum rh_verb verb, const char *patch)
{
	rh_auto_free char *name = rh_strdup(rh_json_string_at(workload(queue, job), "metadata.name"));

	assert_non_null(name);
	assert_int_equal(sim_user(&queue->sim, (struct rh_request){.verb = verb,
	                                                           .resource = &rh_kueue_workloads,
	                                                           .name = name,
	                                                           .body = patch ? sim_json(patch) : NULL,
	                                                           .grace_seconds = -1}),
	                 RH_OUTCOME_OK);
	sim_settle(&queue->sim);
}

#define CONDITION(type, status) "{'type':'" type "','status':'" status "','reason':'R','message':'m'}"

static void admit(struct queue_sim *queue, const char *job)
{
	write_workload(
		queue, job, RH_VERB_PATCH_STATUS,
		"{'status':{'admission':{'clusterQueue':'c','podSetAssignments':[{'name':'master','count':1,"
		"'flavors':{'cpu':'f'}},{'name':'worker','count':1,'flavors':{'cpu':'f'}}]},'conditions':[" CONDITION(
			"QuotaReserved", "True") "," CONDITION("Admitted", "True") "]}}");
}

static void evict(struct queue_sim *queue, const char *job)
{
	write_workload(queue, job, RH_VERB_PATCH_STATUS,
	               "{'status':{'conditions':[" CONDITION("QuotaReserved", "True") "," CONDITION(
					   "Admitted", "True") ",{'type':'Evicted','status':'True','reason':'Preempted','message':'m'}]}}");
}

static bool is(const struct queue_sim *queue, const char *job, const char *type)
{
	const struct rh_json *condition = rh_json_first(rh_json_at(workload(queue, job), "status.conditions"));

	while (condition && strcmp(rh_json_string_at(condition, "type"), type) != 0)
		condition = rh_json_next(condition);
	return condition && strcmp(rh_json_string_at(condition, "status"), "True") == 0;
}

static void run_pair(struct queue_sim *queue, const char *master, const char *worker)
{
	sim_play_pod(&queue->sim, master, "Running");
	sim_play_pod(&queue->sim, worker, "Running");
}

static void test_kueue__a_job_runs_while_its_workload_is_admitted(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	sim_assert(&queue.sim, "j", "Created Suspended | ");
	assert_true(rh_json_bool(rh_json_at(sim_job(&queue.sim, "j"), "spec.runPolicy.suspend"), false));
	assert_string_equal(rh_json_string_at(workload(&queue, "j"), "spec.queueName"), "q");
	assert_null(rh_json_at(workload(&queue, "j"), "spec.podSets[0].template.spec.containers[0].command"));
	admit(&queue, "j");
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_string_equal(rh_json_string_at(sim_pod(&queue.sim, "j-worker-0"), "spec.nodeSelector.pool"), "a");
	assert_string_equal(rh_json_string_at(sim_pod(&queue.sim, "j-worker-0"), "spec.tolerations[0].key"), "t");
	run_pair(&queue, "j-master-0", "j-worker-0");
	assert_true(is(&queue, "j", "PodsReady"));
	sim_set_pod(&queue.sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&queue.sim);
	/* the worker terminates, and uses its quota */
	assert_false(is(&queue, "j", "Finished"));
	sim_delete_pod(&queue.sim, "j-worker-0", 0);
	sim_settle(&queue.sim);
	sim_wait(&queue.sim, 2);
	assert_true(is(&queue, "j", "Finished"));
	assert_int_equal(rh_json_size(rh_json_at(workload(&queue, "j"), "metadata.finalizers")), 0);
}

static void test_kueue__quota_goes_back_after_the_last_pod(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", "{'backoffLimit':0}");
	admit(&queue, "j");
	run_pair(&queue, "j-master-0", "j-worker-0");
	evict(&queue, "j");
	assert_true(is(&queue, "j", "QuotaReserved"));
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_settle(&queue.sim);
	assert_true(is(&queue, "j", "QuotaReserved"));
	/* the last one says how it was killed */
	sim_set_pod(&queue.sim, "j-worker-0", "Failed", 143, 0);
	sim_settle(&queue.sim);
	assert_true(is(&queue, "j", "QuotaReserved"));
	sim_delete_pod(&queue.sim, "j-worker-0", 0);
	sim_settle(&queue.sim);
	assert_false(is(&queue, "j", "QuotaReserved"));
	assert_false(is(&queue, "j", "Admitted"));
	assert_true(is(&queue, "j", "Requeued"));
	assert_null(rh_json_at(workload(&queue, "j"), "status.admission"));
	sim_assert(&queue.sim, "j", "Created Suspended | ");
	assert_null(rh_json_at(sim_job(&queue.sim, "j"), "status.replicaStatuses.Worker.failed"));
	admit(&queue, "j");
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

/* @return how many replicas of its last pod set the Workload has given quota back for */
static int64_t reclaimed(const struct queue_sim *queue, const char *job)
{
	int64_t count = 0;

	(void)rh_json_integer(rh_json_at(workload(queue, job), "status.reclaimablePods[0].count"), &count);
	return count;
}

static void test_kueue__who_has_succeeded_needs_no_quota(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	admit(&queue, "j");
	run_pair(&queue, "j-master-0", "j-worker-0");
	assert_int_equal(reclaimed(&queue, "j"), 0);
	sim_set_pod(&queue.sim, "j-worker-0", "Succeeded", 0, 0);
	sim_settle(&queue.sim);
	assert_int_equal(reclaimed(&queue, "j"), 1);
	assert_string_equal(rh_json_string_at(workload(&queue, "j"), "status.reclaimablePods[0].name"), "worker");
	/* after an eviction it runs again, and asks for all */
	evict(&queue, "j");
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_settle(&queue.sim);
	assert_false(is(&queue, "j", "QuotaReserved"));
	assert_int_equal(reclaimed(&queue, "j"), 0);
	admit(&queue, "j");
	sim_wait(&queue.sim, 2);
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_int_equal(reclaimed(&queue, "j"), 0);
}

/* The user's own suspend has all run again: the quota that was given back is asked for first. */
static void test_kueue__who_runs_again_queues_again(void **state)
{
	auto_queue queue = {0};
	rh_auto_free char *before = NULL;

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	admit(&queue, "j");
	run_pair(&queue, "j-master-0", "j-worker-0");
	sim_set_pod(&queue.sim, "j-worker-0", "Succeeded", 0, 0);
	sim_settle(&queue.sim);
	before = rh_strdup(rh_json_string_at(workload(&queue, "j"), "metadata.uid"));
	sim_patch(&queue.sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&queue.sim);
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_settle(&queue.sim);
	sim_wait(&queue.sim, 2);
	sim_wait(&queue.sim, 2);
	assert_non_null(workload(&queue, "j"));
	sim_assert(&queue.sim, "j", "Created Suspended | ");
	assert_string_not_equal(rh_json_string_at(workload(&queue, "j"), "metadata.uid"), before);
	assert_false(is(&queue, "j", "QuotaReserved"));
}

/* A failure would start also those again that have succeeded. */
static void test_kueue__a_job_that_restarts_as_a_whole_keeps_its_quota(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	sim_create(&queue.sim, queued_job("j", NULL,
	                                  "{'metadata':{'labels':{'" RH_LABEL_QUEUE
	                                  "':'q'},'annotations':{'" RH_ANNOTATION_RESTART "':'job'}}}"));
	sim_settle(&queue.sim);
	admit(&queue, "j");
	run_pair(&queue, "j-master-0", "j-worker-0");
	sim_set_pod(&queue.sim, "j-worker-0", "Succeeded", 0, 0);
	sim_settle(&queue.sim);
	assert_int_equal(reclaimed(&queue, "j"), 0);
}

/* @return the number at @p path of @p object; -1: there is none */
static int64_t number(const struct rh_json *object, const char *path)
{
	int64_t value = -1;

	(void)rh_json_integer(rh_json_at(object, path), &value);
	return value;
}

static void admit_workers(struct queue_sim *queue, const char *job, int count)
{
	rh_auto_free char *patch = rh_asprintf(
		"{'status':{'admission':{'clusterQueue':'c','podSetAssignments':[{'name':'master','count':1,"
		"'flavors':{'cpu':'f'}},{'name':'worker','count':%d,'flavors':{'cpu':'f'}}]},'conditions':[" CONDITION(
			"QuotaReserved", "True") "," CONDITION("Admitted", "True") "," CONDITION("Evicted", "False") "]}}",
		count);

	write_workload(queue, job, RH_VERB_PATCH_STATUS, patch);
	sim_wait(&queue->sim, 2);
}

#define WORKERS "spec.pytorchReplicaSpecs.Worker.replicas"

static void test_kueue__a_job_runs_with_fewer_workers(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	sim_create(&queue.sim,
	           queued_job("j", NULL,
	                      "{'metadata':{'labels':{'" RH_LABEL_QUEUE "':'q'},'annotations':{'" RH_ANNOTATION_QUEUE_LEAST
	                      "':'1'}},'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':3}}}}"));
	sim_settle(&queue.sim);
	assert_int_equal(number(workload(&queue, "j"), "spec.podSets[1].count"), 3);
	assert_int_equal(number(workload(&queue, "j"), "spec.podSets[1].minCount"), 1);
	assert_int_equal(number(workload(&queue, "j"), "spec.podSets[0].minCount"), -1);
	admit_workers(&queue, "j", 2);
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending, worker-1 Pending");
	assert_int_equal(number(sim_job(&queue.sim, "j"), WORKERS), 2);
	assert_int_equal(number(workload(&queue, "j"), "spec.podSets[1].count"), 3);
	evict(&queue, "j");
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_delete_pod(&queue.sim, "j-worker-0", 0);
	sim_delete_pod(&queue.sim, "j-worker-1", 0);
	sim_settle(&queue.sim);
	assert_int_equal(number(sim_job(&queue.sim, "j"), WORKERS), 3);
	assert_false(is(&queue, "j", "QuotaReserved"));
	admit_workers(&queue, "j", 3);
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending, worker-1 Pending, worker-2 Pending");
	assert_int_equal(number(sim_job(&queue.sim, "j"), WORKERS), 3);
}

/* Who asks for another number while he runs with fewer queues for that one. */
static void test_kueue__fewer_workers_are_changed(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	sim_create(&queue.sim,
	           queued_job("j", NULL,
	                      "{'metadata':{'labels':{'" RH_LABEL_QUEUE "':'q'},'annotations':{'" RH_ANNOTATION_QUEUE_LEAST
	                      "':'1'}},'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':3}}}}"));
	sim_settle(&queue.sim);
	admit_workers(&queue, "j", 1);
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	sim_patch(&queue.sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':2}}}}");
	sim_settle(&queue.sim);
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_delete_pod(&queue.sim, "j-worker-0", 0);
	for (int i = 0; i < 3; i++)
		sim_wait(&queue.sim, 2);
	assert_int_equal(number(sim_job(&queue.sim, "j"), WORKERS), 2);
	assert_int_equal(number(workload(&queue, "j"), "spec.podSets[1].count"), 2);
	assert_null(sim_pod(&queue.sim, "j-worker-0"));
}

/* Pods that Kueue places wait for it; those that asked for no topology say so. */
static void test_kueue__pods_wait_for_their_place(void **state)
{
	auto_queue queue = {0};
	const struct rh_json *pod;

	(void)state;
	queue_open(&queue);
	sim_create(&queue.sim, queued_job("j", NULL,
	                                  "{'metadata':{'labels':{'" RH_LABEL_QUEUE
	                                  "':'q'}},'spec':{'pytorchReplicaSpecs':{'Worker':{'template':{'metadata':{"
	                                  "'annotations':{'kueue.x-k8s.io/podset-required-topology':'rack'}}}}}}}"));
	sim_settle(&queue.sim);
	assert_string_equal(rh_json_string_at(workload(&queue, "j"), "spec.podSets[1].topologyRequest.required"), "rack");
	assert_null(rh_json_at(workload(&queue, "j"), "spec.podSets[0].topologyRequest"));
	write_workload(
		&queue, "j", RH_VERB_PATCH_STATUS,
		"{'status':{'admission':{'clusterQueue':'c','podSetAssignments':[{'name':'master','count':1,"
		"'topologyAssignment':{'levels':['rack']}},{'name':'worker','count':1,'topologyAssignment':{'levels':['rack']}}"
		"]},'conditions':[" CONDITION("QuotaReserved", "True") "," CONDITION("Admitted", "True") "]}}");
	pod = sim_pod(&queue.sim, "j-worker-0");
	assert_string_equal(rh_json_string_at(pod, "spec.schedulingGates[0].name"), "kueue.x-k8s.io/topology");
	assert_string_equal(rh_json_string(rh_json_get(rh_json_at(pod, "metadata.annotations"), "kueue.x-k8s.io/workload")),
	                    rh_json_string_at(workload(&queue, "j"), "metadata.name"));
	assert_null(rh_json_get(rh_json_at(pod, "metadata.annotations"), "kueue.x-k8s.io/podset-unconstrained-topology"));
	pod = sim_pod(&queue.sim, "j-master-0");
	assert_string_equal(rh_json_string(rh_json_get(rh_json_at(pod, "metadata.annotations"),
	                                               "kueue.x-k8s.io/podset-unconstrained-topology")),
	                    "true");
}

/* Under another name, or Kueue may take it for the former. */
static void test_kueue__a_deleted_workload_is_made_again(void **state)
{
	auto_queue queue = {0};
	rh_auto_free char *before = NULL;
	rh_auto_free char *name = NULL;

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	admit(&queue, "j");
	before = rh_strdup(rh_json_string_at(workload(&queue, "j"), "metadata.uid"));
	name = rh_strdup(rh_json_string_at(workload(&queue, "j"), "metadata.name"));
	write_workload(&queue, "j", RH_VERB_DELETE, NULL);
	/* it stays until the pods are gone */
	assert_non_null(rh_json_at(workload(&queue, "j"), "metadata.deletionTimestamp"));
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_delete_pod(&queue.sim, "j-worker-0", 0);
	sim_settle(&queue.sim);
	sim_wait(&queue.sim, 2);
	assert_string_not_equal(rh_json_string_at(workload(&queue, "j"), "metadata.uid"), before);
	assert_string_not_equal(rh_json_string_at(workload(&queue, "j"), "metadata.name"), name);
	sim_assert(&queue.sim, "j", "Created Suspended | ");
}

static void test_kueue__a_deleted_job_lets_its_workload_go(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	admit(&queue, "j");
	sim_delete(&queue.sim, "j");
	sim_settle(&queue.sim);
	assert_non_null(workload(&queue, "j"));
	sim_delete_pod(&queue.sim, "j-master-0", 0);
	sim_delete_pod(&queue.sim, "j-worker-0", 0);
	sim_wait(&queue.sim, 2);
	assert_null(workload(&queue, "j"));
}

static void test_kueue__a_change_asks_anew(void **state)
{
	auto_queue queue = {0};
	int64_t count = 0;

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	sim_patch(&queue.sim, "j",
	          "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':3}}},"
	          "'metadata':{'labels':{'" RH_LABEL_QUEUE "':'other'}}}");
	sim_settle(&queue.sim);
	assert_true(rh_json_integer(rh_json_at(workload(&queue, "j"), "spec.podSets[1].count"), &count));
	assert_int_equal(count, 3);
	assert_string_equal(rh_json_string_at(workload(&queue, "j"), "spec.queueName"), "other");
}

static void test_kueue__a_missing_priority_is_named(void **state)
{
	auto_queue queue = {0};
	int64_t priority = 0;

	(void)state;
	queue_open(&queue);
	sim_create(
		&queue.sim,
		queued_job("j", NULL, "{'metadata':{'labels':{'" RH_LABEL_QUEUE "':'q','" RH_LABEL_QUEUE_PRIORITY "':'p'}}}"));
	sim_settle(&queue.sim);
	sim_assert(&queue.sim, "j", "Created Suspended Stalled | ");
	assert_null(workload(&queue, "j"));
	make(&queue, &classes,
	     "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'WorkloadPriorityClass','metadata':{'name':'p'},'value':7}");
	sim_settle(&queue.sim);
	sim_assert(&queue.sim, "j", "Created Suspended | ");
	assert_true(rh_json_integer(rh_json_at(workload(&queue, "j"), "spec.priority"), &priority));
	assert_int_equal(priority, 7);
}

static void test_kueue__who_brings_a_workload_waits(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	sim_create(
		&queue.sim,
		queued_job("j", NULL, "{'metadata':{'labels':{'" RH_LABEL_QUEUE "':'q','" RH_LABEL_QUEUE_PREBUILT "':'w'}}}"));
	sim_settle(&queue.sim);
	sim_assert(&queue.sim, "j", "Created Suspended Stalled | ");
	sim_assert_event(&queue.sim, "Warning PyTorchJobWaiting a Workload that is made for it");
}

static void test_kueue__without_its_definitions_a_job_says_so(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	rh_kueue_problem(queue.kueue, "workloads.kueue.x-k8s.io", "not found");
	queue_create(&queue, "j", NULL);
	sim_assert(&queue.sim, "j", "Stalled | ");
	sim_assert_event(&queue.sim, "Warning PyTorchJobWaiting it is in a queue of Kueue");
	rh_kueue_problem(queue.kueue, "workloads.kueue.x-k8s.io", NULL);
	sim_settle(&queue.sim);
	sim_assert(&queue.sim, "j", "Created Suspended | ");
	assert_non_null(workload(&queue, "j"));
}

static void test_kueue__a_controller_that_starts_again_changes_nothing(void **state)
{
	auto_queue queue = {0};
	rh_auto_free char *uid = NULL;
	rh_auto_free char *name = NULL;

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	admit(&queue, "j");
	queue_create(&queue, "k", NULL);
	uid = rh_strdup(rh_json_string_at(sim_pod(&queue.sim, "j-master-0"), "metadata.uid"));
	queue_kill(&queue);
	queue_start(&queue);
	sim_settle(&queue.sim);
	assert_string_equal(rh_json_string_at(sim_pod(&queue.sim, "j-master-0"), "metadata.uid"), uid);
	sim_assert(&queue.sim, "k", "Created Suspended | ");
	/* deleted while nobody looked */
	queue_kill(&queue);
	name = rh_strdup(rh_json_string_at(workload(&queue, "j"), "metadata.name"));
	assert_int_equal(sim_user(&queue.sim, (struct rh_request){.verb = RH_VERB_DELETE,
	                                                          .resource = &rh_kueue_workloads,
	                                                          .name = name,
	                                                          .grace_seconds = -1}),
	                 RH_OUTCOME_OK);
	queue_start(&queue);
	sim_settle(&queue.sim);
	assert_non_null(rh_json_at(sim_pod(&queue.sim, "j-master-0"), "metadata.deletionTimestamp"));
}

/* A Workload that is not ours, for a job that is not there, so that the store collects it no sooner than it was seen.
 */
static void make_other(struct queue_sim *queue, const char *namespace_)
{
	rh_auto_free char *other =
		rh_asprintf("{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'theirs',"
	                "'namespace':'%s','ownerReferences':[{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob',"
	                "'name':'k','uid':'x','controller':true}]}}",
	                namespace_);

	rh_memory_store_set_collector(queue->sim.store, false);
	assert_int_equal(sim_user(&queue->sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                                           .resource = &rh_kueue_workloads,
	                                                           .namespace_ = namespace_,
	                                                           .body = sim_json(other)}),
	                 RH_OUTCOME_OK);
	sim_settle(&queue->sim);
}

static void test_kueue__it_stands_down_for_kueues_own_integration(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	make_other(&queue, "default");
	/* from now on suspend alone counts, which Kueue writes */
	sim_patch(&queue.sim, "j", "{'spec':{'runPolicy':{'suspend':false}}}");
	sim_settle(&queue.sim);
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	sim_patch(&queue.sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&queue.sim);
	assert_non_null(rh_json_at(sim_pod(&queue.sim, "j-master-0"), "metadata.deletionTimestamp"));
}

/* Who may make Workloads in one namespace takes no job of another one out of its queue. */
static void test_kueue__a_workload_of_another_tenant(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	queue_create(&queue, "j", NULL);
	make_other(&queue, "elsewhere");
	sim_patch(&queue.sim, "j", "{'spec':{'runPolicy':{'suspend':false}}}");
	sim_settle(&queue.sim);
	assert_null(sim_pod(&queue.sim, "j-master-0"));
	assert_non_null(workload(&queue, "j"));
}

static void test_kueue__other_jobs_are_not_touched(void **state)
{
	auto_queue queue = {0};

	(void)state;
	queue_open(&queue);
	sim_create(&queue.sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_create(&queue.sim, queued_job("theirs", "{'managedBy':'kueue.x-k8s.io/multikueue'}", QUEUED));
	sim_settle(&queue.sim);
	sim_assert(&queue.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_null(workload(&queue, "j"));
	assert_null(workload(&queue, "theirs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kueue__a_job_runs_while_its_workload_is_admitted),
		cmocka_unit_test(test_kueue__quota_goes_back_after_the_last_pod),
		cmocka_unit_test(test_kueue__who_has_succeeded_needs_no_quota),
		cmocka_unit_test(test_kueue__who_runs_again_queues_again),
		cmocka_unit_test(test_kueue__a_job_that_restarts_as_a_whole_keeps_its_quota),
		cmocka_unit_test(test_kueue__a_job_runs_with_fewer_workers),
		cmocka_unit_test(test_kueue__fewer_workers_are_changed),
		cmocka_unit_test(test_kueue__pods_wait_for_their_place),
		cmocka_unit_test(test_kueue__a_deleted_workload_is_made_again),
		cmocka_unit_test(test_kueue__a_deleted_job_lets_its_workload_go),
		cmocka_unit_test(test_kueue__a_change_asks_anew),
		cmocka_unit_test(test_kueue__a_missing_priority_is_named),
		cmocka_unit_test(test_kueue__who_brings_a_workload_waits),
		cmocka_unit_test(test_kueue__without_its_definitions_a_job_says_so),
		cmocka_unit_test(test_kueue__a_controller_that_starts_again_changes_nothing),
		cmocka_unit_test(test_kueue__it_stands_down_for_kueues_own_integration),
		cmocka_unit_test(test_kueue__a_workload_of_another_tenant),
		cmocka_unit_test(test_kueue__other_jobs_are_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
