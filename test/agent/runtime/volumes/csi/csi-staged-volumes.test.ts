import { expect, test } from '@jest/globals';
import type { AttachReport } from '../../../../../src/agent/policies/volumes/csi-attachment.ts';
import { CsiDriverRegistry } from '../../../../../src/agent/runtime/volumes/csi/csi-driver-registry.ts';
import { CsiStagedVolumes } from '../../../../../src/agent/runtime/volumes/csi/csi-staged-volumes.ts';
import { machineDisk } from '../../../../../src/agent/runtime/volumes/volume-disk.ts';
import { VirtualClock } from '../../../../../src/simulation/node/virtual-clock.ts';
import { NEVER_ABORTED } from '../../../../../src/system/promises.ts';
import { testContext } from '../../../../support/test-context.ts';

const SOURCE = {
  kind: 'csi',
  driver: 'disk.csi.test',
  handle: 'vol-1',
  attributes: {},
  fsType: '',
  isReadOnly: false,
  mountOptions: [],
  accessModes: [],
  isEphemeral: false,
} as const;

const ATTACHED: AttachReport = { isInUse: true, isAttached: true };

test.each<[string, AttachReport]>([
  ['is not attached any more', { isInUse: true, isAttached: false }],
  ['is not known to be in use', { isInUse: false, isAttached: true }],
])('a volume that %s by what the API server says when it is asked is waited for', async (_what, asked) => {
  const clock = new VirtualClock();
  const storage = {
    volumeAttachment: () => Promise.resolve({ status: { attached: true, attachmentMetadata: { a: 'b' } } }),
    volumeSecret: () => Promise.resolve(undefined),
  } as never;
  const drivers = new CsiDriverRegistry();
  const parts = { rootDir: '/none', nodeName: 'node-1', storage, drivers, disk: machineDisk };
  const staged = new CsiStagedVolumes(testContext({ clock }), parts);
  let now = asked;
  const names: string[] = [];
  const reports = {
    seen: () => ATTACHED,
    asked: (name: string) => {
      names.push(name);
      return Promise.resolve(now);
    },
  };
  let found: Readonly<Record<string, string>> | undefined;
  const attached = staged.attached(SOURCE, reports, NEVER_ABORTED).then((context) => (found = context));
  await clock.advance(1_000);
  expect([found, names[0]]).toEqual([undefined, 'kubernetes.io/csi/disk.csi.test^vol-1']);
  now = ATTACHED;
  await clock.advance(10_000);
  expect(await attached).toEqual({ a: 'b' });
});
