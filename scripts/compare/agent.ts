/** What a comparison needs of a node agent, and what both agents are told alike. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { Pod } from '../../src/types/kubernetes.ts';

/** An event of a pod, as it would reach an API server. */
export interface AgentEvent {
  readonly pod: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** Which container of the pod it is about, where it is about one. */
  readonly container?: string;
}

export interface Agent {
  readonly name: 'kubelet' | 'statelet';
  readonly pid: number;
  readonly folders: AgentFolders;
  /** How it ended; undefined while it runs. */
  readonly ending: string | undefined;
  /** As it serves them, or undefined while it serves nothing. */
  pods(): Promise<readonly Pod[] | undefined>;
  events(): readonly AgentEvent[];
  /** What it has written to its log. */
  log(): string;
  /** Ends the agent alone: its pods stay. */
  stop(): Promise<void>;
}

/** All of them lie in one folder of the agent's own. */
export interface AgentFolders {
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** Without slashes at its ends. */
  readonly cgroupRoot: string;
}

export interface AgentOptions {
  /** A folder that need not be there yet. */
  readonly dir: string;
  readonly cgroupRoot: string;
  /** Of the runtime. */
  readonly endpoint: string;
  readonly manifests: string;
  /** Fields of KubeletConfiguration beside the common ones. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** Of both: it ends the names of static pods, and goes into their UIDs. */
export const NODE_NAME = 'node-a';

export function makeFolders({ dir, cgroupRoot }: AgentOptions): AgentFolders {
  const folders = { rootDir: join(dir, 'root'), podLogsDir: join(dir, 'logs'), cgroupRoot };
  for (const path of [folders.rootDir, folders.podLogsDir]) mkdirSync(path, { recursive: true });
  return folders;
}

/** Writes the configuration that both agents get, with some fields of the agent's own. Returns its path. */
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
    // How full this machine's disks are must not decide what becomes of pods and images.
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0.1%', 'imagefs.available': '0.1%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  };
  writeFileSync(file, JSON.stringify({ ...header, ...common, ...own, ...options.config }, null, 2));
  return file;
}

/** The pods that a URL serves as a PodList; undefined where nothing answers. `socketPath`: of a unix socket to ask instead. */
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
