/** What of the node itself goes before any pod: each mistake is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import type {
  FileSystemLayout,
  NodeReclaim,
} from '../../../../src/agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../../../src/agent/policies/eviction/signals.ts';
import type { ContainerTruth } from '../../../../src/simulation/runtime/witness.ts';
import { call, container, killed, sandbox, STOPPED } from '../lifecycle-judge-bed.ts';
import { DRAINED, EvictionCourt, ONE_DISK, pod, rule } from './eviction-court.ts';

const APART: FileSystemLayout = { dedicatedImageFs: true, splitContainerFs: false };
const SPLIT: FileSystemLayout = { dedicatedImageFs: true, splitContainerFs: true };

function court(signal: EvictionSignal = 'nodefs.available', layout = ONE_DISK) {
  const at = new EvictionCourt([rule(signal)], layout);
  at.left = { [signal]: 90 };
  at.conditions = ['DiskPressure'];
  at.uses = { a: { layer: { bytes: 9 }, logs: { bytes: 9 } } };
  return at;
}

describe('before a pod is evicted, everything unused is removed from the disk', () => {
  const cases: [EvictionSignal, FileSystemLayout, NodeReclaim[]][] = [
    ['nodefs.available', ONE_DISK, ['containers', 'images']],
    ['nodefs.inodesFree', APART, []],
    ['imagefs.available', APART, ['containers', 'images']],
    ['nodefs.available', SPLIT, ['containers']],
    ['imagefs.inodesFree', SPLIT, ['images']],
  ];
  test.each(cases)('%s, %j: %j', async (signal, layout, wanted) => {
    const rightly = court(signal, layout);
    rightly.evictAfter(wanted, rightly.admitted(pod('a')), signal);
    expect(await rightly.reported()).toEqual([]);
    const wrongly = court(signal, layout);
    const other = wanted.length === 1 ? [] : wanted.slice(1).concat('containers');
    wrongly.evictAfter(other, wrongly.admitted(pod('a')), signal);
    expect(await wrongly.reported()).toEqual([
      `eviction a: is evicted after ${other.join() || 'nothing'} was removed, and not ${wanted.join() || 'nothing'}`,
    ]);
  });
});

describe('what was removed is enough', () => {
  const removed = (left: number, isMeasured: boolean, goesOn: boolean) => {
    const at = court();
    at.look({ pass: 'ReclaimingNode' });
    at.evictions.reclaims('containers')();
    at.left = { 'nodefs.available': left };
    if (isMeasured) at.measure();
    at.hear({ type: 'NODE_RECLAIMED', shortage: goesOn ? ({} as never) : undefined });
    return at.reported();
  };

  test('when by figures that were taken after it enough is left', async () => {
    expect(await removed(100, true, false)).toEqual([]);
    expect(await removed(99, true, true)).toEqual([]);
    expect(await removed(90, false, true)).toEqual([]);
    expect(await removed(100, false, false)).toEqual([
      'eviction : enough was said to be removed, and it was not measured',
    ]);
    expect(await removed(99, true, false)).toEqual([
      'eviction : not enough was removed, and no pod is evicted',
    ]);
    expect(await removed(100, true, true)).toEqual(['eviction : enough was removed, and a pod is evicted']);
  });
});

describe('nothing is removed that is in use', () => {
  const web = () => {
    const at = court();
    at.nowMs = 10;
    return {
      at,
      judged: at.admitted({ ...pod('web'), metadata: { ...pod('web').metadata, uid: 'uid-of-web' } }),
    };
  };
  const dead = (id: string, attempt: number, more: Partial<ContainerTruth> = {}) =>
    container(id, { metadata: { name: 'main', attempt }, state: 'CONTAINER_EXITED', ...more });

  test('no container that runs, unless it started after the reclaimer had listed', async () => {
    const { at } = web();
    at.sandboxes.push(
      sandbox(true, dead('c1', 0), container('c2', { metadata: { name: 'main', attempt: 1 }, startedAt: 5 })),
    );
    at.evictions.reclaims('containers');
    at.evictions.removes(call('RemoveContainer', { target: 'c1' }));
    expect(await at.reported()).toEqual([]);
    at.evictions.removes(call('RemoveContainer', { target: 'c2' }));
    expect(await at.reported()).toContain('eviction uid-of-web: main is removed, and runs');
  });

  test('no last instance of a container whose pod goes on', async () => {
    const { at, judged } = web();
    at.sandboxes.push(sandbox(false, dead('c1', 0), dead('c2', 1)));
    at.evictions.reclaims('containers');
    at.evictions.removes(call('RemoveContainer', { target: 'c1' }));
    expect(await at.reported()).toEqual([]);
    at.evictions.removes(call('RemoveContainer', { target: 'c2' }));
    const what = 'eviction uid-of-web: what main came to is removed in Syncing.Working';
    expect(await at.reported()).toEqual([what]);
    judged.send(killed(1), DRAINED, STOPPED);
    at.evictions.removes(call('RemoveContainer', { target: 'c2' }));
    expect(await at.reported()).toEqual([what]);
  });

  test('no sandbox that is ready', async () => {
    const { at } = web();
    at.sandboxes.push(sandbox(true));
    at.evictions.reclaims('containers');
    at.evictions.removes(call('RemovePodSandbox', { target: 's1' }));
    expect(await at.reported()).toEqual(['eviction uid-of-web: sandbox s1 is removed, and is in use']);
  });

  test('no image that a container used when the reclaimer listed', async () => {
    const { at } = web();
    at.sandboxes.push(sandbox(false, dead('c1', 0), dead('c2', 1, { image: 'new', createdAt: 10 })));
    at.evictions.reclaims('images');
    for (const target of ['old', 'new', 'app'])
      at.evictions.removes(call('RemoveImage', { uid: `image:${target}`, target }));
    expect(await at.reported()).toEqual(['eviction uid-of-web: image app of c1 is removed']);
  });
});
