/** Pods that plugins have chosen end through this node. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { lastingPod } from '../eviction/eviction-bed.ts';
import { KillsBed } from './kills-bed.ts';

const MESSAGE = 'Eviction plugin greed chose this pod: it uses too much';
const web = lastingPod('web', { terminationGracePeriodSeconds: 20 });
const other = lastingPod('other');

let bed: KillsBed;
afterEach(() => bed.stop());

async function started(): Promise<KillsBed> {
  bed = new KillsBed();
  await bed.start(web, other);
  return bed;
}

const graceOf = (uid: string) =>
  bed.agent.supervisor.registry.get(uid)?.actor.getSnapshot().context.gracePeriodSeconds;

describe('without an API server', () => {
  test('the pod fails as evicted, with the plugin and the reason in status and event; others go on', async () => {
    await started();
    bed.kill(web);
    await bed.untilState('web', 'Terminated.Finished');
    const status = bed.agent.statusManager.get('web');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: MESSAGE });
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', message: MESSAGE }),
    );
    expect(bed.evictions()).toEqual([`web Warning Evicted: ${MESSAGE}`]);
    expect([bed.killed, bed.kills.isUnderWay('web')]).toEqual([['greed SyncPodKill'], false]);
    expect([bed.state('other'), bed.kills.views()]).toEqual(['Syncing.Settled', []]);
  });

  test('while it ends, the kill is shown', async () => {
    await started();
    bed.hung.add('web');
    bed.kill(web);
    await bed.untilState('web', 'Terminating.Stopping');
    expect(bed.kills.views()).toEqual([
      {
        uid: 'web',
        pod: 'default/web',
        plugin: 'greed',
        reason: 'it uses too much',
        killer: 'SyncPodKill',
        state: 'AwaitingEnd',
        sinceMs: bed.ground.clock.now(),
        problem: undefined,
      },
    ]);
    expect([bed.kills.isUnderWay('web'), graceOf('web')]).toEqual([true, 20]);
  });

  test('the plugin may name the grace period, also a longer one than that of the pod', async () => {
    await started();
    bed.hung.add('web').add('other');
    bed.kill(web, { gracePeriodSeconds: 50 });
    bed.kill(other, { gracePeriodSeconds: 0 });
    await bed.untilState('other', 'Terminating.Stopping');
    expect([graceOf('web'), graceOf('other')]).toEqual([50, 1]);
  });

  test('a pod that is being killed gets another kill only with a shorter grace period', async () => {
    await started();
    bed.hung.add('web');
    bed.kill(web);
    bed.kill(web, { plugin: 'another' });
    bed.kill(web, { plugin: 'another', gracePeriodSeconds: 25 });
    await bed.untilState('web', 'Terminating.Stopping');
    expect(graceOf('web')).toBe(20);
    bed.kill(web, { plugin: 'another', gracePeriodSeconds: 3 });
    expect(graceOf('web')).toBe(3);
    expect(bed.killed).toEqual(['greed SyncPodKill']);
    expect(bed.evictions()).toHaveLength(1);
  });

  test('a pod that does not end in time is reported, and its kill goes on', async () => {
    await started();
    bed.hung.add('web');
    bed.kill(web);
    await bed.untilState('web', 'Terminating.Stopping');
    await bed.ground.clock.advance(29_999);
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
    await bed.ground.clock.advance(1);
    expect(bed.view('web')).toMatchObject({ state: 'Overdue', problem: 'it has not ended within 30 s' });
    expect(bed.events.at(-1)).toContain('web Warning ExceededGracePeriod');
    expect(bed.warnings()).toEqual([
      'The pod that a plugin chose is still there: it has not ended within 30 s',
    ]);
    bed.hung.clear();
    bed.kill(web, { gracePeriodSeconds: 1 });
    await bed.untilState('web', 'Terminated.Finished');
    expect(bed.kills.views()).toEqual([]);
  });

  test('a pod that another part has ended keeps the status that part gave it', async () => {
    await started();
    bed.hung.add('web');
    bed.agent.supervisor.registry.kill('web', { podStatus: { phase: 'Failed', reason: 'Preempting' } });
    bed.kill(web);
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
    bed.hung.clear();
    bed.kill(web, { gracePeriodSeconds: 1 });
    await bed.untilState('web', 'Terminated.Finished');
    expect(bed.agent.statusManager.get('web')?.reason).toBe('Preempting');
    expect([bed.killed, bed.kills.views()]).toEqual([[], []]);
  });

  test('the time that another part gave the pod counts before it is overdue', async () => {
    await started();
    bed.hung.add('web');
    const options = { podTerminationGracePeriodSecondsOverride: 60 };
    bed.agent.supervisor.registry.kill('web', options);
    await bed.untilState('web', 'Terminating.Stopping');
    bed.kill(web);
    await bed.ground.clock.advance(89_999);
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
    await bed.ground.clock.advance(1);
    expect(bed.view('web')?.state).toBe('Overdue');
  });

  test('a pod that is not known, or has ended, is not waited for', async () => {
    await started();
    bed.kill(lastingPod('never-seen'));
    bed.kill(web);
    await bed.untilState('web', 'Terminated.Finished');
    bed.kill(web);
    expect([bed.kills.views(), bed.killed]).toEqual([[], ['greed SyncPodKill']]);
  });

  test('after a stop nothing is begun, and no timer is left', async () => {
    await started();
    bed.hung.add('web');
    bed.kill(web);
    await bed.untilState('web', 'Terminating.Stopping');
    const before = bed.ground.clock.armed;
    bed.kills.stop();
    expect(bed.ground.clock.armed).toBe(before - 1);
    bed.kill(other);
    expect([bed.state('other'), bed.kills.isUnderWay('other')]).toEqual(['Syncing.Settled', false]);
  });
});
