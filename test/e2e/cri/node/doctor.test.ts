/** `statelet doctor` with a real containerd: ready, without a network, with another driver, beside another daemon. */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Finding } from '../../../../src/doctor/policies/finding.ts';
import { makeCgroup } from '../../../support/containerd/cgroups.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { statelet } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

async function doctor(...flags: string[]) {
  const { code, stdout } = await statelet('doctor', '--healthz-port', '0', ...flags, '-o', 'json');
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] };
  return { code, of: (check: string) => findings.filter((one) => one.check === check) };
}

describeOnContainerd('statelet doctor beside a containerd', ({ containerd, openBed }) => {
  const flags = (rootDir: string) =>
    ['--root-dir', rootDir, '--cgroup-root', containerd.cgroupRoot].concat([
      '--container-runtime-endpoint',
      containerd.endpoint,
    ]);
  beforeAll(() => makeCgroup(containerd.cgroupRoot));

  test('that is ready: its version, driver, network and sandbox image, as it says them itself', async () => {
    const bed = openBed();
    const { of } = await doctor(...flags(bed.rootDir));
    expect(of('runtime')).toMatchObject([
      { status: 'ok', message: expect.stringMatching(/^containerd \d+\.\d+.* at unix:.*, ready$/u) },
    ]);
    expect(of('runtime-network')).toMatchObject([{ status: 'ok' }]);
    expect(of('cgroup-driver')).toMatchObject([{ status: 'ok', message: 'cgroupfs on both sides' }]);
    expect(of('cni')).toMatchObject([
      { status: 'ok', message: expect.stringContaining(`${containerd.cniConfDir}/10-pods.conflist`) },
    ]);
    expect(of('sandbox-image')).toMatchObject([{ status: 'ok', message: containerd.pauseImage }]);
    expect(of('cgroups').filter(({ status }) => status === 'error')).toEqual([]);
  });

  test('without a CNI file, and with one that is broken', async () => {
    const bed = openBed();
    const file = join(containerd.cniConfDir, '10-pods.conflist');
    const aside = join(containerd.cniConfDir, 'aside');
    const network = async (status: string) => {
      const found = await waitFor(
        async () => {
          const result = await doctor(...flags(bed.rootDir));
          return result.of('runtime-network')[0]?.status === status && result;
        },
        { what: `the network to be ${status}`, pauseMs: 300 },
      );
      return found;
    };
    renameSync(file, aside);
    try {
      const missing = await network('error');
      expect(missing.code).toBe(1);
      expect(missing.of('cni')).toMatchObject([
        { status: 'error', message: `${containerd.cniConfDir} has no CNI configuration` },
      ]);
      writeFileSync(join(containerd.cniConfDir, '05-broken.conflist'), '{');
      const broken = await doctor(...flags(bed.rootDir));
      expect(broken.of('cni')).toMatchObject([
        { status: 'error', message: expect.stringContaining('05-broken.conflist is no JSON') },
      ]);
    } finally {
      rmSync(join(containerd.cniConfDir, '05-broken.conflist'), { force: true });
      renameSync(aside, file);
    }
    expect(readdirSync(containerd.cniConfDir)).toEqual(['10-pods.conflist']);
    await network('ok');
  });

  test('and another daemon, which it names; a daemon says so too when it starts', async () => {
    const [first, second] = [openBed(), openBed()];
    const daemon = await first.start();
    const { code, of } = await doctor(...flags(second.rootDir));
    expect(code).toBe(1);
    expect(of('other-agents')).toContainEqual(
      expect.objectContaining({
        status: 'error',
        message: expect.stringContaining(`another Statelet runs (pid ${daemon.pid}:`),
      }),
    );
    expect((await doctor(...flags(first.rootDir))).of('other-agents')).not.toContainEqual(
      expect.objectContaining({ message: expect.stringContaining(`(pid ${daemon.pid}: `) }),
    );
    const late = await second.start();
    await late.warning(`another Statelet runs (pid ${daemon.pid}:`);
  });

  test('that does not serve at the socket', async () => {
    const bed = openBed();
    const socket = join(bed.dir, 'none.sock');
    const { code, of } = await doctor(
      '--root-dir',
      bed.rootDir,
      '--container-runtime-endpoint',
      `unix://${socket}`,
    );
    expect(code).toBe(1);
    expect(of('runtime')).toMatchObject([{ status: 'error', message: `${socket} does not exist` }]);
  });
});

/** The last table of the file of a test is that of runc's options. */
describeOnContainerd(
  'statelet doctor beside a containerd with the systemd driver',
  { config: 'SystemdCgroup = true\n' },
  ({ containerd, openBed }) => {
    describe('and the driver of files in the configuration', () => {
      test('says which line of which file to change', async () => {
        const { rootDir } = openBed();
        const { code, of } = await doctor(
          ...['--root-dir', rootDir, '--container-runtime-endpoint', containerd.endpoint],
        );
        expect(code).toBe(1);
        expect(of('cgroup-driver')).toMatchObject([
          {
            status: 'error',
            message: 'the runtime uses systemd, and the default says cgroupfs: no pod would start',
            mend: expect.stringContaining('SystemdCgroup = false'),
          },
        ]);
      });
    });
  },
);
