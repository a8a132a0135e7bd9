/** How long a sync waits for the volumes of its pod, and what it does not do a second time. */
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { VolumeFile } from '../../../../src/agent/policies/volumes/projected-files.ts';
import type { VolumeContents } from '../../../../src/agent/runtime/volumes/kinds/volume-contents.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeAsRoot, podWith, VolumeBed } from './bed.ts';

const CONFIG_MAP = { configMap: { name: 'settings' } };
const FILES: readonly VolumeFile[] = [{ path: 'key', content: 'a', mode: 0o644 }];
const FAILED = 'MountVolume.SetUp failed for volume';

let files: () => ReturnType<VolumeContents['files']>;
let bed: VolumeBed;
beforeEach(() => {
  files = () => FILES;
  bed = new VolumeBed({ contents: new Map([['configMap', { files: () => files() }]]) });
});
afterEach(() => bed.remove());

const folder = (name = 'v0') => join(bed.podDir(), 'volumes/kubernetes.io~configmap', name);
const read = () => readFileSync(join(folder(), 'key'), 'utf8');
/** The next reads of the files wait for `answer`; the first of them resolves `asked`. */
function hang() {
  const answer = Promise.withResolvers<readonly VolumeFile[]>();
  const asked = Promise.withResolvers<undefined>();
  files = () => {
    asked.resolve(undefined);
    return answer.promise;
  };
  return { answer, asked: asked.promise };
}

describe('volumes that cannot be set up', () => {
  test('have an event each, at once, and a pod does not go on without any of them', async () => {
    files = () => undefined;
    const absent = { hostPath: { path: join(bed.dir, 'absent'), type: 'Directory' } };
    await expect(bed.mount(podWith([CONFIG_MAP, { emptyDir: {} }, absent]))).rejects.toThrow(
      `configmap "settings" not found; ${FAILED} "v2" : hostPath type check failed`,
    );
    expect(bed.events).toEqual([
      `FailedMount: ${FAILED} "v0" : configmap "settings" not found`,
      `FailedMount: ${FAILED} "v2" : hostPath type check failed: ${bed.dir}/absent is not a directory`,
    ]);
  });

  test('of a kind that is not known are reported in the same way', async () => {
    await expect(bed.mount(podWith([{ fc: {} }]))).rejects.toMatchObject({ kind: 'Unimplemented' });
    expect(bed.events).toEqual([
      expect.stringContaining(`FailedMount: ${FAILED} "v0" : a volume of fc is not supported`),
    ]);
  });
});

describe('a volume that hangs', () => {
  test('is waited for until two minutes have passed, without an event; the next sync waits for it too', async () => {
    const { answer, asked } = hang();
    const pod = podWith([CONFIG_MAP, { emptyDir: {} }]);
    const emptyDir = join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v1');
    const sync = bed.mount(pod).catch((error: unknown) => error);
    // The other volume has been made: only the one that hangs is missing.
    await asked;
    await waitFor(() => existsSync(emptyDir), { what: 'the other volume' });
    await bed.clock.advance(122_999);
    expect(bed.clock.armed).toBe(1);
    await bed.clock.advance(1);
    const message =
      'Unable to attach or mount volumes: unmounted volumes=[v0], unattached volumes=[], failed to process volumes=[]: context deadline exceeded';
    expect(await sync).toMatchObject({ kind: 'DeadlineExceeded', message });
    expect([bed.events, bed.warnings]).toEqual([[], [message]]);

    let calls = 0;
    files = () => {
      calls++;
      return FILES;
    };
    const next = bed.mount(pod);
    expect(calls).toBe(0);
    answer.resolve([{ path: 'key', content: 'late', mode: 0o644 }]);
    await next;
    expect([calls, read(), bed.clock.armed]).toEqual([1, 'a', 0]);
    expect(bed.events).toEqual([]);
  });

  test('does not hold up the end of its pod; the volumes are removed once nothing is done for them', async () => {
    const { answer, asked } = hang();
    const end = new AbortController();
    const sync = bed.mount(podWith([CONFIG_MAP]), end.signal);
    await asked;
    end.abort();
    await expect(sync).rejects.toMatchObject({ name: 'AbortError' });
    const release = bed.manager.releaseVolumes('u-1');
    answer.resolve(FILES);
    await release;
    expect(existsSync(join(bed.podDir(), 'volumes'))).toBe(false);
    expect(bed.clock.armed).toBe(0);
  });

  test('and does not end is logged after two minutes when its pod is to be removed, and tried again', async () => {
    const { answer, asked } = hang();
    const end = new AbortController();
    const sync = bed.mount(podWith([CONFIG_MAP]), end.signal).catch(() => undefined);
    await asked;
    end.abort();
    await sync;
    const release = expect(bed.manager.unmountPod('u-1')).rejects.toThrow(
      'a volume is still being set up, it is tried again',
    );
    await bed.clock.advance(123_000);
    await release;
    answer.resolve(FILES);
    await bed.manager.unmountPod('u-1');
    expect(existsSync(bed.podDir())).toBe(false);
  });

  test('holds up a sync only if it has never been set up', async () => {
    const pod = podWith([CONFIG_MAP]);
    await bed.mount(pod);
    const { asked } = hang();
    const sync = bed.mount(pod);
    await asked;
    await bed.clock.advance(123_000);
    await sync;
    expect([read(), bed.events]).toEqual(['a', []]);
  });

  test('does not hold up other pods', async () => {
    hang();
    const end = new AbortController();
    const hanging = bed.mount(podWith([CONFIG_MAP]), end.signal).catch(() => undefined);
    const other = podWith([{ emptyDir: {} }]);
    await bed.mount({ ...other, metadata: { ...other.metadata, uid: 'u-2' } });
    end.abort();
    await hanging;
  });
});

