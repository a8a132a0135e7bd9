/** Whatever pods, plugins, servers, files and users call things, no command writes a character that acts on a terminal. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import {
  type RunningEvictionPlugin,
  startEvictionPlugin,
} from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { type CommandResult, type Daemon, DaemonBed, startStatelet, statelet } from '../support/daemon.ts';
import { ACTING, HOSTILE, MARK, SAYING } from '../support/hostile-text.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, SERVE, shell } from './manifests.ts';

let bed: DaemonBed;
let daemon: Daemon;
let plugin: RunningEvictionPlugin;
let server: Server;
const podsDir = mkdtempSync(join(tmpdir(), 'statelet-hostile-'));

const file = (name: string) => join(podsDir, name);
const here = (command: string, ...args: string[]) => statelet(command, '--root-dir', bed.rootDir, ...args);

/** Pods as a file for the flags --pods, so that plugins may name them. */
function writePods(): void {
  const annotations = { note: HOSTILE, 'katalyst.kubewharf.io/pod_soft_evict_notify': 'true' };
  const readinessProbe = { exec: { command: ['sh', '-c', `${SAYING}; exit 1`] }, periodSeconds: 1 };
  const says = shell(SERVE, { image: `box${HOSTILE}`, env: [{ name: 'TEXT', value: HOSTILE }] });
  const ends = shell(`${SAYING}; exit 3`, { terminationMessagePolicy: 'FallbackToLogsOnError' });
  const starts = shell(SERVE, { lifecycle: { postStart: { exec: { command: [`none${HOSTILE}`] } } } });
  const pods: Readonly<Record<string, string>> = {
    goes: manifest('goes'),
    web: manifest('web', { metadata: { annotations }, containers: [says] }),
    unready: manifest('unready', { containers: [shell(SERVE, { readinessProbe })] }),
    ends: manifest('ends', { containers: [ends], restartPolicy: 'Never' }),
    starts: manifest('starts', { containers: [starts], restartPolicy: 'Never' }),
    wrong: manifest(`wrong${HOSTILE}`),
    unknown: JSON.stringify({ apiVersion: 'v1', kind: HOSTILE, metadata: { name: 'x' }, [HOSTILE]: HOSTILE }),
  };
  for (const [name, text] of Object.entries(pods)) writeFileSync(file(`${name}.json`), text);
  writeFileSync(file(`${HOSTILE}.json`), HOSTILE);
}

const startPlugin = () =>
  startEvictionPlugin(
    {
      name: 'evil',
      evictPods: ({ activePods }) => ({
        evictPods: activePods.map((pod) => ({
          pod,
          reason: HOSTILE,
          forceEvict: pod.metadata.name === 'goes',
        })),
        condition: { type: 'NODE_CONDITION', name: HOSTILE, effects: [HOSTILE], met: true },
      }),
      thresholdMet: () => {
        throw new Error(HOSTILE);
      },
    },
    { registryDir: join(bed.rootDir, 'plugins_registry'), handleSignals: false, log: () => undefined },
  );

/** What a server says that is no statelet, or one that has been taken over. */
async function startServer(): Promise<Server> {
  const { metadata, spec } = JSON.parse(manifest('x')) as Pod;
  const pod = {
    metadata: { ...metadata, namespace: HOSTILE, name: HOSTILE, uid: HOSTILE },
    spec,
    status: { phase: HOSTILE, reason: HOSTILE },
  };
  const started = createServer(({ url }, response) => {
    if (url === '/pods') response.end(JSON.stringify({ items: [pod] }));
    else response.writeHead(500).end(HOSTILE);
  }).listen(0, '127.0.0.1');
  await once(started, 'listening');
  return started;
}

beforeAll(async () => {
  bed = new DaemonBed();
  writePods();
  server = await startServer();
  daemon = await bed.run([
    ...['--pods', podsDir, '--exit-with-pods', '--eviction-plugins', '-v', '6'],
    ...['--eviction-plugins-sync-period', '1s'],
  ]);
  await daemon.running('unready');
  await daemon.event('unready', 'Unhealthy');
  // The plugin ends any pod: the pods have to be heard of before.
  plugin = await startPlugin();
  await daemon.event('starts', 'FailedPostStartHook');
  await daemon.event('web', 'EvictionNotified');
  await daemon.inPhase('ends', 'Failed');
  await daemon.inState('goes', 'Terminated.Finished');
});

