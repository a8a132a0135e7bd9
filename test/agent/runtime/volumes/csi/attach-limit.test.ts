/** A pod whose volume cannot be attached since the node has as many as it can have. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CsiVolumes } from '../../../../../src/agent/actors/volumes/csi-volumes.ts';
import { ClaimedVolumes } from '../../../../../src/agent/runtime/volumes/claimed-volumes.ts';
import { CsiNode } from '../../../../../src/agent/runtime/volumes/csi/csi-node.ts';
import { attachmentName } from '../../../../../src/agent/runtime/volumes/csi/csi-names.ts';
import { VolumeManager } from '../../../../../src/agent/runtime/volumes/volume-manager.ts';
import { NEVER_ABORTED } from '../../../../../src/system/promises.ts';
import { VirtualClock } from '../../../../../src/simulation/node/virtual-clock.ts';
import type { AgentContext } from '../../../../../src/types/agent-context.ts';
import type { CSIDriver, VolumeAttachment } from '../../../../../src/types/kubernetes.ts';
import { testContext } from '../../../../support/test-context.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { CLAIMED, claim, claimingPod, persistentVolume } from '../../../policies/volumes/claims/claims.ts';

const DRIVER = 'disk.csi.test';
const POD = claimingPod(CLAIMED);
const { uid } = POD.metadata;
const FULL = { attached: false, attachError: { message: 'no slot is free', errorCode: 8 } };
const LISTS = 'unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]';

let rootDir: string;
let object: CSIDriver;
let status: VolumeAttachment['status'];
let asked: string[];
let context: AgentContext & { readonly clock: VirtualClock };
let manager: VolumeManager;
let csi: CsiNode;
let volumes: CsiVolumes;

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-csi-'));
  object = { spec: { nodeAllocatableUpdatePeriodSeconds: 60 } };
  [status, asked] = [FULL, []];
  context = testContext({ clock: new VirtualClock() });
  const source = { driver: DRIVER, volumeHandle: 'disk-1' };
  const objects = {
    token: () => Promise.resolve(''),
    persistentVolumeClaim: () => Promise.resolve(claim()),
    persistentVolume: () => Promise.resolve(persistentVolume({ csi: source })),
  };
  const name = attachmentName({ driver: DRIVER, handle: 'disk-1' }, 'node-1');
  const storage = {
    csiDriver: () => Promise.resolve(object),
    volumeAttachment: (wanted: string) =>
      Promise.resolve(wanted === name ? ({ status } as VolumeAttachment) : undefined),
    volumeSecret: () => Promise.resolve(undefined),
    patchClaimStatus: () => Promise.reject(new Error('nothing grows')),
  };
  csi = new CsiNode(context, { rootDir, nodeName: 'node-1', objects, storage });
  csi.onLimit = (driver) => Promise.resolve(void asked.push(driver));
  const report = { isInUse: true, isAttached: false };
  volumes = new CsiVolumes(context, {
    csi,
    attachReports: { seen: () => report, asked: () => Promise.resolve(report) },
    onChange: () => undefined,
  });
  const claims = new ClaimedVolumes({ objects, nodeLabels: () => ({}) });
  manager = new VolumeManager(context, { rootDir, allocatable: {}, clusterDomain: '', csi, claims });
});
afterEach(() => {
  volumes.stop();
  rmSync(rootDir, { recursive: true });
});

/** The outcomes of syncs, one each half minute. */
async function syncs(count: number): Promise<readonly unknown[]> {
  const outcomes: unknown[] = [];
  for (let sync = 0; sync < count; sync++) {
    outcomes.push(await manager.mountPod(POD, NEVER_ABORTED).catch((error: unknown) => error));
    await context.clock.advance(30_000);
  }
  return outcomes;
}

test('is rejected when the kubelet would have waited long enough, and the driver is asked for its limit', async () => {
  const outcomes = await syncs(6);
  const early = outcomes.slice(0, 5).map((error) => String(error));
  expect(early.every((text) => text.includes('no slot is free'))).toBe(true);
  expect(outcomes[5]).toMatchObject({
    rejection: {
      reason: 'VolumeAttachmentLimitExceeded',
      message: `Node has reached its volume attachment limit, rejecting pod. ${LISTS}: context deadline exceeded`,
    },
  });
  expect(asked).toEqual([DRIVER]);
});

test.each<[string, () => void]>([
  ['its driver does not tell how many volumes the node can have', () => (object = { spec: {} })],
  [
    'the attachment failed for another reason',
    () => (status = { attached: false, attachError: { errorCode: 13 } }),
  ],
])('is not rejected where %s', async (_what, change) => {
  change();
  const outcomes = await syncs(8);
  expect(
    outcomes.some((outcome) => (outcome as object) instanceof Object && 'rejection' in (outcome as object)),
  ).toBe(false);
  expect(asked).toEqual([]);
});

test('is not rejected for a volume that waits in vain without a known reason', async () => {
  status = { attached: false };
  const outcome = manager.mountPod(POD, NEVER_ABORTED).catch((error: unknown) => error);
  await waitFor(() => csi.waitOf(uid) !== undefined, { what: 'the volume to be waited for' });
  await context.clock.advance(123_000);
  expect(await outcome).toMatchObject({ kind: 'DeadlineExceeded' });
});

test('has its time anew once its volumes were released', async () => {
  await syncs(4);
  await manager.releaseVolumes(uid);
  const outcomes = await syncs(5);
  expect(outcomes.map(String).every((text) => text.includes('no slot is free'))).toBe(true);
});
