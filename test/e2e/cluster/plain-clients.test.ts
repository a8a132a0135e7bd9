/** kubectl at a node whose containers are plain processes. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { DaemonBed, NODE_NAME } from '../../support/daemon.ts';
import { freePort } from '../../support/free-port.ts';
import { waitFor } from '../../support/wait-for.ts';
import { kubectlProgram } from '../../support/kubernetes-programs.ts';

const SERVER = `
  const { createServer } = require('node:http');
  createServer((_, response) => response.end('served')).listen(Number(process.env.PORT), '127.0.0.1');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => console.log('got ' + line));
  console.log('started');
`;

/** What kubectl does by itself, and what it did before. */
const PROTOCOLS: readonly (readonly [name: string, env: Readonly<Record<string, string>>])[] = [
  ['WebSocket', {}],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describeOnControlPlane('kubectl at plain processes', { nodeName: NODE_NAME }, (controlPlane) => {
  let bed: DaemonBed;
  let port: number;
  const children: ChildProcess[] = [];
  const program = () => kubectlProgram();
  let protocol: Readonly<Record<string, string>> = {};
  const env = () => ({
    PATH: process.env.PATH,
    HOME: bed.dir,
    KUBECONFIG: controlPlane.adminKubeconfig,
    ...protocol,
  });

  function begin(...args: readonly string[]) {
    const child = spawn(program(), args, { env: env() });
    children.push(child);
    return child;
  }

  function kubectl(...args: readonly string[]): Promise<Ended> {
    return new Promise((resolve) => {
      execFile(program(), args, { env: env() }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });
  }

  beforeAll(async () => {
    bed = new DaemonBed();
    port = await freePort();
    const own = ['--kubeconfig', controlPlane.nodeKubeconfig, '--node-ip', controlPlane.nodeIp];
    await bed.start(...own, ...controlPlane.serverFlags);
    const containers: Container[] = [
      {
        name: 'main',
        image: 'none',
        command: [process.execPath, '-e', SERVER],
        env: [{ name: 'PORT', value: String(port) }],
        stdin: true,
      },
      { name: 'side', image: 'none', command: ['sh', '-c', 'echo aside; echo apart >&2; sleep 1000'] },
    ];
    const spec = { nodeName: NODE_NAME, automountServiceAccountToken: false, containers };
    const metadata = { name: 'web', namespace: 'default' };
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    const isReady = async () => {
      const { status } = await controlPlane.kubectlJson<Pod>('get', 'pod', 'web');
      return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    };
    await waitFor(isReady, { what: 'the pod to be ready', pauseMs: 250 });
  });
  afterEach(async () => {
    protocol = {};
    for (const child of children.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      if (child.stdout?.closed === false) await once(child, 'close');
    }
  });
  afterAll(async () => {
    await controlPlane.kubectl('delete', 'pods', '--all', '--force', '--grace-period=0');
    await bed.cleanUp();
  });

  test('logs shows what containers have written, and follows it', async () => {
    const lines = async () => (await kubectl('logs', 'web', '-c', 'side')).stdout.trim().split('\n');
    await waitFor(async () => (await lines()).length === 2, { what: 'the lines', pauseMs: 250 });
    expect((await lines()).toSorted()).toEqual(['apart', 'aside']);
    const follower = begin('logs', '-f', 'web', '-c', 'main', '--timestamps');
    const [line] = (await once(createInterface({ input: follower.stdout }), 'line')) as [string];
    expect(line).toMatch(/^\d{4}-.* started$/);
    expect(await kubectl('logs', 'web', '-c', 'main', '--previous')).toMatchObject({ code: 1 });
  });

  test.each(PROTOCOLS)('exec over %s gives both outputs, the input and the exit code', async (_, chosen) => {
    protocol = chosen;
    expect(
      await kubectl('exec', 'web', '-c', 'main', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3'),
    ).toEqual({
      code: 3,
      stdout: 'out\n',
      stderr: 'err\ncommand terminated with exit code 3\n',
    });
    const child = begin('exec', '-i', 'web', '-c', 'main', '--', 'wc', '-c');
    child.stdin.end(Buffer.alloc(3_000_000, 'x'));
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect([code, output.trim()]).toEqual([0, '3000000']);
  });

  test('exec -it has a terminal of the size of the client', async () => {
    // The size is sent after the start: it may come after the command has asked for it.
    const script = '\'until [ "$(stty size)" = "33 101" ]; do sleep 0.1; done; echo sized; exit 4\'';
    const exec = [program(), 'exec', '-it', 'web', '-c', 'main', '--', 'sh', '-c', script].join(' ');
    const child = spawn('script', ['-qec', `stty rows 33 cols 101; exec ${exec}`, '/dev/null'], {
      env: { ...env(), SHELL: '/bin/sh' },
    });
    children.push(child);
    const [shown, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(shown).toContain('sized\r\n');
    expect(code).toBe(4);
  });

  test.each(PROTOCOLS)('attach over %s reaches the main process', async (_, chosen) => {
    protocol = chosen;
    const child = begin('attach', '-i', 'web', '-c', 'main');
    child.stdin.write('typed\n');
    for await (const line of createInterface({ input: child.stdout })) if (line === 'got typed') break;
  });

  test.each(PROTOCOLS)('port-forward over %s reaches its port', async (_, chosen) => {
    protocol = chosen;
    const child = begin('port-forward', 'pod/web', `:${port}`);
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const local = Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(local)));
    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200']));
  });

  test('cp copies a file there and back', async () => {
    const bytes = Buffer.from(Array.from({ length: 2_000_000 }, (_, index) => (index * 7919) % 251));
    const path = (name: string) => join(bed.dir, name);
    writeFileSync(path('there'), bytes);
    expect(await kubectl('cp', path('there'), `web:${path('inside')}`, '-c', 'main')).toMatchObject({
      code: 0,
    });
    expect(await kubectl('cp', `web:${path('inside')}`, path('back'), '-c', 'main')).toMatchObject({
      code: 0,
    });
    expect(readFileSync(path('back')).equals(bytes)).toBe(true);
  });

  test('get --raw reads the Summary, metrics and the pods of the node', async () => {
    const raw = async (path: string) =>
      (await kubectl('get', '--raw', `/api/v1/nodes/${NODE_NAME}/proxy${path}`)).stdout;
    const { node, pods } = JSON.parse(await raw('/stats/summary')) as Summary;
    expect(node.nodeName).toBe(NODE_NAME);
    const shown = pods.map(({ podRef, containers }) => [
      podRef.name,
      containers?.map(({ name }) => name).toSorted(),
    ]);
    expect(shown).toEqual([['web', ['main', 'side']]]);
    expect(await raw('/metrics')).toContain(`kubelet_node_name{node="${NODE_NAME}"} 1\n`);
    expect(JSON.parse(await raw('/pods'))).toMatchObject({ items: [{ metadata: { name: 'web' } }] });
  });
});

async function ask(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('GET / HTTP/1.0\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString().slice(0, 12);
}
