/** `statelet doctor` on this machine, with plain processes. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { resolveConfig } from '../../src/agent/config/config.ts';
import { CHECKS, type Finding } from '../../src/doctor/policies/finding.ts';
import { testAsRoot } from '../support/as-root.ts';
import { outputAsNobody } from '../support/as-nobody.ts';
import { DaemonBed, statelet } from '../support/daemon.ts';
import { freePort } from '../support/free-port.ts';

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(() => bed.cleanUp());

interface Report {
  readonly apiVersion: string;
  readonly kind: string;
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
}

async function doctor(...flags: string[]) {
  const all = ['--root-dir', bed.rootDir, '--pod-manifest-path', bed.manifestDir, ...flags];
  const { code, stdout } = await statelet('doctor', ...all, '-o', 'json');
  const report = JSON.parse(stdout) as Report;
  return { code, report, of: (check: string) => report.findings.filter((one) => one.check === check) };
}

test('a machine that can run pods: each finding has its place, and the exit code is 0', async () => {
  const { code, report } = await doctor('--healthz-port', String(await freePort()));
  expect([code, report.apiVersion, report.kind, report.healthy]).toEqual([
    0,
    'statelet.dev/v1',
    'DoctorReport',
    true,
  ]);
  const statuses = ['ok', 'warning', 'error', 'unknown'];
  for (const { check, status, message, mend, ...others } of report.findings) {
    expect([CHECKS.includes(check), statuses.includes(status), typeof message, others]).toEqual([
      true,
      true,
      'string',
      {},
    ]);
    expect(mend === undefined).toBe(status === 'ok');
  }
  const text = await statelet('doctor', '--root-dir', bed.rootDir, '--healthz-port', '0');
  expect([text.code, text.stderr]).toEqual([0, '']);
  expect(text.stdout).toMatch(/^ok +kernel +Linux /mu);
  expect(text.stdout).toContain('nothing keeps the node from working');
});

test('a port that another process has is an error with that process, and the exit code is 1', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  const { code, report, of } = await doctor('--healthz-port', String(port));
  server.close();
  expect([code, report.healthy]).toEqual([1, false]);
  expect(of('ports')).toMatchObject([
    {
      status: 'error',
      message: expect.stringContaining(`(pid ${process.pid}) has 127.0.0.1:${port}, which is for healthz`),
      mend: expect.stringContaining('--healthz-port'),
    },
  ]);
});

test('a daemon that runs on the root folder has its port, and that is fine', async () => {
  const daemon = await bed.start('--read-only-port', String(await freePort()));
  const [, port = ''] = daemon.address.split(':');
  const { code, of } = await doctor('--healthz-port', port);
  expect(code).toBe(0);
  expect(of('ports')).toMatchObject([{ status: 'ok', message: `Statelet has ${port} (healthz)` }]);
  expect(of('other-agents')).toMatchObject([
    { status: 'ok', message: expect.stringContaining(`(pid ${daemon.pid})`) },
  ]);
});

test('a configuration that does not hold is a finding for each problem, and the machine is looked at all the same', async () => {
  const config = join(bed.dir, 'config.yaml');
  const identity = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
  writeFileSync(config, `${identity}maxPods: many\ncgroupDrive: systemd\n`);
  const { code, of } = await doctor('--config', config);
  expect(code).toBe(1);
  const problems = of('configuration').map(({ status, message }) => [status, message]);
  expect(problems).toHaveLength(2);
  expect(problems).toContainEqual(['error', expect.stringContaining(`${config}: maxPods: must be`)]);
  expect(problems).toContainEqual(['error', expect.stringContaining('did you mean "cgroupDriver"')]);
  expect(of('kernel')).toMatchObject([{ status: 'ok' }]);
});

test('a cgroup driver that does not exist is named with those that do', async () => {
  const { code, of } = await doctor('--cgroup-driver', 'openrc');
  expect(code).toBe(1);
  expect(of('configuration')).toMatchObject([
    { status: 'error', message: expect.stringMatching(/--cgroup-driver.*cgroupfs or systemd.*openrc/u) },
  ]);
});

test('what a file says acts on no terminal', async () => {
  const config = join(bed.dir, 'evil\u001b[2J.yaml');
  writeFileSync(config, '\u001b[31m: 5');
  const { stdout } = await statelet('doctor', '--root-dir', bed.rootDir, '--config', config);
  expect(stdout).toContain('evil\\u001b[2J.yaml');
  expect(stdout).not.toContain('\u001b[2J');
});

testAsRoot('another user is told what could not be seen', async () => {
  await (await bed.start()).end();
  const module = fileURLToPath(new URL('../../src/doctor/examine.ts', import.meta.url));
  const config = resolveConfig({ rootDir: bed.rootDir, hostnameOverride: 'node', healthzPort: 0 });
  const script = 'console.log(JSON.stringify(await own.examine(JSON.parse(process.argv[1]))));';
  const findings = JSON.parse(outputAsNobody(module, script, JSON.stringify(config))) as readonly Finding[];
  expect(findings).toContainEqual({
    check: 'other-agents',
    status: 'unknown',
    message: `${bed.rootDir} may not be read by this user`,
    mend: 'run statelet doctor as root',
  });
});
