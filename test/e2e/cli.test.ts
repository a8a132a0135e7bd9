/** The command line: its output, the data that it serves, and its refusals. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Daemon, DaemonBed, mainProcesses, NODE_NAME, statelet } from '../support/daemon.ts';
import { manifest, SERVE, shell } from './manifests.ts';

let bed: DaemonBed;
let daemon: Daemon;

beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const write = (name: string, fields = {}) =>
  writeFileSync(join(bed.manifestDir, `${name}.yaml`), manifest(name, fields));

test('/healthz is ok, /pods is a v1 PodList, and statelet pods prints the same as a table, JSON and YAML', async () => {
  write('web', { containers: [shell(SERVE), shell(SERVE, { name: 'other' })] });
  write('job', { restartPolicy: 'Never', containers: [shell('exit 3')], metadata: { namespace: 'batch' } });
  daemon = await bed.start();
  await daemon.running('web');
  await daemon.inState('web', 'Syncing.Settled');
  await daemon.inState('job', 'Terminated.Finished');

  const health = await daemon.fetch('/healthz');
  expect([health.status, await health.text()]).toEqual([200, 'ok']);
  const served = (await (await daemon.fetch('/pods')).json()) as object;
  expect(served).toMatchObject({ kind: 'PodList', apiVersion: 'v1', metadata: {} });

  const table = await statelet('pods', '--root-dir', bed.rootDir);
  const rows = table.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(rows).toEqual([
    ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'STATE'],
    [
      'batch',
      `job-${NODE_NAME}`,
      '0/1',
      'Error',
      '0',
      expect.stringMatching(/^\d+s$/),
      'Terminated.Finished',
    ],
    [
      'default',
      `web-${NODE_NAME}`,
      '2/2',
      'Running',
      '0',
      expect.stringMatching(/^\d+s$/),
      'Syncing.Settled',
    ],
  ]);
  const json = await statelet('pods', '--root-dir', bed.rootDir, '-o', 'json');
  expect(JSON.parse(json.stdout)).toEqual(served);
  const yaml = await statelet('pods', '--server', daemon.address, '-o', 'yaml');
  expect(yaml.stdout).toContain('kind: PodList\n');
  expect([table, json, yaml].map(({ code, stderr }) => [code, stderr])).toEqual(Array(3).fill([0, '']));

  await daemon.end();
  const unanswered = await statelet('pods', '--root-dir', bed.rootDir);
  expect(unanswered).toMatchObject({ code: 1, stdout: '' });
  expect(unanswered.stderr).toContain(`no statelet serves from ${bed.rootDir}`);
});

test('logs are in the format of CRI, at the paths of the kubelet', async () => {
  const script = 'echo one; echo two >&2; printf "no end of line"';
  write('job', { restartPolicy: 'Never', containers: [shell(script)] });
  daemon = await bed.start();
  const { metadata } = await daemon.inState('job', 'Terminated.Finished');
  const folder = `default_job-${NODE_NAME}_${metadata.uid}`;
  const log = readFileSync(join(bed.rootDir, 'pods', folder, 'main', '0.log'), 'utf8');
  const lines = log
    .trimEnd()
    .split('\n')
    .map((line) => /^(\S+) (stdout|stderr) ([FP] .*)$/.exec(line) ?? [line]);
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d)$/;
  expect(lines.map(([, at]) => at)).toEqual(Array(3).fill(expect.stringMatching(time)));
  // Each stream is in order; the order between the two streams is not defined.
  const of = (wanted: string) =>
    lines.filter(([, , stream]) => stream === wanted).map(([, , , text]) => text);
  expect(of('stdout')).toEqual(['F one', 'F no end of line']);
  expect(of('stderr')).toEqual(['F two']);
});

test('a container has the environment of its spec, with fields filled in, and nothing of the daemon', async () => {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const env = [
    field('POD', 'metadata.name'),
    field('NAMESPACE', 'metadata.namespace'),
    field('UID', 'metadata.uid'),
    field('NODE', 'spec.nodeName'),
    field('TEAM', "metadata.labels['team']"),
    field('HOST_IP', 'status.hostIP'),
    { name: 'GREETING', value: 'hello $(POD) of $(TEAM), not $$(TEAM)' },
  ];
  write('job', {
    restartPolicy: 'Never',
    metadata: { labels: { team: 'e2e' } },
    containers: [{ name: 'main', command: ['env'], env }],
  });
  const flags = ['--pod-manifest-path', bed.manifestDir, '--exit-with-pods'];
  daemon = await bed.run(flags, {
    TOKEN_OF_THE_DAEMON: 'secret',
    NODE_ENV: 'test',
    HOME: '/home/of/the/daemon',
  });
  const { metadata, status } = await daemon.inState('job', 'Terminated.Finished');
  const lines = bed.containerLog(metadata, 'main').trimEnd().split('\n');
  const entries = lines.map((line) => /^\S+ stdout F (\w+)=(.*)$/.exec(line)?.slice(1) ?? [line, '']);
  expect(Object.fromEntries(entries)).toEqual({
    POD: `job-${NODE_NAME}`,
    NAMESPACE: 'default',
    UID: metadata.uid,
    NODE: NODE_NAME,
    TEAM: 'e2e',
    HOST_IP: status?.hostIP,
    GREETING: `hello job-${NODE_NAME} of e2e, not $(TEAM)`,
    HOSTNAME: `job-${NODE_NAME}`,
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: expect.stringContaining(bed.rootDir),
    STATELET_CONTAINER_ID: status?.containerStatuses?.[0]?.containerID?.replace('statelet://', ''),
    STATELET_TERMINATION_LOG: expect.stringContaining(bed.rootDir),
  });
});

describe('a refusal has a message with the cause and an exit code, and running pods keep running', () => {
  /** A second daemon that must not start, beside a daemon that runs a pod. */
  async function refused(...args: string[]) {
    const pod = await daemon.running('web');
    const result = await statelet('run', ...args);
    expect(result.stdout).not.toContain('"level":"fatal"');
    expect(mainProcesses(pod)).toHaveLength(1);
    expect((await daemon.running('web')).status?.containerStatuses).toEqual(pod.status?.containerStatuses);
    return result;
  }

  const idle = () => ['--healthz-port', 'auto', '--pods', bed.manifestDir];
  const elsewhere = () => ['--root-dir', join(bed.dir, 'other-root'), '--pods', join(bed.dir, 'other-pods')];
  const config = (text: string) => {
    const path = join(bed.dir, 'config.yaml');
    writeFileSync(path, `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${text}`);
    return ['--config', path, ...elsewhere()];
  };

  beforeEach(async () => {
    write('web');
    daemon = await bed.start();
  });

  test('of the command line: an unknown flag, an invalid value, an unknown command', async () => {
    const flag = await refused('--pod-manifest-paht', bed.manifestDir);
    expect(flag.code).toBe(2);
    expect(flag.stderr).toContain("unknown option '--pod-manifest-paht'");
    expect(flag.stderr).toContain('--pod-manifest-path');

    const value = await refused('--max-pods', 'many', ...elsewhere());
    expect(value.code).toBe(2);
    expect(value.stderr).toContain('--max-pods');

    const endpoint = await refused('--container-runtime-endpoint', 'tcp://127.0.0.1:1', ...elsewhere());
    expect(endpoint.code).toBe(2);
    expect(endpoint.stderr).toContain('--container-runtime-endpoint');

    const command = await statelet('rum');
    expect(command.code).toBe(2);
    expect(command.stderr).toContain("unknown command 'rum'");
  });

  test('of the configuration: an unknown field, a wrong type, a file that is missing or no YAML', async () => {
    const unknown = await refused(...config('staticPodPaht: /etc/pods\n'));
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain(`${join(bed.dir, 'config.yaml')}: staticPodPaht: is not a field`);

    const illTyped = await refused(...config('maxPods: many\n'));
    expect(illTyped.code).toBe(2);
    expect(illTyped.stderr).toMatch(/config\.yaml: maxPods: must be a whole number .*got "many"/);

    const broken = await refused(...config('logging: {format: text\n'));
    expect(broken.code).toBe(2);
    expect(broken.stderr).toMatch(/config\.yaml:\d+:\d+: is neither YAML nor JSON/);

    const missing = await refused('--config', join(bed.dir, 'nowhere.yaml'), ...elsewhere());
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain(`${join(bed.dir, 'nowhere.yaml')}: no such file`);
  });

  test('of a port that is in use', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => holder.once('listening', resolve));
      const { port } = holder.address() as AddressInfo;
      const { code, stderr } = await refused('--healthz-port', String(port), ...elsewhere());
      expect(code).toBe(1);
      expect(stderr).toContain(`127.0.0.1:${port}: the port is in use`);
      expect(stderr).toContain('--healthz-port');
    } finally {
      holder.close();
    }
  });

  test('of the root folder of a running instance, also by another path', async () => {
    const link = join(bed.dir, 'same-root');
    symlinkSync(bed.rootDir, link);
    for (const path of [bed.rootDir, link]) {
      const { code, stderr } = await refused('--root-dir', path, ...idle());
      expect(code).toBe(1);
      expect(stderr).toContain(`--root-dir ${path} is in use by another instance (pid ${daemon.pid})`);
    }
    // The address file for `statelet pods` is still valid.
    expect((await statelet('pods', '--root-dir', bed.rootDir)).stdout).toContain('Running');
  });

  test('of a root folder that cannot be used', async () => {
    const path = join(bed.dir, 'file');
    writeFileSync(path, '');
    const { code, stderr } = await refused('--root-dir', path, ...idle());
    expect(code).toBe(2);
    expect(stderr).toContain(`--root-dir ${path}: `);
  });

  test.each(['/proc/statelet/root', '/proc/self'])(
    'of the root folder %s, in which nothing can be made',
    async (path) => {
      const { code, stderr } = await refused('--root-dir', path, ...idle());
      expect(code).toBe(2);
      expect(stderr).toContain(`--root-dir ${path}: `);
    },
  );
});

test('a known field of the configuration that has no effect is a warning; flags win over the file', async () => {
  const path = join(bed.dir, 'config.yaml');
  const text = [
    'apiVersion: kubelet.config.k8s.io/v1beta1',
    'kind: KubeletConfiguration',
    'staticPodPath: /nowhere',
    'maxOpenFiles: 1',
    'healthzPort: 1',
  ];
  writeFileSync(path, text.join('\n'));
  mkdirSync(join(bed.dir, 'other'));
  write('web');
  daemon = await bed.start('--config', path);
  await daemon.warning(path, 'without effect here', 'maxOpenFiles');
  await daemon.running('web');
});
