/** The files that the CRI-O of a test reads. */
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type Layout, OVERLAYFS_MAGIC, restrictsOomScoreAdj } from '../containerd/layout.ts';
import type { CrioPrograms } from './crio-programs.ts';

interface Images {
  readonly registry: string;
  readonly pause: string;
}

/** Text by the name of the file. */
export function crioConfig(layout: Layout, { conmon, pinns }: CrioPrograms, { registry, pause }: Images) {
  const text = (...names: readonly string[]) => JSON.stringify(join(layout.dir, ...names));
  const quoted = JSON.stringify;
  return {
    'policy.json': '{"default":[{"type":"insecureAcceptAnything"}]}',
    'registries.conf': `[[registry]]\nlocation = ${quoted(registry)}\ninsecure = true\n`,
    'runc.sh': runcScript(),
    'crio.conf': `[crio]
root = ${text('root')}
runroot = ${text('runroot')}
storage_driver = ${quoted(statfsSync(layout.dir).type === OVERLAYFS_MAGIC ? 'vfs' : 'overlay')}
log_dir = ${text('logs')}
version_file = ${text('version')}
version_file_persist = ${text('version-persist')}
clean_shutdown_file = ${text('clean.shutdown')}
[crio.api]
listen = ${text('crio.sock')}
stream_port = "0"
[crio.runtime]
default_runtime = "runc"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
pinns_path = ${quoted(pinns)}
namespaces_dir = ${text('namespaces')}
container_exits_dir = ${text('exits')}
container_attach_socket_dir = ${text('attach')}
hooks_dir = []
[crio.runtime.runtimes.runc]
runtime_path = ${text('runc.sh')}
runtime_root = ${text('runc', 'k8s.io')}
monitor_path = ${quoted(conmon)}
monitor_cgroup = "pod"
[crio.image]
pause_image = ${quoted(pause)}
pause_command = ""
signature_policy = ${text('policy.json')}
[crio.network]
network_dir = ${quoted(layout.cniConfDir)}
plugin_dirs = [${quoted(layout.cniBinDir)}]
[crio.nri]
enable_nri = false
`,
  };
}

/**
 * Machines that are containers cannot do everything that CRI-O wants from runc. Without the capability no process may lower its OOM score, and no
 * container would start; nor would one with limits of huge pages where the kernel knows their cgroups, and none are mounted.
 */
function runcScript(): string {
  const changes = [
    ...(restrictsOomScoreAdj() ? ['s/"oomScoreAdj": *-[0-9]*/"oomScoreAdj":0/'] : []),
    ...(existsSync('/sys/fs/cgroup/hugetlb')
      ? []
      : ['s/"hugepageLimits": *\\[[^]]*\\]/"hugepageLimits":[]/']),
  ];
  return `#!/bin/sh
bundle= before=
for word; do
  case "$before" in --bundle | -b) bundle=$word ;; esac
  before=$word
done
if [ -n "$bundle" ]; then sed -zi '${changes.join(';')}' "$bundle/config.json"; fi
exec runc "$@"
`;
}
