#!/bin/sh
# start.sh CGROUP DIR...: runs systemd as process 1 of namespaces of its own. What it sees of this machine is bounded:
# CGROUP is the top of its hierarchies, and of /tmp it has nothing but the folders. It must never see the rest:
# its start empties /tmp.
set -e
cgroup=$1
for top in /sys/fs/cgroup/*/; do
  [ -e "$top/cgroup.procs" ] || continue
  mkdir -p "$top$cgroup"
  if [ -e "$top/cpuset.cpus" ]; then
    cat "$top/cpuset.cpus" > "$top$cgroup/cpuset.cpus"
    cat "$top/cpuset.mems" > "$top$cgroup/cpuset.mems"
    echo 1 > "$top$cgroup/cgroup.clone_children"
  fi
  echo 0 > "$top$cgroup/cgroup.procs"
done
shift
exec unshare --pid --mount --uts --ipc --cgroup --fork --kill-child --mount-proc --propagation private \
  sh "$(dirname "$0")/init.sh" "$@"
