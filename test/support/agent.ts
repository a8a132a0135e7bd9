import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { podEffects } from '../../src/actors/pod-effects.ts';
import { type PodEffects } from '../../src/actors/pod-actor.ts';
import { ProbeManager } from '../../src/actors/probe-manager.ts';
import { servedPods } from '../../src/actors/served-pods.ts';
import { StatusManager } from '../../src/actors/status-manager.ts';
import { Supervisor } from '../../src/actors/supervisor.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../src/policies/pod-kinds.ts';
import { CRASH_LOOP_BACK_OFF } from '../../src/policies/crash-loop-backoff.ts';
import { Pleg } from '../../src/runtime/pleg.ts';
import { PodRuntime } from '../../src/runtime/pod-runtime.ts';
import { openProcessNode } from '../../src/runtime/process/process-node.ts';
import { StartGate } from '../../src/runtime/start-gate.ts';
import { systemClock } from '../../src/runtime/system-clock.ts';
import type { NodeParts } from '../../src/runtime/pod-node.ts';
import type { EventRecorder } from '../../src/types/event-recorder.ts';
import type { Pod, PodSpec } from '../../src/types/kubernetes.ts';
import type { Logger } from '../../src/types/logger.ts';
import { waitFor } from './wait-for.ts';

export interface AgentOptions {
  readonly rootDir?: string;
  readonly sources?: readonly string[];
  readonly maxPods?: number;
  /** The node to run on; without it, the embedded runtime. */
  readonly openNode?: (context: NodeContext) => Promise<NodeParts>;
  /** Puts something between the pod actors and their real effects. */
  readonly wrapEffects?: (effects: PodEffects) => PodEffects;
}

export interface NodeContext {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostIPs: readonly string[];
  readonly recorder: EventRecorder;
  readonly logger: Logger;
}

/** A supervisor with its actors, on the embedded runtime unless the test has another, without sources: the test sends the events of the streams. */
export async function startAgent(options: AgentOptions = {}) {
  const rootDir = options.rootDir ?? (await mkdtemp(join(tmpdir(), 'statelet-agent-')));
  const events: string[] = [];
  const recorder = {
    event: ({ name }: { name: string }, _type: string, reason: string) =>
      void events.push(`${name} ${reason}`),
  };
  const log: string[] = [];
  const write = (_fields: object, message: string) => void log.push(message);
  const logger: Logger = { trace: write, debug: write, info: write, warn: write, error: write };

  const podLogsDir = join(rootDir, 'pods');
  const hostIPs = ['127.0.0.1'];
  const openNode = options.openNode ?? openProcessNode;
  const { runtime, node } = await openNode({ rootDir, podLogsDir, hostIPs, recorder, logger });
  const statusManager = new StatusManager();
  const pleg = new Pleg({ runtime, clock: systemClock, relistPeriodMs: 10_000, onRelist: () => undefined });
  const podRuntime = new PodRuntime({
    ...{ runtime, node, recorder, podLogsDir, clock: systemClock },
    backOff: CRASH_LOOP_BACK_OFF,
    deadInstancesKept: 1,
    gate: new StartGate({ clock: systemClock, atOnce: 16 }),
  });
  const probes: ProbeManager = new ProbeManager({
    ...{ runtime, recorder, logger, clock: systemClock, random: () => 0 },
    podStatus: (uid) => statusManager.get(uid),
    podIP: () => '127.0.0.1',
    send: (event) => supervisor.send(event),
    parent: () => supervisor.actor,
  });
  const common = { node, probes, pleg, podRuntime, statusManager, clock: systemClock };
  const effects = podEffects({
    ...common,
    recorder,
    logger,
    runtimeName: () => 'statelet',
    hostIPs,
    runtimeProblem: () => undefined,
    networkProblem: () => undefined,
    onRuntimeDoubtful: () => undefined,
  });
  const stopped = Promise.withResolvers<undefined>();
  const supervisor: Supervisor = new Supervisor({
    ...common,
    sources: options.sources ?? ['file'],
    effects: options.wrapEffects?.(effects) ?? effects,
    random: () => 0,
    syncFrequencyMs: 60_000,
    maxPods: options.maxPods ?? 110,
    recorder,
    logger,
    onStopped: () => stopped.resolve(undefined),
  });
  await pleg.relist();
  supervisor.start();
  supervisor.adopt();
  pleg.start();
  pleg.changes.subscribe((change) => supervisor.send({ type: 'PLEG', ...change }));

  const state = (uid: string) =>
    [...servedPods(supervisor.registry, statusManager)].find(({ pod }) => pod.metadata.uid === uid)?.state;
  return {
    rootDir,
    supervisor,
    runtime,
    statusManager,
    events,
    log,
    state,
    stopped: stopped.promise,
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
    /** Leaves the pods running, as a daemon that ends does. */
    detach: async () => {
      probes.stop();
      pleg.stop();
      await supervisor.stop();
      await runtime.close();
    },
    /** Ends everything and removes the folder. */
    cleanUp: async () => {
      supervisor.send({ type: 'SHUTDOWN', exitWithPods: true });
      await stopped.promise;
      probes.stop();
      pleg.stop();
      await supervisor.stop();
      await runtime.close();
      await rm(rootDir, { recursive: true, force: true });
    },
  };
}

export type TestAgent = Awaited<ReturnType<typeof startAgent>>;

/** A static pod of plain processes; ends as soon as it is told to. */
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
