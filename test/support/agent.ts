import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NEVER } from 'rxjs';
import { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import type { EvictionParts } from '../../src/agent/actors/eviction/eviction-figures.ts';
import type { PodEffects } from '../../src/agent/actors/pods/pod-actor.ts';
import { servedPods } from '../../src/agent/actors/pods/served-pods.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../src/agent/policies/pod/pod-kinds.ts';
import { openProcessNode } from '../../src/embedded/process-node.ts';
import { systemClock } from '../../src/system/timer.ts';
import type { NodeParts, PodNode } from '../../src/agent/runtime/node/pod-node.ts';
import type { AgentContext } from '../../src/types/agent-context.ts';
import type { Pod, PodSpec } from '../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../src/types/runtime-pod.ts';
import type { Logger } from '../../src/types/logger.ts';
import type { Measurements } from '../../src/types/measurements.ts';
import type { NodeFacts } from '../../src/types/node-facts.ts';
import { ROOMY_NODE } from './admission.ts';
import { waitFor } from './wait-for.ts';

export interface AgentOptions {
  readonly rootDir?: string;
  readonly sources?: readonly string[];
  readonly nodeFacts?: NodeFacts;
  readonly preemptionLowerPriorityFirst?: boolean;
  /** The node to run on; without it, the embedded runtime. */
  readonly openNode?: (context: AgentContext, places: NodePlaces) => Promise<NodeParts>;
  /** What replaces functions of the node. */
  readonly replaced?: (parts: NodeParts, places: NodePlaces) => Partial<PodNode> | Promise<Partial<PodNode>>;
  /** Makes the parts of eviction; `pods` returns the pods in the runtime. */
  readonly eviction?: (pods: () => Iterable<RuntimePodStatus>, parts: NodeParts) => EvictionParts;
  /** Replaces or wraps the effects of the pod actors. */
  readonly wrapEffects?: (effects: PodEffects) => PodEffects;
  readonly measurements?: Measurements;
}

export interface NodePlaces {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostIPs: readonly string[];
}

/** A supervisor with its actors, by default on the embedded runtime. It has no sources: the test sends the events. */
export async function startAgent(options: AgentOptions = {}) {
  const rootDir = options.rootDir ?? (await mkdtemp(join(tmpdir(), 'statelet-agent-')));
  const events: string[] = [];
  const recorder = {
    event: ({ name }: { name: string }, _type: string, reason: string) =>
      void events.push(`${name} ${reason}`),
    nodeEvent: (_type: string, reason: string) => void events.push(`node ${reason}`),
  };
  const log: string[] = [];
  const write = (_fields: object, message: string) => void log.push(message);
  const logger: Logger = { trace: write, debug: write, info: write, warn: write, error: write };

  const podLogsDir = join(rootDir, 'pods');
  const hostIPs = ['127.0.0.1'];
  const openNode = options.openNode ?? openProcessNode;
  const { measurements } = options;
  const context = { clock: systemClock, random: () => 0, logger, recorder, measurements };
  const places = { rootDir, podLogsDir, hostIPs };
  const opened = await openNode(context, places);
  const replaced = await options.replaced?.(opened, places);
  const parts = replaced ? { ...opened, node: { ...opened.node, ...replaced } } : opened;
  const { runtime } = parts;
  const pods = () => agent.pleg.pods();
  const agent: NodeAgent = new NodeAgent(context, {
    parts,
    hostIPs,
    sources: options.sources ?? ['file'],
    configuration: NEVER,
    syncFrequencyMs: 60_000,
    nodeFacts: () => options.nodeFacts ?? ROOMY_NODE,
    preemptionLowerPriorityFirst: options.preemptionLowerPriorityFirst ?? true,
    maxContainerRestartPeriodMs: 300_000,
    maximumDeadContainersPerContainer: 1,
    startsAtOnce: 16,
    wrapEffects: options.wrapEffects,
    eviction: options.eviction?.(pods, parts),
  });
  const { supervisor, statusManager } = agent;
  agent.start();
  await waitFor(() => supervisor.runtimeProblem === undefined, { what: 'the runtime to be ready' });
  // The test decides when.
  supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'the test has not begun' });

  const state = (uid: string) =>
    [...servedPods(supervisor.registry, statusManager)].find(({ pod }) => pod.metadata.uid === uid)?.state;
  return {
    rootDir,
    supervisor,
    runtime,
    shutDown: (exitWithPods: boolean) => agent.shutDown(exitWithPods),
    statusManager,
    pleg: agent.pleg,
    events,
    log,
    conditions: () => agent.nodeFacts().conditions,
    state,
    /** Waits until the pod's chart is in the state; '' means that the pod is not known. */
    until: (uid: string, wanted: string) =>
      waitFor(() => (state(uid) ?? '') === wanted, {
        what: `${uid} to be in ${wanted} (it is in ${state(uid)})`,
      }),
    update: (...pods: Pod[]) => supervisor.send({ type: 'CONFIG.UPDATE', source: 'file', pods }),
    add: (...pods: Pod[]) => supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods }),
    remove: (...pods: Pod[]) => supervisor.send({ type: 'CONFIG.REMOVE', source: 'file', pods }),
    ready: () => {
      supervisor.send({ type: 'RUNTIME_READY' });
      supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    },
    /** Stops the agent; its pods keep running, as when a daemon stops. */
    detach: async () => {
      await agent.stop();
      await parts.stop();
    },
    /** Ends all pods and removes the folder. */
    cleanUp: async () => {
      await agent.shutDown(true);
      await agent.stop();
      await parts.stop();
      // The monitor ends a moment later.
      await rm(rootDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export type TestAgent = Awaited<ReturnType<typeof startAgent>>;

/** As `staticPod`, but from the API server: it may be rejected and preempted. */
export function apiPod(name: string, uid: string, spec: Partial<PodSpec> = {}): Pod {
  return { ...staticPod(name, uid, spec), metadata: { name, namespace: 'default', uid } };
}

/** A static pod of plain processes; ends at once on SIGTERM. */
export function staticPod(name: string, uid: string, spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid, annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } },
    spec: {
      containers: [{ name: 'main', command: ['sleep', '1000'] }],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 5,
      ...spec,
    },
  };
}
