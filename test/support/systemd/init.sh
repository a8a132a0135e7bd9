#!/bin/sh
# init.sh DIR...: process 1 of the new namespaces. Lays out what systemd is to see, and becomes systemd.
set -e
hostname statelet-test
# Else other tests could not remove what they have mounted.
while read -r _ _ _ _ path _; do
  case $path in /tmp/*) umount -l "$path" 2> /dev/null || : ;; esac
done < /proc/self/mountinfo
mount -t tmpfs tmpfs /run
for dir; do
  mkdir -p "/run/kept$dir"
  mount --bind "$dir" "/run/kept$dir"
done
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /var/tmp
for dir; do
  case $dir in
    /tmp/*)
      mkdir -p "$dir"
      mount --bind "/run/kept$dir" "$dir"
      ;;
  esac
  umount "/run/kept$dir"
done
mount -t tmpfs tmpfs /etc/systemd
mkdir /etc/systemd/system

# The hierarchies anew, each with the top of this cgroup namespace.
mounts=$(grep -E '^[^ ]+ /sys/fs/cgroup/[^ ]+ cgroup2? ' /proc/mounts)
umount -R /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
echo "$mounts" | while read -r _ path type options _; do
  mkdir -p "$path"
  if [ "$type" = cgroup2 ]; then mount -t cgroup2 cgroup2 "$path"
  else mount -t cgroup -o "$(echo "$options" | sed -E 's/(^|,)(rw|ro|relatime|nosuid|nodev|noexec)\b//g; s/^,//')" cgroup "$path"; fi
  [ "$type" = cgroup2 ] || [ ! -e "$path/cpuset.cpus" ] || echo 1 > "$path/cgroup.clone_children"
  mkdir -p "$path/launched"
done

# It starts nothing beside itself. What a machine does at its start must not be done here a second time: no unit can ask for it.
for target in sysinit basic; do ln -s /dev/null "/etc/systemd/system/$target.target"; done
cat > /etc/systemd/system/statelet-test.target << 'END'
[Unit]
Description=systemd of a test
DefaultDependencies=no
END
export container=statelet-test
exec /lib/systemd/systemd --unit=statelet-test.target --log-target=console --show-status=0
