import { expect, test } from '@jest/globals';

import {
  downwardAPIContents,
  filesOf,
  sourceFiles,
  type VolumeContents,
} from '../../../../../src/agent/runtime/volumes/kinds/volume-contents.ts';
import type { VolumeProjection } from '../../../../../src/agent/policies/volumes/volume-source.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';

const POD: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u-1' }, spec: { containers: [] } };
const NEVER = new AbortController().signal;
const request = { pod: POD, defaultMode: 0o644, allocatable: {} };
const files = (source: VolumeProjection, configMap?: VolumeContents['files']) => {
  const contents = new Map<'downwardAPI' | 'configMap', VolumeContents>([
    ['downwardAPI', downwardAPIContents],
  ]);
  if (configMap) contents.set('configMap', { files: configMap });
  return filesOf(source, contents, request, NEVER);
};

test('a downwardAPI source has the fields of the pod as files', async () => {
  const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
  expect(await files({ downwardAPI: { items } })).toEqual([
    expect.objectContaining({ path: 'name', content: 'web' }),
  ]);
});

test('a kind that needs an API server fails with advice; an optional source of that kind is empty', async () => {
  await expect(files({ configMap: { name: 'conf' } })).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message: expect.stringContaining('mark it optional or use a hostPath volume'),
  });
  expect(await files({ configMap: { name: 'conf', optional: true } })).toEqual([]);
});

test('an object that does not exist fails, and an optional one is empty', async () => {
  const missing = () => undefined;
  await expect(files({ configMap: { name: 'conf' } }, missing)).rejects.toMatchObject({
    kind: 'NotFound',
    message: 'configmap "conf" not found',
  });
  expect(await files({ configMap: { name: 'conf', optional: true } }, missing)).toEqual([]);
});

test('a source without a kind is refused', async () => {
  await expect(files({})).rejects.toMatchObject({ kind: 'InvalidArgument' });
});

test('of many sources that name one large Secret no more are decoded than a volume may have', async () => {
  let decoded = 0;
  const large: VolumeContents = {
    files: async (_source, _request, signal) => {
      await Promise.resolve();
      signal.throwIfAborted();
      decoded += 1;
      return [{ path: `f${decoded}`, content: new Uint8Array(1024 * 1024), mode: 0o644 }];
    },
  };
  const sources = Array.from({ length: 1_000 }, () => ({ secret: { name: 'large' } }));
  const deps = { allocatable: {}, contents: new Map([['secret', large] as const]) };
  const files = sourceFiles(
    deps,
    POD,
    { name: 'all', projected: { defaultMode: 0o644, sources } },
    new AbortController().signal,
  );
  await expect(files).rejects.toThrow('volume "all" has more than 32 MiB of files');
  expect(decoded).toBeLessThanOrEqual(40);
});
