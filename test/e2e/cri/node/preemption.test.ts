/** Critical pods on a full node. */
import { availableParallelism } from 'node:os';
import { beforeEach, expect, test } from '@jest/globals';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon, NODE_NAME } from '../../../support/daemon.ts';

/** Leaves one CPU to pods, on every machine. */
const systemReserved = { cpu: `${(availableParallelism() - 1) * 1000}m` };
/** The priority of `system-node-critical`. */
const CRITICAL: Partial<PodSpec> = { priority: 2_000_001_000, priorityClassName: 'system-node-critical' };

describeOnContainerd('on a full node', ({ openBed }) => {
  let bed: CriDaemonBed;
  let daemon: Daemon;

  beforeEach(async () => {
    bed = openBed({ config: { systemReserved } });
    daemon = await bed.start();
  });

  function apply(name: string, resources: Container['resources'], spec: Partial<PodSpec> = {}): void {
    bed.apply(name, { priority: 1, containers: [bed.server({ resources })], ...spec });
  }

  const requests = (cpu: string) => ({ requests: { cpu } });
  const limits = (cpu: string) => ({ limits: { cpu, memory: '32Mi' } });
  const reasonsOf = (name: string) =>
    daemon.log.filter(({ pod }) => pod?.endsWith(`/${name}-${NODE_NAME}`)).map(({ reason }) => reason);

  async function fill(): Promise<ReadonlyMap<string, Pod>> {
    apply('best-effort', undefined);
    apply('small', requests('200m'));
    apply('large', requests('500m'));
    apply('guaranteed', limits('300m'));
    const names = ['best-effort', 'small', 'large', 'guaranteed'];
    const pods = await Promise.all(names.map((name) => daemon.running(name)));
    expect(pods.map(({ status }) => status?.qosClass)).toEqual([
      ...['BestEffort', 'Burstable', 'Burstable', 'Guaranteed'],
    ]);
    return new Map(names.map((name, index) => [name, pods[index] as Pod]));
  }

  test('a critical pod starts in place of the pod with the nearest request, which ends gracefully; the others stay', async () => {
    const before = await fill();
    apply('dns', requests('400m'), CRITICAL);
    await daemon.running('dns');
    const victim = await daemon.inState('large', 'Terminated.Finished');
    expect(victim.status).toMatchObject({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    expect(victim.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    // Its trap for SIGTERM has run.
    expect(containerStatus(victim)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    for (const name of ['best-effort', 'small', 'guaranteed']) {
      const pod = await daemon.running(name);
      expect(bed.idOf(pod)).toBe(bed.idOf(before.get(name)!));
      expect(reasonsOf(name)).not.toContain('Preempting');
    }
    const { msg, reason } = await daemon.logged('the decision', (line) =>
      line.msg.startsWith('Preemption: '),
    );
    expect(reason).toBeUndefined();
    expect(msg).toBe(
      `Preemption: missing cpu=400m; among 4 candidates: default/large-${NODE_NAME} (Burstable, priority 1, distance 0)`,
    );
    expect(reasonsOf('large').indexOf('Preempting')).toBeLessThan(reasonsOf('large').indexOf('Killing'));
  });

  test('Guaranteed pods are preempted last, if the requests of all others are not enough', async () => {
    await fill();
    apply('dns', requests('900m'), CRITICAL);
    await daemon.running('dns');
    const reasons = await Promise.all(
      ['small', 'large', 'guaranteed'].map(async (name) => {
        const { status } = await daemon.inState(name, 'Terminated.Finished');
        return status?.reason;
      }),
    );
    expect(reasons).toEqual(['Preempting', 'Preempting', 'Preempting']);
    await daemon.running('best-effort');
  });

  test('pods with the same priority wait with a reason, and run when other pods have ended', async () => {
    await fill();
    apply('late', requests('600m'));
    const waiting = await daemon.inState('late', 'Syncing.Starting.AwaitingRoom');
    expect(waiting.status).toMatchObject({ phase: 'Pending', reason: 'OutOfcpu' });
    expect((await daemon.event('late', 'OutOfcpu')).msg).toContain(
      "Node didn't have enough resource: cpu, requested: 600, used: 1000, capacity: 1000",
    );
    bed.withdraw('large');
    bed.withdraw('small');
    await daemon.running('late');
    expect(daemon.log.filter(({ reason }) => reason === 'Preempting')).toEqual([]);
  });
});
