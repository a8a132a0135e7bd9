#!/bin/sh
# fresh-debian.sh DIR NODE BIN EXAMPLES RESTRICTS: inside of namespaces of a machine, becomes what a fresh Debian is after the first step of
# docs/nginx.md: containerd runs with Debian's configuration, `statelet` is a command, its examples are where the package has them. The network is
# its own and leads nowhere; in the places of Docker Hub and registry.k8s.io there is the registry behind DIR/registry.sock. What is
# written goes with it. Then it runs the commands from its input.
set -eu
dir=$1 node=$2 bin=$3 examples=$4 restricts=$5
ip link set lo up
scratch=$(mktemp -d -p "$dir")
mount -t tmpfs tmpfs "$scratch"
for folder in /etc /usr /var/lib /var/log /root; do
  mkdir -p "$scratch$folder/up" "$scratch$folder/work"
  mount -t overlay -o "lowerdir=$folder,upperdir=$scratch$folder/up,workdir=$scratch$folder/work" overlay "$folder"
done
# No disk of the machine is so full that a pod is evicted, and containerd's layers need a plain file system.
for folder in /var/lib/containerd /var/lib/statelet /var/lib/cni; do
  # Other tests may write there meanwhile: it is hidden, not removed.
  mkdir -p "$folder"
  mount -t tmpfs tmpfs "$folder"
done
rm -rf /etc/cni/net.d
mkdir -p /etc/cni/net.d

printf '#!/bin/sh\nexec %s %s "$@"\n' "$node" "$bin" > /usr/bin/statelet
chmod 755 /usr/bin/statelet
rm -rf /usr/share/doc/statelet
mkdir -p /usr/share/doc/statelet
cp -r "$examples" /usr/share/doc/statelet/examples

echo '127.0.0.1 localhost registry-1.docker.io registry.k8s.io' > /etc/hosts
cat "$dir/authority.pem" >> /etc/ssl/certs/ca-certificates.crt
# Without the capability for it no process of this machine may lower its OOM score: no sandbox would start.
sed -i "/^ *\[plugins.\"io.containerd.grpc.v1.cri\"\]$/a restrict_oom_score_adj = $restricts" /etc/containerd/config.toml
"$node" "$dir/front.mjs" &
containerd > "$dir/containerd.log" 2>&1 &
until ctr version > /dev/null 2>&1; do sleep 0.1; done
cd /root
cat > "$dir/commands.sh"
sh -eu "$dir/commands.sh" && exit
code=$?
statelet why web || :
tail -n 30 /root/statelet.log "$dir/containerd.log"
exit $code
