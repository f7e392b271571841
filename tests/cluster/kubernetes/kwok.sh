#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fake nodes (kwok): pods on them go Running at once, pods of a Job complete at once (kwok's default "fast" stages).
# Idempotent.
#   kwok.sh [NODES]     default 10 nodes, each cpu 1k, 1Ti, 10k pods, nvidia.com/gpu 1k; label type=kwok, taint
#   kwok.x-k8s.io/node=fake:NoSchedule
#   kwok.sh down        stop kwok and delete its nodes
# A pod must carry nodeSelector {type: kwok} and toleration {key: kwok.x-k8s.io/node, operator: Exists}; NOTAINT=1
# leaves the taint out.
# Two more stages of ours, by annotation on the pod (a Go duration):
#   kwok.local/run-for: 3s     Running -> Succeeded after 3 s        kwok.local/fail-after: 3s   Running -> Failed (exit
#   code 1) after 3 s
. "$(dirname "$(readlink -f "$0")")/lib.sh"; set -eu
if [ "${1:-}" = down ]; then stop kwok; kubectl delete nodes -l type=kwok --wait=false; exit 0; fi
# of the module that was built
N=${1:-10}; S=${GOMODCACHE_K8S:-$ROOT/gomod}/sigs.k8s.io/kwok@${KWOK_VERSION:-v0.7.0}/kustomize/stage
mystage() { # NAME ANNOTATION PHASE EXITCODE REASON
cat <<K
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: $1}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: DoesNotExist}
    - {key: '.status.phase', operator: In, values: [Running]}
    - {key: '.metadata.annotations["$2"]', operator: Exists}
  delay:
    durationMilliseconds: 0
    durationFrom: {expressionFrom: '.metadata.annotations["$2"]'}
  next:
    statusTemplate: |
      {{ \$now := Now }}
      {{ \$root := . }}
      conditions:
      - {lastTransitionTime: {{ \$now | Quote }}, status: "False", type: Ready, reason: $5}
      - {lastTransitionTime: {{ \$now | Quote }}, status: "False", type: ContainersReady, reason: $5}
      containerStatuses:
      {{ range \$index, \$item := .spec.containers }}
      {{ \$origin := index \$root.status.containerStatuses \$index }}
      - image: {{ \$item.image | Quote }}
        name: {{ \$item.name | Quote }}
        ready: false
        restartCount: 0
        started: false
        state:
          terminated:
            exitCode: $4
            reason: $5
            startedAt: {{ \$origin.state.running.startedAt | Quote }}
            finishedAt: {{ \$now | Quote }}
      {{ end }}
      phase: $3
K
}
{ for f in $S/pod/fast/pod-{complete,delete,ready}.yaml $S/node/fast/node-initialize.yaml \
    $S/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml; do echo ---; cat $f; done
  mystage pod-run-for kwok.local/run-for Succeeded 0 Completed
  mystage pod-fail-after kwok.local/fail-after Failed 1 Error; } > $RUN/kwok-stages.yaml
start kwok kwok --kubeconfig $RUN/admin.kubeconfig --config $RUN/kwok-stages.yaml \
  --manage-nodes-with-label-selector type=kwok \
  --cidr 10.200.0.0/16 --node-ip 10.200.0.1 --node-lease-duration-seconds 40
for i in $(seq 0 $((N-1))); do cat <<K
---
apiVersion: v1
kind: Node
metadata:
  name: kwok-$i
  labels: {type: kwok, kubernetes.io/hostname: kwok-$i, kubernetes.io/os: linux, kubernetes.io/arch: amd64}
  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
spec:
  taints: [${NOTAINT:+#}{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}
  ]
status:
  allocatable: {cpu: 1k, memory: 1Ti, pods: 10k, nvidia.com/gpu: 1k}
  capacity: {cpu: 1k, memory: 1Ti, pods: 10k, nvidia.com/gpu: 1k}
K
done | kubectl apply -f - >/dev/null
kubectl wait --for=condition=Ready node -l type=kwok --timeout=60s >/dev/null
echo "$(kubectl get nodes -l type=kwok --no-headers | grep -c ' Ready ') kwok nodes Ready"
