/** CPUs that containers have for themselves, as the kernel shows them. Reserves CPU 0: it takes a machine with two or more. */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cpuSetString } from '../../../../src/agent/policies/cpus/cpu-set.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { waitFor } from '../../../support/wait-for.ts';

const COUNT = cpus().length;
const ALL = cpuSetString(cpus().map((_, cpu) => cpu));
const OTHERS = cpuSetString(cpus().flatMap((_, cpu) => (cpu === 0 ? [] : [cpu])));
const EXCLUSIVE = { cpu: String(COUNT - 1), memory: '32Mi' };
const STATIC = { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' };
const testWithTwo = COUNT > 1 ? test : test.skip;

describeOnContainerd('the static CPU manager', ({ openBed }) => {
  const allowed = async (bed: CriDaemonBed, pod: Pod) => {
    const status = await bed.exec(pod, ['cat', '/proc/1/status']);
    return /^Cpus_allowed_list:\s+(\S+)$/mu.exec(status)?.[1];
  };
  const runsOn = (bed: CriDaemonBed, pod: Pod, expected: string) =>
    waitFor(async () => (await allowed(bed, pod)) === expected, {
      what: `${pod.metadata.name} to run on CPUs ${expected}`,
    });
  const stateOf = (bed: CriDaemonBed) =>
    JSON.parse(readFileSync(join(bed.rootDir, 'cpu_manager_state'), 'utf8')) as Record<string, unknown>;
  const sleeper = (bed: CriDaemonBed, name: string, resources?: typeof EXCLUSIVE) =>
    bed.apply(name, {
      containers: [
        bed.shell('trap "exit 0" TERM; sleep 1000 & wait', {
          ...(resources && { resources: { requests: resources, limits: resources } }),
        }),
      ],
    });

  testWithTwo(
    'a Guaranteed pod has its CPUs alone, over the death of the agent; others share the rest',
    async () => {
      const bed = openBed({ config: STATIC });
      let daemon = await bed.start();
      sleeper(bed, 'shared');
      const shared = await daemon.running('shared');
      expect(await allowed(bed, shared)).toBe(ALL);

      sleeper(bed, 'own', EXCLUSIVE);
      const own = await daemon.running('own');
      expect(await allowed(bed, own)).toBe(OTHERS);
      await runsOn(bed, shared, '0');
      const entries = { [own.metadata.uid]: { main: OTHERS } };
      expect(stateOf(bed)).toMatchObject({ policyName: 'static', defaultCpuSet: '0', entries });

      sleeper(bed, 'next', { cpu: '1', memory: '32Mi' });
      const refused = await daemon.event('next', 'UnexpectedAdmissionError');
      expect(JSON.stringify(refused)).toContain(
        'Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected',
      );
      bed.withdraw('next');

      await daemon.end('SIGKILL');
      daemon = await bed.start();
      await daemon.running('own');
      expect(await allowed(bed, own)).toBe(OTHERS);
      expect(stateOf(bed)).toMatchObject({ defaultCpuSet: '0', entries });

      bed.withdraw('own');
      await runsOn(bed, shared, ALL);
      expect(stateOf(bed)).toMatchObject({ defaultCpuSet: ALL });
    },
  );

  testWithTwo('another policy does not start on what this one has left', async () => {
    const bed = openBed({ config: STATIC });
    const daemon = await bed.start();
    await daemon.end();
    bed.configure({ cpuManagerPolicy: 'none' });
    const refused = bed.launch(['--pod-manifest-path', bed.manifestDir]);
    await waitFor(() => refused.ending !== undefined, { what: 'the daemon to refuse to start' });
    expect(refused.stderr).toContain(
      'configured policy "none" differs from state checkpoint policy "static", please drain this node and delete',
    );
    bed.configure(STATIC);
  });
});
