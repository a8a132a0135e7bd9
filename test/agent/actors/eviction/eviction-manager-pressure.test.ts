/** Eviction when tasks of the node wait too long for a resource: which pod is evicted, and when. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pressureThresholds } from '../../../../src/agent/policies/eviction/pressure-settings.ts';
import { doingIO, MI, usingMemory } from '../../../support/eviction.ts';
import { EvictionBed, lastingPod } from './eviction-bed.ts';

const MINUTE_MS = 60_000;

let bed: EvictionBed;

beforeEach(() => {
  bed = new EvictionBed();
});
afterEach(() => bed.stop());

describe('under pressure', () => {
  const stalling = (psi: Record<string, string>, periods = {}) => ({
    thresholds: pressureThresholds({ evictionPSI: psi, evictionPSIGracePeriod: periods }),
  });

  test('of memory, the same pod is evicted as when memory is short, as soon as the watch reports it', async () => {
    await bed.start(stalling({ 'memory.pressure.some.avg10': '20%' }));
    await bed.run(lastingPod('modest'), lastingPod('greedy'));
    bed.figures.pods = [usingMemory('modest', 100), usingMemory('greedy', 300)];
    const beganAtMs = bed.ground.clock.now();
    bed.figures.stalls({ memoryStall: 50 });
    await bed.untilState('greedy', 'Terminated.Finished');
    expect([bed.ground.clock.now(), bed.evicted(), bed.conditions()]).toEqual([
      beganAtMs,
      ['greedy'],
      ['MemoryPressure'],
    ]);
  });

  test('of the disks, the pod that uses them most is evicted, and no other pod until there are newer averages', async () => {
    await bed.start(stalling({ 'io.pressure.some.avg10': '20%' }));
    await bed.run(lastingPod('idle'), lastingPod('first'), lastingPod('second'));
    bed.figures.pods = [doingIO('idle', 0), doingIO('first', 9 * MI), doingIO('second', MI)];
    bed.onEviction = (name) =>
      (bed.figures.pods = bed.figures.pods.filter(({ podRef }) => podRef.name !== name));
    bed.figures.stalls({ ioStall: 50 });
    await bed.untilState('first', 'Terminated.Finished');
    expect(bed.conditions()).toEqual(['DiskPressure']);
    await bed.pass();
    await bed.pass();
    expect(bed.evicted()).toEqual(['first']);
    await bed.pass();
    await bed.untilState('second', 'Terminated.Finished');
    await bed.ground.clock.advance(MINUTE_MS);
    expect([bed.evicted(), bed.state('idle')]).toEqual([['first', 'second'], 'Syncing.Settled']);
  });

  test('no pod is evicted before the grace period is over', async () => {
    const signal = 'io.pressure.some.avg10';
    await bed.start({ ...stalling({ [signal]: '20%' }, { [signal]: '15s' }), maxPodGracePeriodSeconds: 3 });
    await bed.run(lastingPod('writer'));
    bed.figures.pods = [doingIO('writer', MI)];
    bed.figures.stalls({ ioStall: 50 });
    await bed.pass();
    expect(bed.evicted()).toEqual([]);
    await bed.pass();
    expect(bed.evicted()).toEqual(['writer']);
    expect(bed.agent.supervisor.registry.get('writer')?.actor.getSnapshot().context.gracePeriodSeconds).toBe(
      3,
    );
  });
});
