/** The pods of the bench: as manifests for the daemon, and as the CRI configurations that the daemon sends for them. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import {
  containerConfig as configOfContainer,
  type ContainerFacts,
} from '../../src/agent/policies/cri/container-config.ts';
import { podSandboxConfig } from '../../src/agent/policies/cri/sandbox-config.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../src/types/cri.ts';
import type { Container, Pod } from '../../src/types/kubernetes.ts';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';

/** As the first process of a container, `sleep` would ignore SIGTERM. */
const COMMAND = ['sh', '-c', 'trap "exit 0" TERM; sleep 1000000 & wait'];

/** The facts that the daemon reads of an ordinary node. */
const NODE: ContainerFacts = {
  seccompDefault: false,
  seccompProfileRoot: '/var/lib/statelet/seccomp',
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  cgroupVersion: existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1,
  memoryCapacityBytes: totalmem(),
  swapCapacityBytes: 0,
  hugePageSizes: [],
  swapController: false,
};

/** The CRI configuration of a pod of the bench. */
export interface BarePodConfig {
  readonly sandbox: PodSandboxConfig;
  container(attempt: number): ContainerConfig;
}

export function manifest(bed: ContainerdBed, name: string): object {
  const spec = { hostNetwork: true, containers: [container(bed)] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
}

/** The parent of the cgroups of pods. */
export const podCgroups = (bed: ContainerdBed): string => `${bed.cgroupRoot}/kubepods`;

/** Also creates the folders and files that the runtime expects. */
export function barePodConfig(bed: ContainerdBed, name: string): BarePodConfig {
  const pod = barePod(bed, name);
  const sandbox = podSandboxConfig(pod, 0, {
    podLogsDir: join(bed.dir, 'bare-logs'),
    dns: {
      clusterDNS: [],
      clusterDomain: '',
      resolvConf: { servers: ['127.0.0.1'], searches: [], options: [] },
    },
    cgroupParent: `${podCgroups(bed)}/besteffort/pod${pod.metadata.uid}`,
    resources: NODE,
  });
  const folder = join(sandbox.logDirectory, 'main');
  mkdirSync(folder, { recursive: true });
  const mounts = ['/etc/hosts', '/dev/termination-log'].map((containerPath) => {
    const hostPath = join(folder, containerPath.replaceAll('/', '-'));
    writeFileSync(hostPath, '');
    return { containerPath, hostPath, readonly: false, propagation: 'PROPAGATION_PRIVATE' } as const;
  });
  const resolved = { command: COMMAND, args: [], envs: [] };
  const facts = { pod, container: container(bed), resolved, mounts, node: NODE };
  return { sandbox, container: (attempt) => configOfContainer({ ...facts, attempt }) };
}

function barePod(bed: ContainerdBed, name: string): Pod {
  return {
    metadata: { name, namespace: 'default', uid: randomUUID() },
    spec: {
      hostNetwork: true,
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      containers: [container(bed)],
    },
  };
}

function container({ image }: ContainerdBed): Container {
  return { name: 'main', image, imagePullPolicy: 'IfNotPresent', command: COMMAND };
}
