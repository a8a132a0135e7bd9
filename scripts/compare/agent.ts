/** The interface of an agent in the comparison, and the configuration that both agents share. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { Pod } from '../../src/types/kubernetes.ts';

/** An event of a pod, as an API server would get it. */
export interface AgentEvent {
  readonly pod: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** The container, if the event is about one. */
  readonly container?: string;
}

export interface Agent {
  readonly name: 'kubelet' | 'statelet';
  readonly pid: number;
  readonly folders: AgentFolders;
  /** How the agent ended; undefined while it runs. */
  readonly ending: string | undefined;
  /** The pods that the agent serves; undefined while it does not answer. */
  pods(): Promise<readonly Pod[] | undefined>;
  events(): readonly AgentEvent[];
  /** The agent's log so far. */
  log(): string;
  /** Ends the agent; its pods keep running. */
  stop(): Promise<void>;
}

/** The folders of one agent. */
export interface AgentFolders {
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** Without slashes at its ends. */
  readonly cgroupRoot: string;
}

export interface AgentOptions {
  /** The agent's folder; it may be missing. */
  readonly dir: string;
  readonly cgroupRoot: string;
  /** The runtime's endpoint. */
  readonly endpoint: string;
  readonly manifests: string;
  /** More fields of KubeletConfiguration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The node's name of both agents: static pods have it in their names and UIDs. */
export const NODE_NAME = 'node-a';

export function makeFolders({ dir, cgroupRoot }: AgentOptions): AgentFolders {
  const folders = { rootDir: join(dir, 'root'), podLogsDir: join(dir, 'logs'), cgroupRoot };
  for (const path of [folders.rootDir, folders.podLogsDir]) mkdirSync(path, { recursive: true });
  return folders;
}

/** Writes the common configuration with the agent's own fields. Returns its path. */
export function writeConfig(options: AgentOptions, own: Readonly<Record<string, unknown>>): string {
  const file = join(options.dir, 'config.json');
  const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  const common = {
    staticPodPath: options.manifests,
    containerRuntimeEndpoint: options.endpoint,
    podLogsDir: join(options.dir, 'logs'),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${options.cgroupRoot}`,
    maxPods: 1000,
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    // A full disk of this machine must not lead to evictions or the removal of images.
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0.1%', 'imagefs.available': '0.1%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  };
  writeFileSync(file, JSON.stringify({ ...header, ...common, ...own, ...options.config }, null, 2));
  return file;
}

/** The pods that a URL serves as a PodList; undefined without an answer. `socketPath`: a unix socket to ask instead. */
export async function fetchPods(url: string, socketPath?: string): Promise<readonly Pod[] | undefined> {
  try {
    const options = { ...(socketPath !== undefined && { socketPath }), timeout: FETCH_TIMEOUT_MS };
    const asked = request(url, options);
    const answered = once(asked, 'response');
    asked.on('timeout', () => asked.destroy()).end();
    const [response] = (await answered) as [IncomingMessage];
    return ((await json(response)) as { items: Pod[] | null }).items ?? [];
  } catch {
    return undefined;
  }
}

const FETCH_TIMEOUT_MS = 10_000;
