# SPDX-License-Identifier: Apache-2.0
# shared by up.sh, down.sh, node.sh, kwok.sh (sourced)
HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
ROOT=${K8S_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/roundhouse-cluster}
RUN=$ROOT/run; BIN=$ROOT/bin; PKI=$RUN/pki; LOG=$RUN/log; PID=$RUN/pid
ETCD_PORT=${ETCD_PORT:-23790}; ETCD_PEER_PORT=${ETCD_PEER_PORT:-23800}; API_PORT=${API_PORT:-26443}
KCM_PORT=${KCM_PORT:-21257}; SCHED_PORT=${SCHED_PORT:-21259}
# the pod bridge (node.sh makes it), pods are in its /16; never leaves this machine
BRIDGE=${BRIDGE:-cni0}; NODE_IP=${NODE_IP:-10.88.0.1}
KUBELET_PORT=${KUBELET_PORT:-21250}; KUBELET_HEALTH_PORT=${KUBELET_HEALTH_PORT:-21248}
DNS_READY_PORT=${DNS_READY_PORT:-21281}
PROXY_HEALTH_PORT=${PROXY_HEALTH_PORT:-21256}; PROXY_METRICS_PORT=${PROXY_METRICS_PORT:-21249}
SERVER=https://127.0.0.1:$API_PORT
export KUBECONFIG=$RUN/admin.kubeconfig PATH=$BIN:/usr/sbin:$PATH
mkdir -p $RUN $PKI $LOG $PID

alive() { local p; p=$(cat $PID/$1.pid 2>/dev/null) && [ -n "$p" ] && kill -0 $p 2>/dev/null; }
start() { # start NAME command... : a daemon that outlives the shell; log in run/log, pid in run/pid
  local n=$1; shift
  alive $n && return 0
  setsid nohup "$@" </dev/null >>$LOG/$n.log 2>&1 &
  echo $! > $PID/$n.pid; disown
}
stop() { # stop NAME : only the pid that start() wrote down
  local p i; p=$(cat $PID/$1.pid 2>/dev/null) || return 0
  if kill -TERM $p 2>/dev/null; then
    for i in $(seq 100); do kill -0 $p 2>/dev/null || break; sleep 0.1; done
    kill -KILL $p 2>/dev/null || true
  fi
  rm -f $PID/$1.pid
}
cert() { # cert NAME SUBJECT [SAN] : key and certificate signed by our one CA
  [ -s $PKI/$1.crt ] && return 0
  openssl req -x509 -CA $PKI/ca.crt -CAkey $PKI/ca.key -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -keyout $PKI/$1.key -out $PKI/$1.crt -subj "$2" \
    -addext basicConstraints=CA:FALSE -addext keyUsage=digitalSignature -addext extendedKeyUsage=serverAuth,clientAuth \
    ${3:+-addext subjectAltName=$3} 2>/dev/null
}
kubeconfig() { # kubeconfig FILE CERTNAME [SERVER]
  [ -s $1 ] && return 0
  cat > $1 <<K
apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: "${3:-$SERVER}", certificate-authority-data: $(base64 -w0 $PKI/ca.crt)}}]
users:
- name: u
  user: {client-certificate-data: $(base64 -w0 $PKI/$2.crt), client-key-data: $(base64 -w0 $PKI/$2.key)}
contexts: [{name: local, context: {cluster: local, user: u}}]
current-context: local
K
  chmod 600 $1
}
readyz() { curl -s --noproxy '*' -m 5 --cacert $PKI/ca.crt --cert $PKI/admin.crt --key $PKI/admin.key $SERVER/readyz \
  2>/dev/null; }
