import { expect, test } from '@jest/globals';
import { PodIndex } from '../../../../src/runtime/cri/events/pod-index.ts';
import type { Container, PodSandbox, PodSandboxMetadata } from '../../../../src/types/cri.ts';

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
