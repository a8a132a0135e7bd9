/** The nodes on which paths are replayed. A test can change what runs there without the agent. */
import { constants, mkdir, mkdtemp, open as openFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NEVER } from 'rxjs';
import { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import type { ActorContext } from '../../src/agent/actors/actor-context.ts';
import type { NodeAgentOptions } from '../../src/agent/actors/node/node-agent-options.ts';
import type { NodeParts } from '../../src/agent/runtime/node/pod-node.ts';
import { openProcessNode, processNode } from '../../src/embedded/process-node.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import { NO_LATENCIES } from '../../src/simulation/runtime/chance.ts';
import { SimulatedRuntime } from '../../src/simulation/runtime/simulated-runtime.ts';
import type { Logger } from '../../src/types/logger.ts';
import { ROOMY_NODE } from '../support/admission.ts';
import { RecordedEvents, testContext } from '../support/test-context.ts';
import { waitFor } from '../support/wait-for.ts';
import { settled, VirtualClock } from '../../src/simulation/node/virtual-clock.ts';

export interface PathNode {
  readonly clock: VirtualClock;
  readonly podLogsDir: string;
  /** What one agent needs of the node. */
  open(): NodeParts;
  /** The runtime itself, to check what really runs. */
  readonly runtime: RuntimeService;
  /** Makes a container end by itself. Resolves when the runtime reports that. */
  exit(containerId: string, exitCode: number): Promise<void>;
  /** Whether `HEALTH_COMMAND` succeeds. */
  setHealthy(isHealthy: boolean): Promise<void>;
  /** Resolves when the check holds. Rejects if it does not hold in time. */
  until(what: string, check: () => boolean): Promise<void>;
  /** Removes all pods. */
  clear(): Promise<void>;
}

/** The folder of named pipes: each container of real processes reads from its own pipe when and how to end. */
export const PIPES = join(tmpdir(), `statelet-paths-${String(process.pid)}`);

/** The command of the containers: it runs until it is stopped, or until it reads an exit code. */
export const LASTING_COMMAND = [
  'sh',
  '-c',
  'mkfifo "$0/$STATELET_CONTAINER_ID" && read -r code < "$0/$STATELET_CONTAINER_ID"; exit "$code"',
  PIPES,
];

/** The command of the probes. */
export const HEALTH_COMMAND = ['test', '-e', join(PIPES, 'healthy')];

const silent = () => undefined;
export const SILENT: Logger = { trace: silent, debug: silent, info: silent, warn: silent, error: silent };
const HOST_IPS = ['127.0.0.1'];
/** Simulated containers write no logs. */
const NOWHERE = '/nonexistent/pods';
const nothing = () => Promise.resolve();
/** More turns of the event loop than anything takes that waits for no timer. */
const TURNS_MAX = 50;

/** A node with a simulated runtime without latencies. It answers in the next microtask, and every container runs until it is stopped. */
export function simulatedPathNode(): PathNode {
  const clock = new VirtualClock();
  let healthCode = 0;
  const programOf = ([word]: readonly string[]) =>
    word === HEALTH_COMMAND[0]
      ? { exitCode: healthCode, takesMs: 0 }
      : { exitCode: 0, onTerm: { takesMs: 0, exitCode: 143 } };
  const simulated = new SimulatedRuntime({ clock, random: () => 0, latencies: NO_LATENCIES, programOf });
  const node = {
    ...processNode({ hostIPs: HOST_IPS, podLogsDir: NOWHERE }),
    remove: nothing,
    podsOnDisk: () => Promise.resolve([]),
  };
  return {
    clock,
    podLogsDir: NOWHERE,
    open: () => ({
      runtime: simulated.connect(),
      node,
      start: () => undefined,
      stop: nothing,
    }),
    runtime: simulated.connect(),
    exit: (id, exitCode) => {
      simulated.killContainer(id, exitCode);
      return Promise.resolve();
    },
    setHealthy: (isHealthy) => {
      healthCode = isHealthy ? 0 : 1;
      return Promise.resolve();
    },
    until: async (what, check) => {
      for (let turn = 0; !check(); turn += 1) {
        if (turn > TURNS_MAX) throw new Error(`waited in vain for ${what}`);
        await settled();
      }
    },
    clear: nothing,
  };
}

/** The agent as the daemon composes it, without sources. */
export function agentOn({ clock }: PathNode, parts: NodeParts, more: AgentExtras = {}): NodeAgent {
  const { inspect, measurements, logger = SILENT, recorder = new RecordedEvents(), ...own } = more;
  return new NodeAgent(testContext({ clock, inspect, measurements, logger, recorder }), {
    parts,
    hostIPs: HOST_IPS,
    sources: ['file'],
    configuration: NEVER,
    syncFrequencyMs: 60_000,
    nodeFacts: () => ROOMY_NODE,
    preemptionLowerPriorityFirst: true,
    // Containers that have ended are restarted at once.
    maxContainerRestartPeriodMs: 1,
    maximumDeadContainersPerContainer: 1,
    startsAtOnce: 16,
    ...own,
  });
}

type AgentExtras = Partial<
  Pick<
    NodeAgentOptions,
    'sources' | 'wrapEffects' | 'wrapGates' | 'nodeFacts' | 'eviction' | 'cluster' | 'plugins'
  >
> &
  Partial<Pick<ActorContext, 'inspect' | 'recorder' | 'logger' | 'measurements'>>;

/** A node with real processes. Paths are replayed on it one after the other. */
export async function embeddedPathNode(): Promise<PathNode & { close(): Promise<void> }> {
  const rootDir = await mkdtemp(join(tmpdir(), 'statelet-paths-'));
  await mkdir(PIPES);
  const podLogsDir = join(rootDir, 'pods');
  const open = () => openProcessNode(testContext(), { rootDir, podLogsDir, hostIPs: HOST_IPS });
  const { runtime } = open();
  const clear = async () => {
    for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id);
  };
  return {
    clock: new VirtualClock(),
    podLogsDir,
    open,
    runtime,
    exit: async (id, exitCode) => {
      await writeToPipe(join(PIPES, id), `${exitCode}\n`);
      const hasExited = async () => (await runtime.containerStatus(id)).state === 'CONTAINER_EXITED';
      await waitFor(hasExited, { what: `${id} to end` });
    },
    setHealthy: (isHealthy) =>
      isHealthy ? writeFile(join(PIPES, 'healthy'), '') : rm(join(PIPES, 'healthy'), { force: true }),
    until: async (what, check) => {
      await waitFor(check, { what });
    },
    clear,
    close: async () => {
      await clear();
      await runtime.close();
      await rm(rootDir, { recursive: true, force: true, maxRetries: 5 });
      await rm(PIPES, { recursive: true, force: true });
    },
  };
}

/** Waits until a process reads the pipe, and writes to it. */
async function writeToPipe(path: string, text: string): Promise<void> {
  const pipe = await waitFor(() => openFile(path, constants.O_WRONLY).catch(() => undefined), { what: path });
  await pipe.write(text);
  await pipe.close();
}