afterAll(async () => {
  server.close();
  await plugin.stop();
  await bed.cleanUp();
  rmSync(podsDir, { recursive: true });
});

/** In a root folder of its own. */
async function runOnce(...flags: string[]): Promise<CommandResult> {
  const own = new DaemonBed();
  try {
    return await own.runOnce(...flags).result;
  } finally {
    await own.cleanUp();
  }
}

/** A command until it has said this, or until it ends. */
async function until(words: string, ...args: string[]): Promise<CommandResult> {
  const { child, result } = startStatelet(...args);
  let seen = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (seen += text));
  await waitFor(() => seen.includes(words) || child.exitCode !== null, {
    what: `${args.join(' ')}: ${words}`,
  });
  child.kill();
  return result;
}

interface Trial {
  readonly run: () => Promise<CommandResult>;
  /** What it writes has the hostile text in it. */
  readonly isShown: boolean;
}

const trial = (run: () => Promise<CommandResult>, isShown = true): Trial => ({ run, isShown });
const shows = (command: string, ...args: string[]) => trial(() => here(command, ...args));
const plainly = (command: string, ...args: string[]) => trial(() => here(command, ...args), false);
const elsewhere = (...args: string[]) => trial(() => statelet(...args));
const addressOf = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;

/** As somebody sends it with a bug report. */
const hostileRecord = async () => {
  const path = join(bed.dir, 'web.record');
  await statelet('record', 'export', 'web', '--root-dir', bed.rootDir, '-o', path);
  const hostile = JSON.stringify(HOSTILE).slice(1, -1);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/node-a|SyncPodCreate|web_default/gu, hostile));
  return path;
};

