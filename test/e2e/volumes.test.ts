/** Volumes of plain processes, from the manifest to what the processes see. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterEach, expect, test } from '@jest/globals';
import { type Daemon, DaemonBed, mainProcesses, NODE_NAME, statelet } from '../support/daemon.ts';
import { type Launcher, THIS_MACHINE } from '../support/launcher.ts';
import { kill9, monitorPid } from '../support/process-runtime.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, SERVE, shell } from './manifests.ts';

const asRoot = process.getuid?.() === 0 ? test : test.skip;
/** A path that no machine has. */
const MISSING = '/statelet-test-content';

let bed: DaemonBed;
let daemon: Daemon;
afterEach(() => bed.cleanUp());

const mount = (name: string, mountPath: string, more = {}) => ({ name, mountPath, ...more });
const exec = async (...command: string[]) =>
  (await statelet('exec', '--root-dir', bed.rootDir, `web-${NODE_NAME}`, '--', ...command)).stdout;

const initContainers = [
  {
    ...shell(`mkdir ${MISSING}/part; echo filled > ${MISSING}/part/page`),
    name: 'fill',
    volumeMounts: [mount('content', MISSING)],
  },
];
const withVolumes = manifest('web', {
  initContainers,
  containers: [
    shell(SERVE, {
      readinessProbe: { exec: { command: ['test', '-f', `${MISSING}/page`] }, periodSeconds: 1 },
      volumeMounts: [
        mount('content', MISSING, { subPath: 'part', readOnly: true }),
        mount('about', `${MISSING}-about`),
        mount('host', `${MISSING}-host`),
      ],
    }),
  ],
  volumes: [
    { name: 'content', emptyDir: {} },
    { name: 'host', hostPath: { path: '/proc/self/attr', type: 'Directory' } },
    {
      name: 'about',
      projected: {
        sources: [{ downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }],
      },
    },
  ],
});
const apply = (text: string) => writeFileSync(join(bed.manifestDir, 'web.json'), text);
const mountsOfMachine = () =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => [bed.rootDir, MISSING].some((path) => line.includes(path)));

test('an init container fills a volume, which the main container, its probe and commands read; nothing of it stays on the machine', async () => {
  bed = new DaemonBed();
  daemon = await bed.start();
  apply(withVolumes);
  const isReady = () =>
    daemon.until('web', 'ready', (pod) => pod.status?.containerStatuses?.[0]?.ready === true);
  const pod = await isReady();
  const read = () => exec('cat', `${MISSING}/page`, `${MISSING}-about/name`);
  expect(await read()).toBe(`filled\n${pod.metadata.name}`);
  expect(existsSync(MISSING)).toBe(false);
  await kill9(await monitorPid(bed.rootDir));
  expect(await read()).toBe(`filled\n${pod.metadata.name}`);
  apply(manifest('other'));
  await daemon.onlyPods('other');
  const { uid } = pod.metadata;
  await waitFor(() => !existsSync(join(bed.rootDir, 'pods', uid, 'volumes')), {
    what: 'the end of the volumes',
  });
  expect(mountsOfMachine()).toEqual([]);
});

/** Root that may not mount, as in a container. */
const WITHOUT_MOUNTS: Launcher = {
  ...THIS_MACHINE,
  spawn: (command, args, options) =>
    spawn('setpriv', ['--bounding-set=-sys_admin', '--', command, ...args], options),
};

asRoot('a pod with volumes waits where they cannot be mounted, and says what would help', async () => {
  bed = new DaemonBed(WITHOUT_MOUNTS);
  daemon = await bed.start();
  apply(withVolumes);
  const { msg } = await daemon.event('web', 'FailedMount');
  expect(msg).toContain(
    'this agent cannot mount them for a plain process: unshare: unshare failed: Operation not permitted',
  );
  expect(msg).toContain('--embedded-volumes=ignore');
  const { stdout } = await statelet('why', `web-${NODE_NAME}`, '--root-dir', bed.rootDir);
  expect(stdout).toContain('the pod has volumes');
  expect(existsSync(MISSING)).toBe(false);
});

test('with --embedded-volumes=ignore volumes have no effect, and an event names them', async () => {
  bed = new DaemonBed();
  daemon = await bed.start('--embedded-volumes', 'ignore');
  const container = shell(SERVE, { volumeMounts: [mount('content', MISSING)] });
  apply(manifest('web', { containers: [container], volumes: [{ name: 'content', emptyDir: {} }] }));
  const { msg } = await daemon.warning('Not supported on this node');
  expect(msg).toContain('spec.volumes, spec.containers[main].volumeMounts');
  expect(mainProcesses(await daemon.running('web'))).toHaveLength(1);
});
