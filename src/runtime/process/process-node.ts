import { join } from 'node:path';
import { containerConfig } from '../../policies/container-config.ts';
import { podSandboxConfig } from '../../policies/sandbox-config.ts';
import type { ResourceList } from '../../policies/resources.ts';
import { EMBEDDED_LIMITS, unsupportedFields } from '../../policies/unsupported-fields.ts';
import { commandResolver } from '../node-facts.ts';
import type { Logger } from '../../types/logger.ts';
import { PodLogs } from '../logs/pod-logs.ts';
import type { NodeParts, PodNode } from '../pod-node.ts';
import { StartTimes } from '../start-times.ts';
import { createProcessRuntime } from './process-runtime.ts';

/** Plain processes are on the machine's own network. */
const LOOPBACK = '127.0.0.1';

const nothing = (): Promise<void> => Promise.resolve();

/** The embedded runtime. */
export function openProcessNode(options: {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostIPs: readonly string[];
  readonly allocatable?: ResourceList;
  /** How long a call to the runtime may take. */
  readonly requestTimeoutMs?: number;
  readonly logger: Logger;
}): NodeParts {
  const { rootDir, requestTimeoutMs, logger } = options;
  const runtime = createProcessRuntime({
    ...{ rootDir, logger: { warn: (message: string) => logger.warn({}, message) } },
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
  });
  const startTimes = new StartTimes({ podsDir: join(rootDir, 'pods'), logger });
  return {
    runtime,
    node: processNode({ ...options, startTimes }),
    start: () => undefined,
    stop: () => runtime.close(),
  };
}

/** Plain processes have no images, volumes or cgroups: the node only fills in what they are to run. */
export function processNode(options: {
  readonly hostIPs: readonly string[];
  readonly podLogsDir: string;
  /** Without it, each agent begins anew. */
  readonly startTimes?: StartTimes;
  /** What a container that has no limits is told that it may have. */
  readonly allocatable?: ResourceList;
}): PodNode {
  const { podLogsDir, hostIPs, startTimes, allocatable = {} } = options;
  const resolveCommand = commandResolver(hostIPs, allocatable);
  const logs = new PodLogs(podLogsDir);
  return {
    unsupportedFields: (pod) => unsupportedFields(pod, EMBEDDED_LIMITS),
    rejection: () => undefined,
    startTime: (uid, now) => startTimes?.of(uid, now) ?? Promise.resolve(now),
    prepare: nothing,
    sandbox: (pod, attempt) => settled(() => ({ config: podSandboxConfig(pod, attempt, { podLogsDir }) })),
    // Nothing but the pod says whom a process runs as: without that, it is whoever the agent is.
    image: (_pod, { image = '' }) => Promise.resolve({ imageRef: image, uid: process.getuid?.() ?? 0 }),
    container: ({ pod, container, attempt, podStatus, image }) =>
      settled(() => {
        const resolved = resolveCommand(pod, container, podStatus);
        return containerConfig({ pod, container, attempt, resolved, imageUser: image });
      }),
    created: () => undefined,
    removing: nothing,
    pastInstances: (pod, containerName) => logs.pastInstances(pod, containerName),
    podIP: () => LOOPBACK,
    forgetImage: () => undefined,
    release: nothing,
    remove: async (pod) => {
      await logs.remove(pod);
      await startTimes?.remove(pod.uid);
    },
    podsOnDisk: async () => {
      const pods = new Map((await logs.pods()).map((pod) => [pod.uid, pod]));
      const uids = (await startTimes?.podsOnDisk()) ?? [];
      for (const uid of uids) if (!pods.has(uid)) pods.set(uid, { uid, name: '', namespace: '' });
      return [...pods.values()];
    },
    collectGarbage: () => undefined,
  };
}

/** What throws becomes a rejection. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}
