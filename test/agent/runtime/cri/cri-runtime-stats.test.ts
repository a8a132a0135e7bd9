import { afterEach, beforeEach, expect, test } from '@jest/globals';
import * as methods from '../../../../src/agent/runtime/cri/messages/methods.ts';
import { answer, FakeRuntime } from './fake-runtime.ts';

const NOW = 1_900_000_000_000_000_000;
const usage = (mountpoint: string) => ({ timestamp: NOW, mountpoint, usedBytes: 5_000, inodesUsed: 7 });
const attributes = { id: 'c', metadata: { name: 'main', attempt: 1 }, labels: {} };

let fake: FakeRuntime;
beforeEach(() => {
  fake = new FakeRuntime();
});
afterEach(() => fake.cleanup());

test('images and writable layers may be on two file systems', async () => {
  const imageFilesystems = [usage('/images')];
  const containerFilesystems = [usage('/layers')];
  await fake.serve(answer(methods.IMAGE_FS_INFO, () => ({ imageFilesystems, containerFilesystems })));
  const client = fake.client();
  expect(await client.imageFsInfo()).toEqual(imageFilesystems);
  expect(await client.containerFsInfo?.()).toEqual(containerFilesystems);
});

test('two requests at the same time share one call, a later request leads to another', async () => {
  let asked = 0;
  const serve = answer(methods.IMAGE_FS_INFO, () => {
    asked += 1;
    return { imageFilesystems: [], containerFilesystems: [] };
  });
  await fake.serve(serve);
  const client = fake.client();
  const { signal } = new AbortController();
  const both = () => Promise.all([client.imageFsInfo({ signal }), client.containerFsInfo?.({ signal })]);
  await both();
  expect(asked).toBe(1);
  await both();
  expect(asked).toBe(2);
  // A caller that aborts does not cancel the call of others.
  await Promise.all([client.imageFsInfo(), client.containerFsInfo?.({ signal })]);
  expect(asked).toBe(4);
});

test('a container has the size of its writable layer, if the runtime reports it', async () => {
  const writableLayer = usage('/layers');
  const stats = [{ attributes, writableLayer }, { attributes }];
  await fake.serve(answer(methods.LIST_CONTAINER_STATS, () => ({ stats })));
  const [told, untold] = await fake.client().listContainerStats();
  expect(told).toEqual({ attributes, writableLayer });
  expect(untold?.writableLayer).toBeUndefined();
});
