import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CsiVolumes } from '../../../../src/agent/actors/volumes/csi-volumes.ts';
import type { CsiSource } from '../../../../src/agent/policies/volumes/csi-source.ts';
import { CsiNode } from '../../../../src/agent/runtime/volumes/csi/csi-node.ts';
import { testContext } from '../../../support/test-context.ts';

const SOURCE: CsiSource = {
  kind: 'csi',
  driver: 'disk.csi.test',
  handle: 'disk-1',
  attributes: {},
  fsType: 'ext4',
  isReadOnly: false,
  mountOptions: [],
  accessModes: ['ReadWriteOnce'],
  isEphemeral: false,
};
const NAME = 'kubernetes.io/csi/disk.csi.test^disk-1';

let rootDir: string;
let volumes: CsiVolumes;

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-csi-'));
  const missing = () => Promise.reject(new Error('nothing is there'));
  const objects = { token: missing, persistentVolumeClaim: missing, persistentVolume: missing };
  const storage = {
    csiDriver: () => Promise.resolve(undefined),
    volumeAttachment: () => Promise.resolve(undefined),
    volumeSecret: () => Promise.resolve(undefined),
    patchClaimStatus: missing,
  };
  const context = testContext();
  const report = { isInUse: true, isAttached: false };
  volumes = new CsiVolumes(context, {
    csi: new CsiNode(context, { rootDir, nodeName: 'node-1', objects, storage }),
    attachReports: { seen: () => report, asked: () => Promise.resolve(report) },
    onChange: () => undefined,
  });
});
afterEach(() => {
  volumes.stop();
  rmSync(rootDir, { recursive: true });
});

const use = (signal: AbortSignal) =>
  volumes.use({ pod: 'uid-1', source: SOURCE, isAttachable: true, group: undefined }, signal);

test('a volume is in use from when a pod wants it, and not for a pod that is told to end before that', async () => {
  const ended = new AbortController();
  const early = use(ended.signal);
  ended.abort(new Error('the pod ends'));
  await expect(early).rejects.toThrow('the pod ends');
  expect(volumes.inUse()).toEqual([]);
  const late = new AbortController();
  const wanted = use(late.signal);
  await new Promise(setImmediate);
  expect(volumes.inUse()).toEqual([NAME]);
  late.abort(new Error('the pod ends'));
  await expect(wanted).rejects.toThrow('the pod ends');
});
