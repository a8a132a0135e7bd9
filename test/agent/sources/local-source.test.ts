import { BehaviorSubject, Subject } from 'rxjs';
import { expect, test } from '@jest/globals';
import { type LocalPart, localSource } from '../../../src/agent/sources/local-source.ts';
import type { SourceUpdate } from '../../../src/agent/sources/source.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const pod = (name: string, uid = name): Pod => ({
  metadata: { name, namespace: 'default', uid },
  spec: { containers: [{ name: 'main' }] },
});
const seen = (...pods: Pod[]): SourceUpdate => ({ pods, problems: [] });

function follow(...parts: LocalPart['updates'][]) {
  const updates: SourceUpdate[] = [];
  const placed = parts.map((part, index) => ({ place: `/pods-${index}`, updates: part }));
  localSource(placed).subscribe((update) => updates.push(update));
  return () => updates.at(-1);
}

test('pods of one part are there before another part has been read; then the whole is seen', () => {
  const [quick, slow] = [new BehaviorSubject(seen(pod('a'))), new Subject<SourceUpdate>()];
  const last = follow(quick, slow);
  expect(last()).toEqual({ pods: [pod('a')], restored: true, problems: [] });
  slow.next(seen(pod('b')));
  expect(last()).toEqual(seen(pod('a'), pod('b')));
  slow.next(seen());
  expect(last()).toEqual(seen(pod('a')));
});

test('as long as a part is unread and the others are empty, there is no list: nothing is removed', () => {
  const last = follow(new BehaviorSubject(seen()), new Subject<SourceUpdate>());
  expect(last()).toEqual({ problems: [] });
});

test('problems of all parts are reported, also of one that has not been read', () => {
  const problem = { source: 'local', file: 'http://a/', message: 'cannot be fetched' } as const;
  const last = follow(new BehaviorSubject(seen(pod('a'))), new BehaviorSubject({ problems: [problem] }));
  expect(last()).toEqual({ pods: [pod('a')], restored: true, problems: [problem] });
});

test('of two pods with one full name, the one that was there first stays, whatever the order of the parts', () => {
  const first = new BehaviorSubject(seen());
  const second = new BehaviorSubject(seen(pod('web', 'uid-2')));
  const last = follow(first, second);
  first.next(seen(pod('web', 'uid-1')));
  expect(last()?.pods).toEqual([pod('web', 'uid-2')]);
  expect(last()?.problems).toEqual([
    {
      source: 'local',
      file: '/pods-0',
      field: 'metadata.name',
      message: '"web" in namespace "default" is that of a pod in /pods-1: this pod is left out',
      leavesOut: true,
    },
  ]);
  second.next(seen());
  expect(last()).toEqual(seen(pod('web', 'uid-1')));
});

test('pods of one part that have one name are passed on: that part reports them', () => {
  const twice = seen(pod('web', 'uid-1'), pod('web', 'uid-2'));
  const last = follow(new BehaviorSubject(twice), new BehaviorSubject(seen()));
  expect(last()).toEqual(twice);
});
