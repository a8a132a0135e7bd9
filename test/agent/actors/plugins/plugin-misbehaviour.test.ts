/** Eviction plugins that hang, fail, lie or vanish: whatever one does, the manager and the other plugins go on. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PluginQuestion } from '../../../../src/types/eviction-plugin.ts';
import { forces, hangs, met, named, wanted } from '../../../support/eviction-plugins.ts';
import { lastingPod } from '../eviction/eviction-bed.ts';
import { PluginBed } from './plugin-bed.ts';

const A = lastingPod('a');

let bed: PluginBed;

beforeEach(() => {
  bed = new PluginBed();
});

afterEach(() => bed.stop());

const explained = (name: string) => bed.manager.view().plugins.find((plugin) => plugin.name === name);

/** Rejects as soon as the signal aborts. */
const endsWith = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('cancelled')));
  });

describe('a plugin that misbehaves costs the others nothing', () => {
  const nonsense = { evictPods: [{ ...wanted(named(A)), gracePeriodSeconds: -1 }] };
  const bad: readonly (readonly [what: string, answer: () => unknown, RegExp | undefined])[] = [
    [
      'throws',
      () => {
        throw new Error('no memory figures');
      },
      /GetEvictPods: no memory figures/,
    ],
    ['rejects', () => Promise.reject(new Error('no memory figures')), /GetEvictPods: no memory figures/],
    ['answers nothing', () => undefined, /^bad failed: GetEvictPods: /],
    ['answers something else', () => ({ evictPods: 'all' }), /^bad failed: GetEvictPods: /],
    ['answers nonsense', () => nonsense, undefined],
  ];
  test.each(bad)('%s', async (_, answer, problem) => {
    bed.plugin('bad').evicts = answer;
    bed.plugin('good').evicts = () => forces(A);
    await bed.start();
    await bed.run(A);
    await bed.pass();
    expect(bed.kills.calls).toEqual([['a']]);
    expect(bed.directory.told).toContain('good answered');
    if (problem === undefined) expect(explained('bad')?.refused).toHaveLength(1);
    else expect(bed.directory.told).toContainEqual(expect.stringMatching(problem));
  });

  test('hangs: the pass goes on when its time is up', async () => {
    const bad = bed.plugin('bad');
    bad.evicts = hangs;
    bad.threshold = hangs;
    bed.plugin('good').evicts = () => forces(A);
    await bed.start();
    await bed.run(A);
    await bed.ground.clock.advance(5_000);
    await bed.ground.until('the other to answer', () => bed.manager.view().awaited.length === 1);
    expect(bed.manager.view()).toMatchObject({ state: 'Collecting', awaited: ['bad'] });
    expect(bed.kills.calls).toEqual([]);
    await bed.ground.clock.advance(1_999);
    expect(bed.manager.view().state).toBe('Collecting');
    await bed.ground.clock.advance(1);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    expect(bed.kills.calls).toEqual([['a']]);
    expect(bed.directory.told).toContain(
      'bad failed: GetEvictPods: has not answered within 2 s; ThresholdMet: has not answered within 2 s',
    );
    expect(bed.measurements.told).toContain('bad ThresholdMet: failure');
  });

  test('ends with its signal: the error says that its time was up, not how it ended', async () => {
    const bad = bed.plugin('bad');
    Object.assign(bad, { getEvictPods: ({ signal }: PluginQuestion) => endsWith(signal) });
    await bed.start();
    await bed.ground.clock.advance(7_000);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    expect(bed.directory.told).toEqual(['bad failed: GetEvictPods: has not answered within 2 s']);
  });

  test('one question that hangs does not cost the other: what was answered counts', async () => {
    const half = bed.plugin('half');
    half.threshold = hangs;
    half.evicts = () => forces(A);
    await bed.start();
    await bed.run(A);
    await bed.ground.clock.advance(7_000);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    expect(bed.kills.calls).toEqual([['a']]);
  });

  test('answers when its time is up: that is not waited for, and does not count in the next pass', async () => {
    const late = Promise.withResolvers<unknown>();
    const p = bed.plugin('p');
    p.evicts = () => late.promise;
    await bed.start();
    await bed.run(A);
    await bed.ground.clock.advance(7_000);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    p.evicts = () => forces();
    late.resolve(forces(A));
    await bed.pass();
    expect(bed.kills.calls).toEqual([]);
  });

  test('has one deadline for all questions: time that it has taken for one is not there for the next', async () => {
    const answer = Promise.withResolvers<unknown>();
    const slow = bed.plugin('slow');
    slow.threshold = () => answer.promise;
    slow.top = hangs;
    const half = bed.plugin('half');
    half.evicts = hangs;
    half.threshold = () => met();
    half.top = () => ({ targetPods: [named(A)] });
    await bed.start();
    await bed.run(A);
    await bed.ground.clock.advance(6_500);
    answer.resolve(met());
    await bed.ground.until('it to be asked for pods', () =>
      slow.questions.some((question) => question.startsWith('GetTop')),
    );
    await bed.ground.clock.advance(500);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    expect([...bed.directory.told].sort()).toEqual([
      'half failed: GetEvictPods: has not answered within 2 s',
      'slow failed: GetTopEvictionPods: has not answered within 2 s',
    ]);
    expect(bed.kills.calls).toEqual([['a']]);
  });

  test('fails when asked for pods', async () => {
    const bad = bed.plugin('bad');
    bad.threshold = () => met();
    bad.top = hangs;
    bed.plugin('good').evicts = () => forces(A);
    await bed.start();
    await bed.run(A);
    await bed.ground.clock.advance(7_000);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    expect(bed.kills.calls).toEqual([['a']]);
    expect(bed.directory.told.at(-1)).toBe('bad failed: GetTopEvictionPods: has not answered within 2 s');
  });
});
