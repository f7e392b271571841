#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One real node ("node1"): containerd + runc (apt), kubelet, bridge CNI (apt), CoreDNS on the host. up.sh first.
# Idempotent.
# ../node/node.py runs it in namespaces of its own, where it leaves nothing behind however it ends, and several do not
# meet.
#   node.sh            up          node.sh down       stop it, pods and all
#   node.sh import F…  load more docker-archive/OCI tars into containerd (image names as inside the tar)
# No image registry is reachable; every pull is pointed at a closed loopback port, so nothing leaves the machine.
. "$(dirname "$(readlink -f "$0")")/lib.sh"; set -eu
NODE=${NODE:-node1}; NET=${NODE_IP%.*.*}; C=$RUN/containerd; SOCK=$C/containerd.sock; KL=$RUN/kubelet
CTR="ctr -a $SOCK -n k8s.io"

if [ "${1:-}" = import ]; then shift; for f; do $CTR images import "$f"; done; exit 0; fi
if [ "${1:-}" = down ]; then
  stop kubelet; stop coredns; stop apifwd; stop kube-proxy
  set +e
  # else the next node.sh would believe the old Ready condition
  [ "$(readyz)" = ok ] && kubectl delete node $NODE --ignore-not-found --wait=false >/dev/null
  # only the network namespaces that our own containers name
  nets=$(for t in $($CTR containers ls -q 2>/dev/null); do
    $CTR containers info $t | grep -o '/var/run/netns/cni-[a-z0-9-]*'; done | sort -u)
  for t in $($CTR tasks ls -q 2>/dev/null); do $CTR tasks kill -s KILL $t >/dev/null 2>&1; done; sleep 0.5
  for t in $($CTR containers ls -q 2>/dev/null); do $CTR tasks rm -f $t >/dev/null 2>&1;
    $CTR containers rm $t >/dev/null 2>&1; done
  stop containerd
  for m in $(awk -v r="$RUN/" 'index($2,r)==1{print $2}' /proc/mounts | sort -r); do umount -l "$m"; done
  for n in $nets; do ip netns del ${n##*/} 2>/dev/null; done; rm -rf $RUN/ipam
  # what was done to the machine: its firewall, bridge, cgroups and settings
  [ -x $BIN/kube-proxy ] && kube-proxy --cleanup >/dev/null 2>&1
  for r in "-i $BRIDGE ! -o $BRIDGE" "! -i $BRIDGE -o $BRIDGE"; do while iptables -D FORWARD $r -j DROP 2>/dev/null;
    do :; done; done
  ip link del $BRIDGE 2>/dev/null
  find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} \; 2>/dev/null
  while read -r k v; do echo $v > /proc/sys/$k; done < $RUN/sysctl 2>/dev/null; rm -f $RUN/sysctl
  rm -rf $KL/pods $KL/cpu_manager_state $KL/memory_manager_state
  exit 0
fi

# what this or kubelet or kube-proxy sets, for `down`
[ -s $RUN/sysctl ] || for k in net/ipv4/ip_forward vm/overcommit_memory vm/panic_on_oom kernel/panic \
  kernel/panic_on_oops kernel/keys/root_maxkeys \
  kernel/keys/root_maxbytes; do [ ! -w /proc/sys/$k ] || echo $k $(cat /proc/sys/$k); done > $RUN/sysctl

# --- pod network: a bridge with the node's address; no default route for pods, nothing forwarded off the machine
ip link show $BRIDGE >/dev/null 2>&1 || { ip link add $BRIDGE type bridge; ip addr add $NODE_IP/16 dev $BRIDGE;
  ip link set $BRIDGE up; }