describeAsRoot('a volume that has been set up', () => {
  const DOWNWARD = {
    downwardAPI: { items: [{ path: 'key', fieldRef: { fieldPath: 'metadata.labels' } }] },
  };

  test('of an emptyDir or hostPath is not set up again, as with the kubelet', async () => {
    const path = join(bed.dir, 'on-the-node');
    mkdirSync(path);
    const pod = podWith([{ emptyDir: {} }, { hostPath: { path, type: 'Directory' } }]);
    await bed.mount(pod);
    rmSync(path, { recursive: true });
    await bed.mount(pod);
    expect(bed.events).toEqual([]);
    bed.newManager();
    await expect(bed.mount(pod)).rejects.toThrow('hostPath type check failed');
  });

  test('is set up again where its spec has changed', async () => {
    await bed.mount(podWith([{ emptyDir: {} }]));
    const path = join(bed.dir, 'absent');
    await expect(bed.mount(podWith([{ hostPath: { path, type: 'File' } }]))).rejects.toThrow(
      `hostPath type check failed: ${path} is not a file`,
    );
  });

  test('with files that have not changed is not written, nor are the files read', async () => {
    await bed.mount(podWith([CONFIG_MAP]));
    const version = readlinkSync(join(folder(), '..data'));
    rmSync(join(folder(), version, 'key'));
    await bed.mount(podWith([CONFIG_MAP]));
    expect(readdirSync(join(folder(), version))).toEqual([]);
    // A new agent does not know what the last one has written.
    bed.newManager();
    await bed.mount(podWith([CONFIG_MAP]));
    expect(read()).toBe('a');
  });

  test('is written again where it has gone from the disk or from memory', async () => {
    await bed.mount(podWith([CONFIG_MAP, DOWNWARD]));
    const inMemory = join(bed.podDir(), 'volumes/kubernetes.io~downward-api/v1');
    rmSync(folder(), { recursive: true });
    expect(bed.mounts()).toEqual([inMemory]);
    bed.unmount(inMemory);
    await bed.mount(podWith([CONFIG_MAP, DOWNWARD]));
    expect(read()).toBe('a');
    expect(readFileSync(join(inMemory, 'key'), 'utf8')).toBe('app="web"');
    expect(bed.mounts()).toEqual([inMemory]);
  });

  test('keeps its files when they cannot be brought up to date, whatever the reason; an event says why', async () => {
    await bed.mount(podWith([CONFIG_MAP]));
    files = () => [{ path: 'x'.repeat(256), content: '', mode: 0o644 }];
    await bed.mount(podWith([CONFIG_MAP]));
    files = () => [
      { path: 'a', content: '', mode: 0o644 },
      { path: 'a/b', content: '', mode: 0o644 },
    ];
    await bed.mount(podWith([CONFIG_MAP]));
    expect([read(), readdirSync(folder()).length]).toEqual(['a', 3]);
    expect(bed.events).toEqual([
      `FailedMount: ${FAILED} "v0" : invalid path: filenames must be less than or equal to 255 characters`,
      expect.stringMatching(/^FailedMount: .* : (EISDIR|ENOTDIR|EEXIST)/),
    ]);
    files = () => FILES;
    await bed.mount(podWith([CONFIG_MAP]));
    expect(bed.events).toHaveLength(2);
  });
});
