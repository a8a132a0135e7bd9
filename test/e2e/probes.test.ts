/** Probes of plain processes: on the embedded runtime they work as on every other runtime. */
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ContainerStatus, Pod } from '../../src/types/kubernetes.ts';
import { containerStatus, type Daemon, DaemonBed, NODE_NAME } from '../support/daemon.ts';
import { HealthServer } from '../support/health-server.ts';
import { manifest, type ManifestFields, SERVE, shell, touch } from './manifests.ts';

const EVERY_SECOND = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1 };

let bed: DaemonBed;
let daemon: Daemon;

beforeEach(() => void (bed = new DaemonBed()));
afterEach(() => bed.cleanUp());

const path = (name: string) => join(bed.dir, name);
const exists = (name: string, more = {}) => ({
  ...EVERY_SECOND,
  exec: { command: ['test', '-e', path(name)] },
  ...more,
});
const write = (name: string, fields: ManifestFields) =>
  writeFileSync(join(bed.manifestDir, `${name}.json`), manifest(name, fields));
const until = (name: string, what: string, isWanted: (status: ContainerStatus) => boolean): Promise<Pod> =>
  daemon.until(name, what, (pod) => {
    const status = containerStatus(pod);
    return status !== undefined && isWanted(status);
  });
const ready = (name: string, wanted = true) =>
  until(name, wanted ? 'ready' : 'not ready', (status) => status.ready === wanted);
const told = (name: string, reason: string, text: string) =>
  daemon.logged(
    `${reason} of ${name}: ${text}`,
    ({ pod, ...line }) =>
      pod === `default/${name}-${NODE_NAME}` && line.reason === reason && line.msg.includes(text),
  );

test('the startup probe delays the others; readiness changes; liveness restarts; an ending pod is not probed for liveness', async () => {
  const end = path('end');
  write('steps', {
    terminationGracePeriodSeconds: 600,
    containers: [
      shell(SERVE, {
        startupProbe: exists('started', { failureThreshold: 1000 }),
        readinessProbe: exists('ready'),
        livenessProbe: exists('alive'),
        lifecycle: {
          preStop: { exec: { command: ['sh', '-c', `while [ ! -e ${end} ]; do sleep 0.1; done`] } },
        },
      }),
    ],
  });
  daemon = await bed.start();
  await told('steps', 'Unhealthy', 'Startup probe failed: ');
  expect(containerStatus(await daemon.running('steps'))).toMatchObject({ started: false, ready: false });
  for (const name of ['alive', 'ready', 'started', 'end']) touch(path(name));
  expect(containerStatus(await ready('steps'))).toMatchObject({ started: true, restartCount: 0 });
  rmSync(path('ready'));
  await ready('steps', false);
  touch(path('ready'));
  await ready('steps');
  rmSync(path('alive'));
  await told('steps', 'Killing', 'Container main failed liveness probe, will be restarted');
  touch(path('alive'));
  await until('steps', 'restarted', (status) => status.ready && status.restartCount === 1);

  rmSync(end);
  rmSync(join(bed.manifestDir, 'steps.json'));
  await daemon.inState('steps', 'Terminating.Stopping');
  for (const name of ['alive', 'ready']) rmSync(path(name));
  const ending = await ready('steps', false);
  expect(containerStatus(ending)).toMatchObject({ restartCount: 1, state: { running: expect.anything() } });
  touch(end);
  await daemon.onlyPods();
});

test('probes by httpGet with a port name, tcpSocket and grpc work, also after a restart of the agent', async () => {
  let code = 200;
  const server = createServer((_request, response) => response.writeHead(code).end());
  const health = new HealthServer();
  try {
    const [port, grpcPort] = await Promise.all([listening(server), health.listen()]);
    const ports = [{ name: 'web', containerPort: port }];
    const probes = {
      http: { httpGet: { port: 'web', path: '/healthz' } },
      tcp: { tcpSocket: { port } },
      grpc: { grpc: { port: grpcPort, service: 'shop' } },
    };
    for (const [name, handler] of Object.entries(probes)) {
      write(name, { containers: [shell(SERVE, { ports, readinessProbe: { ...EVERY_SECOND, ...handler } })] });
    }
    daemon = await bed.startToLeavePods();
    const pods = await Promise.all(Object.keys(probes).map((name) => ready(name)));
    await daemon.end('SIGKILL');
    daemon = await bed.start();
    const found = await Promise.all(Object.keys(probes).map((name) => ready(name)));
    const ids = (list: readonly Pod[]) => list.map((pod) => containerStatus(pod)?.containerID);
    expect(ids(found)).toEqual(ids(pods));

    code = 500;
    health.notServing.add('shop');
    await told('http', 'Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 500');
    await told(
      'grpc',
      'Unhealthy',
      'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")',
    );
    for (const name of ['http', 'grpc']) await ready(name, false);
    expect(containerStatus(await ready('tcp'))?.restartCount).toBe(0);
  } finally {
    server.close();
    health.stop();
  }
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  return (server.address() as AddressInfo).port;
}
