/** The fields of a pod's spec that have an effect on plain processes, and the messages about the others. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Daemon, DaemonBed, mainProcesses, NODE_NAME, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, SERVE, shell } from './manifests.ts';

const asRoot = process.getuid?.() === 0 ? test : test.skip;

let bed: DaemonBed;
let daemon: Daemon;

beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(() => bed.cleanUp());

const apply = (fields: Parameters<typeof manifest>[1]) =>
  writeFileSync(join(bed.manifestDir, 'web.json'), manifest('web', fields));

/** Resolves to the output of the container when it has this many lines. */
async function lines(count: number): Promise<string[]> {
  const { metadata } = await daemon.running('web');
  const log = join(bed.podLogs(metadata), 'main/0.log');
  const said = () =>
    (existsSync(log) ? readFileSync(log, 'utf8') : '')
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(' ').slice(3).join(' '));
  return waitFor(() => said().length >= count && said(), { what: `${count} lines in ${log}` });
}

test('a pod has the addresses of the node in its status, its environment and the table', async () => {
  daemon = await bed.start('--node-ip', '192.0.2.7,2001:db8::7');
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const env = [
    field('POD', 'status.podIP'),
    field('PODS', 'status.podIPs'),
    field('HOST', 'status.hostIP'),
    field('HOSTS', 'status.hostIPs'),
  ];
  apply({ containers: [shell(`echo $POD $PODS $HOST $HOSTS; ${SERVE}`, { env })] });
  const both = '192.0.2.7,2001:db8::7';
  expect(await lines(1)).toEqual([`192.0.2.7 ${both} 192.0.2.7 ${both}`]);
  const { status } = await daemon.running('web');
  expect(status).toMatchObject({
    hostIP: '192.0.2.7',
    podIP: '192.0.2.7',
    podIPs: [{ ip: '192.0.2.7' }, { ip: '2001:db8::7' }],
  });
  const { stdout } = await statelet('pods', '--root-dir', bed.rootDir, '-o', 'wide');
  expect(stdout).toMatch(new RegExp(`web-${NODE_NAME} .*192\\.0\\.2\\.7`));
});

test('a probe that names no host reaches a server that listens on the loopback address alone', async () => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as { port: number };
    daemon = await bed.start('--node-ip', '192.0.2.7');
    apply({ containers: [shell(SERVE, { readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } })] });
    const { status } = await daemon.until(
      'web',
      'ready',
      (pod) => pod.status?.containerStatuses?.[0]?.ready === true,
    );
    expect(status?.podIP).toBe('192.0.2.7');
  } finally {
    server.close();
  }
});

asRoot(
  'a container has the groups, capabilities and privileges of its spec, and an event names the fields without effect',
  async () => {
    daemon = await bed.start();
    const securityContext = {
      capabilities: { drop: ['ALL'] },
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    };
    const script = `grep -E '^(Uid|Groups|CapBnd|NoNewPrivs)' /proc/self/status | tr '\\t' ' '; ${SERVE}`;
    apply({
      securityContext: { runAsUser: 65534, fsGroup: 4321, supplementalGroups: [1234], runAsNonRoot: true },
      hostAliases: [{ ip: '192.0.2.1', hostnames: ['db'] }],
      containers: [shell(script, { securityContext })],
    });
    expect((await lines(4)).map((line) => line.trim().split(/ +/))).toEqual([
      ['Uid:', '65534', '65534', '65534', '65534'],
      ['Groups:', '1234', '4321'],
      ['CapBnd:', '0000000000000000'],
      ['NoNewPrivs:', '1'],
    ]);
    expect(mainProcesses(await daemon.running('web'))).toHaveLength(1);
    const { msg } = await daemon.warning('Not supported on this node');
    expect(msg).toBe(
      'Not supported on this node, without effect: spec.hostAliases, ' +
        'spec.containers[main].securityContext.readOnlyRootFilesystem',
    );
  },
);

test('runAsNonRoot: a container that would run as root is not started, and its status says why', async () => {
  daemon = await bed.start();
  apply({ securityContext: { runAsNonRoot: true, runAsUser: 0 } });
  const { msg } = await daemon.event('web', 'Failed');
  expect(msg).toContain("container's runAsUser breaks non-root policy");
});

test('a container is ended by its stop signal', async () => {
  daemon = await bed.start();
  const script = `trap 'echo asked > ${bed.dir}/asked; exit 0' USR1; trap '' TERM; echo ready; while :; do sleep 1000 & wait; done`;
  apply({ os: { name: 'linux' }, containers: [shell(script, { lifecycle: { stopSignal: 'SIGUSR1' } })] });
  expect(await lines(1)).toEqual(['ready']);
  writeFileSync(join(bed.manifestDir, 'web.json'), manifest('other'));
  await daemon.onlyPods('other');
  expect(readFileSync(join(bed.dir, 'asked'), 'utf8')).toBe('asked\n');
});
