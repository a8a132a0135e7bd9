/** The figures of a hollow node in groups, as cAdvisor has them: of the machine, all pods, each pod and its containers. */
import { podCgroup, qosCgroups } from '../../agent/policies/cgroups/cgroup-names.ts';
import type { GroupFigures, GroupLimits } from '../../agent/runtime/stats/cadvisor/group-figures.ts';
import type { RunningTruth } from '../../simulation/resources/node-use.ts';
import type { LinuxContainerResources } from '../../types/cri.ts';
import type { PodSpec } from '../../types/kubernetes.ts';
import type { CPUStats, MemoryStats, PodStats, Summary } from '../../types/stats.ts';

const NS_PER_S = 1e9;
const CGROUPS = qosCgroups('', 'cgroupfs');
const NO_NAMES = { name: '', image: '', namespace: '', pod: '', container: '' };

export interface HollowGroupsParts {
  readonly summary: Summary;
  readonly runtime: RunningTruth;
  readonly specOf: (uid: string) => PodSpec | undefined;
  readonly nowMs: number;
}

interface Figures {
  readonly startTime?: string | undefined;
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
}

/** Without sandboxes, disks and networks: the simulation has no figures of them. */
export function hollowGroups(parts: HollowGroupsParts): readonly GroupFigures[] {
  const { nowMs } = parts;
  const { node, pods } = parts.summary;
  return [
    { ...NO_NAMES, id: '/', ...measured(node, nowMs) },
    { ...NO_NAMES, id: CGROUPS.kubepods, ...measured(together(pods), nowMs) },
    ...pods.flatMap((pod) => ofPod(pod, parts)),
  ];
}

function ofPod(stats: PodStats, { runtime, specOf, nowMs }: HollowGroupsParts): readonly GroupFigures[] {
  const { name: pod, namespace, uid } = stats.podRef;
  const spec = specOf(uid);
  if (spec === undefined) return [];
  const group = podCgroup(CGROUPS, { metadata: { name: pod, namespace, uid }, spec });
  const names = { ...NO_NAMES, namespace, pod };
  const truths = Array.from(runtime.sandboxesOf(uid), ({ containers }) => containers).flat();
  const running = truths.filter(({ state }) => state === 'CONTAINER_RUNNING');
  const containers = (stats.containers ?? []).flatMap((container) => {
    const truth = running.find(({ metadata }) => metadata.name === container.name);
    if (truth === undefined) return [];
    const { id, image, resources } = truth;
    return [
      {
        ...names,
        id: `${group}/${id}`,
        name: id,
        image,
        container: container.name,
        ...measured(container, nowMs),
        ...(resources && { limits: limitsOf(resources) }),
      },
    ];
  });
  return [{ ...names, id: group, ...measured(stats, nowMs) }, ...containers];
}

function measured({ startTime, cpu, memory }: Figures, timeMs: number) {
  const { usageBytes: usage = 0, workingSetBytes: workingSet = 0, rssBytes: rss = 0 } = memory ?? {};
  return {
    timeMs,
    ...(startTime !== undefined && { startedAtMs: Date.parse(startTime) }),
    cpu: { usageSeconds: (cpu?.usageCoreNanoSeconds ?? 0) / NS_PER_S },
    memory: { usage, workingSet, rss },
    disks: [],
    interfaces: [],
  };
}

/** Of pods that run: the CPU time of those that have gone is that of the machine alone. */
function together(pods: readonly PodStats[]): Figures {
  const sum = (of: (pod: PodStats) => number | undefined) =>
    pods.reduce((total, pod) => total + (of(pod) ?? 0), 0);
  const bytes = sum(({ memory }) => memory?.workingSetBytes);
  return {
    cpu: { usageCoreNanoSeconds: sum(({ cpu }) => cpu?.usageCoreNanoSeconds) },
    memory: { usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes },
  };
}

function limitsOf(resources: LinuxContainerResources): GroupLimits {
  const { cpuShares, cpuPeriod, cpuQuota, memoryLimitInBytes } = resources;
  return { cpuShares, cpuPeriod, cpuQuota: cpuQuota > 0 ? cpuQuota : undefined, memory: memoryLimitInBytes };
}