# where nothing leads anywhere, the API server's own requests to Services (webhooks) still have to get as far as
# kube-proxy's rules
ip route get 10.96.0.1 >/dev/null 2>&1 || ip route add 10.96.0.0/16 dev $BRIDGE
echo 1 > /proc/sys/net/ipv4/ip_forward
[ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] && echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables || true
iptables -C FORWARD -i $BRIDGE ! -o $BRIDGE -j DROP 2>/dev/null || iptables -I FORWARD -i $BRIDGE ! -o $BRIDGE -j DROP
iptables -C FORWARD ! -i $BRIDGE -o $BRIDGE -j DROP 2>/dev/null || iptables -I FORWARD ! -i $BRIDGE -o $BRIDGE -j DROP
mkdir -p $C/certs.d/_default $RUN/cni $RUN/ipam $KL
cat > $RUN/cni/10-bridge.conflist <<K
{"cniVersion":"0.4.0","name":"pods","plugins":[
 {"type":"bridge","bridge":"$BRIDGE","isGateway":false,"ipMasq":false,"hairpinMode":true,
  "ipam":{"type":"host-local","dataDir":"$RUN/ipam",
          "ranges":[[{"subnet":"$NET.0.0/16","rangeStart":"$NET.1.1","gateway":"$NODE_IP"}]],
          "routes":[{"dst":"10.96.0.0/16","gw":"$NODE_IP"}]}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
K
cat > $C/certs.d/_default/hosts.toml <<'K'
server = "http://127.0.0.1:1"
[host."http://127.0.0.1:1"]
  capabilities = ["pull", "resolve"]
K
cat > $C/config.toml <<K
version = 2
root = "$C/root"
state = "$C/state"
oom_score = 0
[grpc]
  address = "$SOCK"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  # this VM has no CAP_SYS_RESOURCE: an oom_score_adj below our own (the sandbox wants -998) is refused, runc then dies
  # with "can't get final child's PID from pipe: EOF"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$C/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$RUN/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
K
start containerd containerd -c $C/config.toml
for i in $(seq 100); do $CTR version >/dev/null 2>&1 && break; sleep 0.1; done
$HERE/images.sh >/dev/null
for f in pause busybox python; do
  $CTR images ls -q | grep -q "^localhost/$f:1$" || $CTR images import $ROOT/images/$f.tar >/dev/null
done

# --- kubelet
cert kubelet-$NODE /O=system:nodes/CN=system:node:$NODE "IP:$NODE_IP,DNS:$NODE"
kubeconfig $RUN/kubelet.kubeconfig kubelet-$NODE
cat > $KL/config.yaml <<K
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
port: $KUBELET_PORT
healthzBindAddress: 127.0.0.1
healthzPort: $KUBELET_HEALTH_PORT
makeIPTablesUtilChains: false
tlsCertFile: $PKI/kubelet-$NODE.crt
tlsPrivateKeyFile: $PKI/kubelet-$NODE.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://$SOCK
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDNS: [$NODE_IP]
clusterDomain: cluster.local
resolvConf: ""
maxPods: ${MAX_PODS:-250}
podPidsLimit: -1
podLogsDir: $RUN/podlogs
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
enforceNodeAllocatable: [pods]
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
kubeAPIQPS: 200
kubeAPIBurst: 400
nodeStatusUpdateFrequency: 5s
shutdownGracePeriod: 0s
oomScoreAdj: 0
K
start kubelet kubelet --config $KL/config.yaml --kubeconfig $RUN/kubelet.kubeconfig --root-dir $KL \
  --hostname-override $NODE --node-ip $NODE_IP --cert-dir $KL/pki --node-labels node.local/real=true

# --- cluster DNS: CoreDNS as a host process on the bridge; no forwarder, so unknown names are NXDOMAIN/REFUSED
cat > $RUN/Corefile <<K
.:53 {
  bind $NODE_IP
  errors
  ready 127.0.0.1:$DNS_READY_PORT
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $RUN/admin.kubeconfig
    pods insecure
    ttl ${DNS_TTL:-5}
  }
}
K
start coredns coredns -conf $RUN/Corefile
# the API for pods: $NODE_IP:$API_PORT -> loopback (the certificate names this address too)
start apifwd socat TCP-LISTEN:$API_PORT,bind=$NODE_IP,fork,reuseaddr TCP:127.0.0.1:$API_PORT
# ClusterIP services, only if kube-proxy has been built (build.sh kube-proxy)
if [ -x $BIN/kube-proxy ]; then
  start kube-proxy kube-proxy --kubeconfig $RUN/admin.kubeconfig --hostname-override $NODE --proxy-mode iptables \
    --masquerade-all --cluster-cidr $NET.0.0/16 --healthz-bind-address 127.0.0.1:$PROXY_HEALTH_PORT \
    --metrics-bind-address 127.0.0.1:$PROXY_METRICS_PORT --conntrack-max-per-core 0 \
    --conntrack-tcp-timeout-established 0s \
    --conntrack-tcp-timeout-close-wait 0s
fi
for i in $(seq 600); do
  [ "$(kubectl get node $NODE -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ] &&
    break
  alive kubelet || { echo "kubelet died:"; tail -5 $LOG/kubelet.log; exit 1; }
  sleep 0.2
done
kubectl get node $NODE -o wide
