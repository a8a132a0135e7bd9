/** The real kubelet as a child process, without an API server: it has only static pods. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import {
  type Agent,
  type AgentEvent,
  type AgentFolders,
  type AgentOptions,
  fetchPods,
  makeFolders,
  NODE_NAME,
  writeConfig,
} from './agent.ts';

const START_TIMEOUT_MS = 60_000;

/** Resolves when it serves `/pods`. */
export async function startKubelet(binary: string, options: AgentOptions): Promise<Kubelet> {
  const folders = makeFolders(options);
  const [port, readOnlyPort] = [await freePort(), await freePort()];
  const config = writeConfig(options, {
    port,
    readOnlyPort,
    healthzPort: 0,
    address: '127.0.0.1',
    enableServer: true,
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    oomScoreAdj: 0,
    volumePluginDir: join(options.dir, 'volume-plugins'),
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    logging: { format: 'json', verbosity: EVENTS_VERBOSITY },
  });
  const flags = ['--config', config, '--root-dir', folders.rootDir, '--hostname-override', NODE_NAME];
  const kubelet = new Kubelet(binary, [...flags, '--cert-dir', join(options.dir, 'pki')], {
    folders,
    podsUrl: `http://127.0.0.1:${readOnlyPort}/pods`,
    logFile: join(options.dir, 'log'),
  });
  try {
    await waitFor(() => kubelet.serves(), {
      what: 'the kubelet to serve /pods',
      timeoutMs: START_TIMEOUT_MS,
    });
  } catch (error) {
    await kubelet.stop();
    throw new Error(`the kubelet did not come up; the end of its log:\n${kubelet.log().slice(-4000)}`, {
      cause: error,
    });
  }
  return kubelet;
}

/** The lowest verbosity at which the kubelet's log has events. */
const EVENTS_VERBOSITY = 3;

interface Place {
  readonly folders: AgentFolders;
  readonly podsUrl: string;
  readonly logFile: string;
}

export class Kubelet implements Agent {
  readonly name = 'kubelet';
  readonly folders: AgentFolders;
  ending: string | undefined;
  readonly #child: ChildProcess;
  readonly #place: Place;
  readonly #ended: Promise<void>;

  constructor(binary: string, flags: readonly string[], place: Place) {
    this.folders = place.folders;
    this.#place = place;
    const log = openSync(place.logFile, 'w');
    this.#child = spawn(binary, flags, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#ended = new Promise((resolve) => {
      const end = (how: string) => {
        this.ending = how;
        resolve();
      };
      this.#child.once('exit', (code, signal) => end(String(code ?? signal)));
      this.#child.once('error', ({ message }) => end(message));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  pods(): ReturnType<Agent['pods']> {
    return fetchPods(this.#place.podsUrl);
  }

  async serves(): Promise<boolean> {
    if (this.ending !== undefined) throw new Error(`the kubelet ended with ${this.ending}`);
    return (await this.pods()) !== undefined;
  }

  log(): string {
    return readFileSync(this.#place.logFile, 'utf8');
  }

  events(): readonly AgentEvent[] {
    return this.log()
      .split('\n')
      .flatMap((line) => eventOf(line) ?? []);
  }

  async stop(): Promise<void> {
    if (this.ending === undefined) this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** The event in a line of the kubelet's JSON log, if the line has one. */
export function eventOf(line: string): AgentEvent | undefined {
  if (!line.includes('"Event occurred"')) return undefined;
  const fields = parse(line);
  if (fields?.kind !== 'Pod') return undefined;
  const { object, type, reason, message } = fields;
  const pod = typeof object === 'string' ? object : `${object?.namespace ?? ''}/${object?.name ?? ''}`;
  const container = /\{(.+)\}$/.exec(fields.fieldPath ?? '')?.[1];
  const event = { pod, type: type ?? '', reason: reason ?? '', message: message ?? '' };
  return { ...event, ...(container !== undefined && { container }) };
}

interface EventLine {
  readonly object?: string | { readonly name: string; readonly namespace: string };
  readonly kind?: string;
  readonly fieldPath?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

function parse(line: string): EventLine | undefined {
  try {
    return JSON.parse(line) as EventLine;
  } catch {
    // The last line may not be complete.
    return undefined;
  }
}
