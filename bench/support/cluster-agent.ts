/** An agent as the node of a cluster: the kubelet, or the daemon, with the same settings. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolders, NODE_NAME, writeConfig } from '../../scripts/compare/agent.ts';
import { BIN } from '../../test/support/built.ts';
import { cpuSeconds, memoryOf, type ProcessMemory } from './measures.ts';

export interface ClusterAgentOptions {
  readonly dir: string;
  /** The path of the kubelet's binary; undefined: the daemon. */
  readonly kubelet: string | undefined;
  readonly kubeconfig: string;
  readonly nodeIP: string;
  readonly endpoint: string;
  readonly cgroupRoot: string;
  /** Of the agent's own server. */
  readonly port: number;
}

const KUBELET_ONLY = {
  failCgroupV1: false,
  failSwapOn: false,
  makeIPTablesUtilChains: false,
  oomScoreAdj: 0,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
} as const;

export class ClusterAgentProcess {
  readonly rootDir: string;
  readonly #child: ChildProcess;
  readonly #logFile: string;

  constructor(options: ClusterAgentOptions) {
    const { dir, kubelet, kubeconfig, nodeIP, endpoint, cgroupRoot, port } = options;
    mkdirSync(dir, { recursive: true });
    const manifests = join(dir, 'manifests');
    mkdirSync(manifests, { recursive: true });
    const agent = { dir, cgroupRoot, endpoint, manifests };
    const { rootDir } = makeFolders(agent);
    this.rootDir = rootDir;
    const own = kubelet === undefined ? { port } : { ...KUBELET_ONLY, port, healthzPort: 0 };
    const config = writeConfig(agent, own);
    const flags = ['--config', config, '--root-dir', rootDir, '--cert-dir', join(dir, 'pki')];
    const node = ['--hostname-override', NODE_NAME, '--kubeconfig', kubeconfig, '--node-ip', nodeIP];
    this.#logFile = join(dir, 'log');
    const log = openSync(this.#logFile, 'a');
    const ownFlags = ['run', '--healthz-port', '0', '--address', nodeIP];
    const [program, first] = kubelet === undefined ? [BIN, ownFlags] : [kubelet, []];
    // Statelet runs on the Node that this bench runs on.
    const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
    this.#child = spawn(program, [...first, ...flags, ...node], {
      stdio: ['ignore', log, log],
      env: { ...process.env, PATH: path },
    });
    closeSync(log);
  }

  /** Rejects when the agent ends. */
  get died(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.#child.once('exit', (code) => reject(new Error(`the agent ended with ${String(code)}`)));
    });
  }

  get cpuSeconds(): number {
    return cpuSeconds(this.#child.pid ?? 0);
  }

  get memory(): ProcessMemory {
    return memoryOf(this.#child.pid ?? 0);
  }

  get log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await ended;
  }
}
