#!/bin/bash
# Runs as root in the virtual machine when it has booted, twice: after the second boot it only looks whether pods came up again. What it
# prints is the transcript. A step that fails does not end the run.
exec >/dev/ttyS0 2>&1
export HOME=/root TERM=dumb
EXAMPLE=/usr/share/doc/statelet/examples/systemd
PATIENCE_SECONDS=1800

# NAME COMMAND
step() {
  printf '\n# %s\n' "$2"
  if eval "$2"; then echo "=== ok: $1"; else echo "=== FAILED: $1"; fi
}
# WHAT COMMAND: until the command succeeds
await() {
  local end=$((SECONDS + PATIENCE_SECONDS))
  until eval "$2" >/dev/null 2>&1; do
    if [ $SECONDS -gt $end ]; then
      echo "waited in vain for $1"
      journalctl --no-pager -u statelet -u containerd | tail -n 60
      return 1
    fi
    sleep 5
  done
}
runs() { statelet pods | grep -Eq "^default +$1[^ ]* +1/1 +Running"; }
container_of() { statelet pods -o json | grep -A200 "\"name\": *\"$1" | grep -om1 'containerd://[0-9a-f]*'; }
pod_groups() { find /sys/fs/cgroup/kubepods.slice -path '*-pod*.slice/*' -name "$1" -not -path '*.scope/*' -exec cat {} +; }

if [ -e /root/second-boot ]; then
  step 'static pods start again after a reboot' 'await "the first pod" "runs first" && statelet pods'
  step 'no pod has ended in failure at the shutdown' '! journalctl --no-pager -b -1 -u statelet | grep -q "\"level\":\"error\""'
  echo '=== END'
  systemctl poweroff
  exit
fi

step 'the images of the pods are there, since there is no registry' 'ctr --namespace k8s.io images import /root/images.tar'
# The ten commands of examples/systemd/README.md.
. /root/ten-commands.sh
step 'the first pod runs' 'await "the first pod" "runs first" && statelet pods'
step 'its log can be read' 'await "a line" "statelet logs first | grep -q :" && statelet logs first | tail -n 2'
step 'a shell in it answers' 'statelet exec first -- sh -c "echo from inside; cat /proc/1/comm"'
step 'its limits stand in its slice' 'pod_groups memory.max | grep -x 67108864 && pod_groups cpu.max | grep -x "10000 100000"'
before=$(container_of first)
step 'systemctl restart adopts it' 'systemctl restart statelet && await "the pod" "runs first" && [ -n "$before" ] && [ "$(container_of first)" = "$before" ]'
step 'kill -9 is survived too' 'systemctl kill --signal=KILL statelet && sleep 5 && await "the pod" "runs first" && [ "$(container_of first)" = "$before" ]'

cat >/etc/statelet/pods/hungry.yaml <<'EOF'
apiVersion: v1
kind: Pod
metadata: { name: hungry }
spec:
  containers:
    - name: main
      image: docker.io/library/busybox:1.37
      command: [sh, -c, 'x=a; while :; do x=$x$x; done']
      resources: { limits: { memory: 32Mi } }
EOF
step 'a container beyond its limit is killed by the kernel, and said to be' 'await "OOMKilled" "statelet pods -o json | grep -q OOMKilled"'
rm /etc/statelet/pods/hungry.yaml

mkdir -p /root/pods /etc/systemd/system/statelet.service.d
sed 's/name: first/name: ordinary/' "$EXAMPLE/first-pod.yaml" >/root/pods/ordinary.yaml
unit() { printf '[Service]\nExecStart=\nExecStart=/usr/bin/statelet run --config /etc/statelet/config.yaml --pods /root/pods %s\n' "$1" >/etc/systemd/system/statelet.service.d/20-test.conf && systemctl daemon-reload && systemctl restart statelet; }
step 'an ordinary pod runs beside it' 'unit "" && await "the ordinary pod" "runs ordinary"'
step 'it is evicted where memory is short, and the static pod stays' 'unit "--eviction-hard memory.available<99%" && await "the eviction" "statelet pods -o json | grep -q Evicted" && runs first'

echo 'shutdownGracePeriod: 30s' >>/etc/statelet/config.yaml
step 'the agent delays a shutdown' 'unit "" && await "the inhibitor" "systemd-inhibit --list | grep -i -e statelet -e kubelet" && systemd-inhibit --list'
touch /root/second-boot
systemctl reboot
