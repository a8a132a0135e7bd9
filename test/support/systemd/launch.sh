#!/bin/sh
# launch.sh CGROUP PID PROGRAM ARG...: runs the program in the namespaces of the process, and in a cgroup of its tree.
for top in /sys/fs/cgroup/*/; do
  [ -e "$top$1/launched/cgroup.procs" ] && echo 0 > "$top$1/launched/cgroup.procs"
done
pid=$2
shift 2
# The program ends with the test.
exec nsenter --target "$pid" --mount --pid --uts --ipc --cgroup setpriv --pdeathsig KILL "$@"
