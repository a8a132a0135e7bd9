import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { podWith, VolumeBed } from '../bed.ts';

let bed: VolumeBed;
beforeEach(() => void (bed = new VolumeBed()));
afterEach(() => bed.remove());

const images = new Map([['v0', 'sha256:1']]);

describe('an image volume', () => {
  test('is mounted read-only by the runtime, which gets its own reference of the image', async () => {
    const pod = podWith([{ image: { reference: 'app:1' } }]);
    const annotations = { note: 'kept' };
    await bed.mount(pod);
    const noted = { ...pod, metadata: { ...pod.metadata, annotations } };
    expect(await bed.volumeMounts(noted, { images })).toEqual([
      {
        containerPath: '/data0',
        hostPath: '',
        readonly: true,
        recursiveReadOnly: false,
        selinuxRelabel: false,
        propagation: 'PROPAGATION_PRIVATE',
        image: { image: 'sha256:1', userSpecifiedImage: 'app:1', annotations },
      },
    ]);
    expect(existsSync(join(bed.podDir(), 'volumes'))).toBe(false);
  });

  test.each([
    [
      { readOnly: true, recursiveReadOnly: 'Enabled' },
      { readonly: true, recursiveReadOnly: true },
    ],
    [
      { readOnly: true, recursiveReadOnly: 'IfPossible' },
      { readonly: true, recursiveReadOnly: true },
    ],
    [
      { mountPropagation: 'HostToContainer' },
      { readonly: true, propagation: 'PROPAGATION_HOST_TO_CONTAINER' },
    ],
  ])('is mounted with the options of the volume mount: %j', async (mount, wanted) => {
    const pod = podWith([{ image: { reference: 'app:1' } }], {}, mount);
    await bed.mount(pod);
    const request = { images, supportsRecursiveReadOnly: true };
    expect(await bed.volumeMounts(pod, request)).toMatchObject([wanted]);
  });

  test.each([
    [{ subPath: 'usr/./share' }, 'usr/share'],
    [{ subPathExpr: '$(WHICH)/etc' }, 'a/etc'],
  ])('may be a part of the image: %j', async (mount, imageSubPath) => {
    const pod = podWith([{ image: { reference: 'app:1' } }], {}, mount);
    const env = new Map([['WHICH', 'a']]);
    await bed.mount(pod);
    expect(await bed.volumeMounts(pod, { images, env })).toMatchObject([{ hostPath: '', imageSubPath }]);
  });
});
