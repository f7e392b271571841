#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd + kube-apiserver (+ kube-controller-manager + kube-scheduler) on loopback. Idempotent.
#   up.sh          all four       up.sh api      etcd + kube-apiserver only
# then: the last line it prints
# FSYNC=1 keeps etcd's fsync on. EXTRA_API="--flag ..." adds kube-apiserver flags.
. "$(dirname "$(readlink -f "$0")")/lib.sh"; set -eu
t0=$(date +%s%N); ms() { echo $(( ($(date +%s%N)-t0)/1000000 )) ms; }
[ -s $PKI/ca.crt ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
  -subj /CN=k8s-local-ca \
  -keyout $PKI/ca.key -out $PKI/ca.crt -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature 2>/dev/null
[ -s $PKI/sa.key ] || { openssl genrsa -out $PKI/sa.key 2048 2>/dev/null;
  openssl rsa -in $PKI/sa.key -pubout -out $PKI/sa.pub 2>/dev/null; }
cert apiserver /CN=kube-apiserver IP:127.0.0.1,IP:10.96.0.1,IP:$NODE_IP,DNS:localhost,DNS:kubernetes\
,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
cert admin     /O=system:masters/CN=admin
cert kcm       /CN=system:kube-controller-manager
cert scheduler /CN=system:kube-scheduler
cert front-proxy /CN=front-proxy
kubeconfig $RUN/admin.kubeconfig admin
kubeconfig $RUN/kcm.kubeconfig kcm
kubeconfig $RUN/scheduler.kubeconfig scheduler

f=--unsafe-no-fsync; [ -z "${FSYNC:-}" ] || f=
start etcd $BIN/etcd --name s1 --data-dir $RUN/etcd $f --log-level warn \
  --listen-client-urls http://127.0.0.1:$ETCD_PORT --advertise-client-urls http://127.0.0.1:$ETCD_PORT \
  --listen-peer-urls http://127.0.0.1:$ETCD_PEER_PORT --initial-advertise-peer-urls http://127.0.0.1:$ETCD_PEER_PORT \
  --initial-cluster s1=http://127.0.0.1:$ETCD_PEER_PORT --quota-backend-bytes 8589934592 --auto-compaction-retention 5m
start kube-apiserver $BIN/kube-apiserver --etcd-servers http://127.0.0.1:$ETCD_PORT \
  --bind-address 127.0.0.1 --secure-port $API_PORT --advertise-address $NODE_IP \
  --tls-cert-file $PKI/apiserver.crt --tls-private-key-file $PKI/apiserver.key --client-ca-file $PKI/ca.crt \
  --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged=true \
  --service-cluster-ip-range 10.96.0.0/16 --service-account-issuer https://kubernetes.default.svc.cluster.local \
  --service-account-key-file $PKI/sa.pub --service-account-signing-key-file $PKI/sa.key \
  --kubelet-client-certificate $PKI/admin.crt --kubelet-client-key $PKI/admin.key \
  --kubelet-preferred-address-types InternalIP \
  --requestheader-client-ca-file $PKI/ca.crt --requestheader-allowed-names front-proxy \
  --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
  --requestheader-extra-headers-prefix X-Remote-Extra- \
  --proxy-client-cert-file $PKI/front-proxy.crt --proxy-client-key-file $PKI/front-proxy.key ${EXTRA_API:-}
for i in $(seq 1200); do
  [ "$(readyz)" = ok ] && break
  alive etcd || { echo "etcd died:"; tail -5 $LOG/etcd.log; exit 1; }
  alive kube-apiserver || { echo "kube-apiserver died:"; tail -5 $LOG/kube-apiserver.log; exit 1; }
  sleep 0.05
done
[ "$(readyz)" = ok ] || { echo "kube-apiserver not ready after $(ms)"; exit 1; }
echo "kube-apiserver ready at $SERVER after $(ms)"
[ "${1:-}" = api ] && exit 0

start kube-controller-manager $BIN/kube-controller-manager --kubeconfig $RUN/kcm.kubeconfig --leader-elect=false \
  --bind-address 127.0.0.1 --secure-port $KCM_PORT --use-service-account-credentials=true \
  --service-account-private-key-file $PKI/sa.key --root-ca-file $PKI/ca.crt \
  --cluster-signing-cert-file $PKI/ca.crt --cluster-signing-key-file $PKI/ca.key \
  --kube-api-qps ${QPS:-200} --kube-api-burst ${BURST:-400}
start kube-scheduler $BIN/kube-scheduler --kubeconfig $RUN/scheduler.kubeconfig --leader-elect=false \
  --bind-address 127.0.0.1 --secure-port $SCHED_PORT --kube-api-qps ${QPS:-200} --kube-api-burst ${BURST:-400}
for c in kube-controller-manager:$KCM_PORT kube-scheduler:$SCHED_PORT; do
  for i in $(seq 600); do
    [ "$(curl -sk --noproxy '*' -m 2 https://127.0.0.1:${c#*:}/healthz 2>/dev/null)" = ok ] && break
    alive ${c%:*} || { echo "${c%:*} died:"; tail -5 $LOG/${c%:*}.log; exit 1; }
    sleep 0.05
  done
done
# the default service account is what pods need before they can be created
for i in $(seq 200); do kubectl -n default get sa default >/dev/null 2>&1 && break; sleep 0.1; done
echo "controller manager, scheduler, default service account ready after $(ms)"
echo "export KUBECONFIG=$KUBECONFIG PATH=$BIN:\$PATH"
