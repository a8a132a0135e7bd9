#!/bin/sh
# kubeadm.sh PROGRAM SOCKET: gives the machine the places of kubeadm, without a trace on the machine around it. /usr/bin/kubelet is a link
# to the program, and the runtime's socket is where installers expect it.
set -e
layer() {
  mkdir -p "/run/layers$1/upper" "/run/layers$1/work"
  mount -t overlay -o "lowerdir=$1,upperdir=/run/layers$1/upper,workdir=/run/layers$1/work" overlay "$1"
}
mkdir /run/units
mount --bind /etc/systemd /run/units
layer /etc
mount --bind /run/units /etc/systemd
layer /usr/bin
layer /usr/lib/systemd/system
layer /var/lib
mkdir -p /run/containerd /etc/kubernetes/manifests /etc/kubernetes/pki /var/lib/kubelet /usr/lib/systemd/system/kubelet.service.d
ln -s "$2" /run/containerd/containerd.sock
ln -sf "$1" /usr/bin/kubelet
