import { expect, test } from '@jest/globals';
import { OwnCalls, PodIndex } from '../../../../../src/agent/runtime/cri/calls/call-context.ts';
import type { Container, PodSandbox, PodSandboxMetadata } from '../../../../../src/types/cri.ts';

const later = () => Promise.withResolvers<string>();

test('nextCreated resolves with each creating call that returns, also one that fails', async () => {
  const calls = new OwnCalls();
  expect(calls.nextCreated()).toBeUndefined();
  const [first, second] = [later(), later()];
  const created = calls.creating(first.promise);
  const refused = calls.creating(second.promise).catch((error: unknown) => error);
  const next = calls.nextCreated();
  first.resolve('id');
  await next;
  expect(await created).toBe('id');
  const last = calls.nextCreated();
  second.reject(new Error('no'));
  await last;
  expect(await refused).toMatchObject({ message: 'no' });
  expect(calls.nextCreated()).toBeUndefined();
});

test('whenEnded resolves with the last of several ending calls for an id', async () => {
  const calls = new OwnCalls();
  const [stop, remove] = [later(), later()];
  const both = [calls.ending('a', stop.promise), calls.ending('a', remove.promise)];
  let ended = false;
  const end = calls.whenEnded('a')?.then(() => (ended = true));
  stop.resolve('');
  await both[0];
  expect(ended).toBe(false);
  remove.resolve('');
  await both[1];
  await end;
  expect(ended).toBe(true);
  expect(calls.whenEnded('a')).toBeUndefined();
});

test('whenEnded knows nothing of other ids', () => {
  const calls = new OwnCalls();
  void calls.ending('a', later().promise);
  expect([calls.whenEnded('b'), calls.whenEnded(undefined)]).toEqual([undefined, undefined]);
});

const pod: PodSandboxMetadata = { name: 'web', namespace: 'default', uid: 'u', attempt: 0 };

const sandbox = (id: string) => ({ id, metadata: pod }) as PodSandbox;

const container = (id: string, podSandboxId: string) => ({ id, podSandboxId }) as Container;

test('a container belongs to the pod of its sandbox', () => {
  const index = new PodIndex();
  index.addSandbox('s', pod);
  index.addContainer('c', 's');
  expect([index.podOf('s'), index.podOf('c'), index.podOf('other')]).toEqual([pod, pod, undefined]);
  expect([index.sandboxOf('c'), index.sandboxOf('s')]).toEqual(['s', undefined]);
  expect(index.ids()).toEqual(['s', 'c']);
});

test('entries that a complete list lacks are dropped', () => {
  const index = new PodIndex();
  index.addSandbox('gone', pod);
  index.addContainer('gone-container', 'gone');
  index.endSandboxes(index.beginList(), [sandbox('s')], true);
  index.endContainers(index.beginList(), [container('c', 's')], true);
  expect(index.ids()).toEqual(['s', 'c']);
});

test('a filtered list drops nothing', () => {
  const index = new PodIndex();
  index.addSandbox('other', pod);
  index.endSandboxes(index.beginList(), [sandbox('s')], false);
  expect(index.ids()).toEqual(['other', 's']);
});

test('an entry that was added while a list was under way stays', () => {
  const index = new PodIndex();
  const begun = index.beginList();
  index.addSandbox('new', pod);
  index.endSandboxes(begun, [], true);
  expect(index.ids()).toEqual(['new']);
});

test('a sandbox or container that was removed is dropped', () => {
  const index = new PodIndex();
  index.addSandbox('s', pod);
  index.addContainer('c', 's');
  index.drop('c');
  expect(index.ids()).toEqual(['s']);
});