const TRIALS: Readonly<Record<string, readonly Trial[]>> = {
  run: [
    trial(() => Promise.resolve({ code: 0, stdout: daemon.stdout, stderr: daemon.stderr })),
    elsewhere('run', '--pods', podsDir, '--root-dir', `/dev/null/${HOSTILE}`),
    elsewhere('run', '--config', HOSTILE),
    elsewhere('run', `--${HOSTILE}`),
    elsewhere('run', '-v', HOSTILE),
  ],
  'run-once': ['json', 'text'].map((format) =>
    trial(() => runOnce('--pod-manifest-path', podsDir, '--logging-format', format, '-v', '6')),
  ),
  pods: [
    plainly('pods'),
    plainly('pods', '-o', 'wide'),
    shows('pods', '-o', 'json'),
    shows('pods', '-o', 'yaml'),
    trial(() => statelet('pods', '--server', addressOf())),
    elsewhere('pods', '--root-dir', HOSTILE),
    elsewhere('pods', '--server', HOSTILE),
  ],
  get: [
    plainly('get', 'pods'),
    plainly('get', 'pods', '-o', 'wide'),
    plainly('get', 'nodes', '-o', 'wide'),
    shows('get', 'pods', '-o', 'json'),
    shows('get', 'pods', '-o', 'yaml'),
    shows('get', 'pods', HOSTILE),
    shows('get', HOSTILE),
  ],
  describe: [shows('describe', 'pods'), shows('describe', 'pod', HOSTILE), shows('describe', HOSTILE)],
  apply: [shows('apply', '-f', HOSTILE), shows('apply', `--${HOSTILE}`)],
  demo: [elsewhere('demo', `--${HOSTILE}`)],
  why: [
    shows('why', 'goes'),
    shows('why', 'goes', '-o', 'json'),
    plainly('why', 'ends'),
    plainly('why', 'unready'),
    plainly('why'),
    shows('why', HOSTILE),
  ],
  ui: [
    trial(() => until('http', 'ui', '--root-dir', bed.rootDir), false),
    elsewhere('ui', '--root-dir', HOSTILE),
    elsewhere('ui', '--address', `${HOSTILE}:x`),
  ],
  top: [plainly('top'), plainly('top', 'node'), shows('top', 'pods', HOSTILE), shows('top', HOSTILE)],
  events: [
    shows('events'),
    shows('events', '-o', 'json'),
    shows('events', '-o', 'yaml'),
    trial(() => until('EvictionNotified', 'events', '--watch', '--root-dir', bed.rootDir)),
    shows('events', '--for', HOSTILE),
    shows('events', '--types', HOSTILE),
  ],
  delete: [shows('delete', HOSTILE), shows('delete', 'web', '--timeout', HOSTILE)],
  exec: [
    shows('exec', 'web', '--', HOSTILE),
    shows('exec', HOSTILE, '--', 'true'),
    shows('exec', 'web', '-c', HOSTILE, '--', 'true'),
  ],
  attach: [shows('attach', HOSTILE), shows('attach', 'web', '-c', HOSTILE)],
  'port-forward': [shows('port-forward', 'web', HOSTILE), shows('port-forward', HOSTILE, '1')],
  logs: [shows('logs', HOSTILE), shows('logs', 'web', HOSTILE), shows('logs', 'web', '--since', HOSTILE)],
  completion: [
    elsewhere('completion', HOSTILE),
    trial(() => statelet('__complete', '--', 'exec', '--root-dir', bed.rootDir, 'web', '-c', '')),
  ],
  timeline: [
    plainly('timeline', 'web'),
    trial(async () => statelet('timeline', '--file', await hostileRecord())),
    trial(async () => statelet('timeline', '--file', await hostileRecord(), '-o', 'json')),
    shows('timeline', HOSTILE),
    shows('timeline', '--since', HOSTILE),
  ],
  replay: [
    trial(async () => statelet('replay', await hostileRecord())),
    trial(async () => statelet('replay', await hostileRecord(), '-o', 'json')),
    elsewhere('replay', HOSTILE),
  ],
  record: [elsewhere('record', 'export', 'web', '--root-dir', HOSTILE), elsewhere('record', HOSTILE)],
  'explain-eviction': [
    shows('explain-eviction'),
    shows('explain-eviction', '-o', 'json'),
    trial(() => statelet('explain-eviction', '--server', addressOf())),
    elsewhere('explain-eviction', '--stats', HOSTILE, '--pods', HOSTILE),
  ],
  charts: [
    trial(() => statelet('charts'), false),
    trial(() => statelet('charts', 'pod'), false),
    elsewhere('charts', HOSTILE),
    elsewhere('charts', '--open', `/dev/null/${HOSTILE}`),
  ],
  simulate: [
    trial(() => statelet('simulate', '--hours', '0.01'), false),
    elsewhere('simulate', '--only', HOSTILE),
    elsewhere('simulate', '--faults', HOSTILE),
  ],
  hollow: [
    elsewhere('hollow', HOSTILE),
    elsewhere('hollow', 'kill', 'n', '--root-dir', `/nonexistent/${HOSTILE}`),
    elsewhere('hollow', '--kubeconfig', 'k', '--plan', HOSTILE),
  ],
  doctor: [
    elsewhere('doctor', '--config', HOSTILE),
    elsewhere('doctor', '--config', HOSTILE, '-o', 'json'),
    elsewhere('doctor', '--container-runtime-endpoint', `unix:///${HOSTILE}`),
    elsewhere('doctor', `--${HOSTILE}`),
  ],
  help: [trial(() => statelet('help', 'run'), false), elsewhere(HOSTILE)],
};

async function commands(): Promise<readonly string[]> {
  const [, list = ''] = (await statelet('help')).stdout.split('Commands:\n');
  const [names = ''] = list.split('\n\n');
  return Array.from(names.matchAll(/^ {2}(\S+)/gmu), ([, name = '']) => name);
}

test('every command of the help is tried', async () => {
  expect((await commands()).toSorted()).toEqual(Object.keys(TRIALS).toSorted());
});

test('JSON and YAML say the same with escapes as without', async () => {
  const outputs = [
    JSON.parse((await here('pods', '-o', 'json')).stdout),
    parse((await here('pods', '-o', 'yaml')).stdout),
  ];
  for (const { items } of outputs as { items: Pod[] }[]) {
    const web = items.find(({ metadata }) => metadata.name === 'web');
    expect(web?.metadata.annotations?.note).toBe(HOSTILE);
    expect(web?.spec.containers[0]?.image).toBe(`box${HOSTILE}`);
  }
});

test('the output of containers passes as it is, as with kubectl', async () => {
  expect((await here('logs', 'ends')).stdout).toBe(`${HOSTILE}\n`);
  expect((await here('exec', 'web', '--', 'sh', '-c', SAYING)).stdout).toBe(HOSTILE);
});

test.each(Object.entries(TRIALS))('%s writes no character that acts on a terminal', async (_, trials) => {
  for (const { run, isShown } of trials) {
    const { stdout, stderr } = await run();
    expect(stdout + stderr).not.toMatch(ACTING);
    if (isShown) expect(stdout + stderr).toContain(MARK);
  }
});
