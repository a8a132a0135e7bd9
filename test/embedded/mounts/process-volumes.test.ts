import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openProcessVolumes, ProcessVolumes } from '../../../src/embedded/mounts/process-volumes.ts';
import { VolumeManager } from '../../../src/agent/runtime/volumes/volume-manager.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { Volume } from '../../../src/agent/policies/volumes/volume-source.ts';
import { testPod } from '../../support/pods.ts';
import { testContext } from '../../support/test-context.ts';

const signal = new AbortController().signal;
let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-volumes-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const parts = () => ({ rootDir, clusterDomain: '', allocatable: {}, objects: undefined });
const NAME = { path: 'name', fieldRef: { fieldPath: 'metadata.name' } };

function podWith(volume: Omit<Volume, 'name'>, more = {}): Pod {
  const pod = testPod();
  const volumeMounts = [{ name: 'data', mountPath: '/data', ...more }];
  const spec = { containers: [{ name: 'main', volumeMounts }], volumes: [{ name: 'data', ...volume }] };
  return { ...pod, spec: { ...pod.spec, ...spec } };
}

describe('the volumes of plain processes', () => {
  test('are set up, mounted and removed', async () => {
    const volumes = await openProcessVolumes(testContext(), parts());
    const pod = podWith({ configMap: { name: 'none', optional: true, defaultMode: 0o644 } });
    await volumes.prepare(pod, signal);
    const [mount] = await volumes.mountsOf(pod, pod.spec.containers[0] ?? { name: '' }, []);
    expect(mount).toMatchObject({ containerPath: '/data', readonly: true });
    expect(existsSync(mount?.hostPath ?? '')).toBe(true);
    await volumes.release(pod.metadata.uid);
    expect(existsSync(mount?.hostPath ?? '')).toBe(false);
  });

  test('are refused where they are images, before anything is set up', async () => {
    const volumes = await openProcessVolumes(testContext(), parts());
    const pod = podWith({ image: { reference: 'tools:1' } });
    await expect(volumes.prepare(pod, signal)).rejects.toMatchObject({
      reason: 'FailedMount',
      message: expect.stringContaining(
        'volume "data" cannot be mounted: an image is not to be had',
      ) as unknown,
    });
  });
});

describe('where this process may not mount on the machine', () => {
  let memoryDir: string;
  const manager = () => new VolumeManager(testContext(), { ...parts(), withoutMounts: { memoryDir } });
  beforeEach(() => {
    memoryDir = join(rootDir, 'memory');
  });

  test('files that must not be on a disk lie in the folder in memory, and go with the pod', async () => {
    const volumes = new ProcessVolumes(manager(), true);
    const pod = podWith({ downwardAPI: { items: [NAME], defaultMode: 0o644 } });
    await volumes.prepare(pod, signal);
    const { uid } = pod.metadata;
    const file = join(memoryDir, uid, 'volumes/kubernetes.io~downward-api/data/name');
    expect(readFileSync(file, 'utf8')).toBe('web');
    const [mount] = await volumes.mountsOf(pod, pod.spec.containers[0] ?? { name: '' }, []);
    expect(mount?.hostPath).toBe(join(file, '..'));
    await volumes.release(uid);
    expect(existsSync(join(memoryDir, uid))).toBe(false);
  });

  test('a part of a volume is given by its path, and made if it is missing', async () => {
    const volumes = new ProcessVolumes(manager(), true);
    const pod = podWith({ emptyDir: {} }, { subPath: 'a/b' });
    await volumes.prepare(pod, signal);
    const [mount] = await volumes.mountsOf(pod, pod.spec.containers[0] ?? { name: '' }, []);
    expect(mount?.hostPath).toMatch(/kubernetes\.io~empty-dir\/data\/a\/b$/);
    expect(existsSync(mount?.hostPath ?? '')).toBe(true);
  });
});
