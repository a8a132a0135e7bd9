import { describe, expect, test } from '@jest/globals';
import { claimedVolume, recordedVolume } from '../../../../src/agent/policies/volumes/claimed-volume.ts';
import {
  csiAccessMode,
  type CsiCapability,
  csiOfferProblem,
  type CsiSource,
  givesFilesToGroup,
  isAttachRequired,
  lifecycleProblem,
} from '../../../../src/agent/policies/volumes/csi-source.ts';
import type { CSIDriver, PersistentVolume, Pod } from '../../../../src/types/kubernetes.ts';

const source = (fields: Partial<CsiSource> = {}): CsiSource => ({
  kind: 'csi',
  driver: 'disk.csi.test',
  handle: 'vol-1',
  attributes: {},
  fsType: '',
  isReadOnly: false,
  mountOptions: [],
  accessModes: ['ReadWriteOnce'],
  isEphemeral: false,
  ...fields,
});
const can = (...capabilities: CsiCapability[]) => new Set(capabilities);
const driver = (spec: Partial<CSIDriver['spec']>): CSIDriver => ({ spec });

test('what a PersistentVolume of csi says reaches its driver, also after a restart of the agent', () => {
  const persistentVolume: PersistentVolume = {
    metadata: { name: 'pv-1' },
    spec: {
      accessModes: ['ReadWriteMany'],
      mountOptions: ['noatime'],
      csi: {
        driver: 'disk.csi.test',
        volumeHandle: 'vol-1',
        fsType: 'xfs',
        volumeAttributes: { tier: 'fast' },
        nodeStageSecretRef: { namespace: 'storage', name: 'key' },
      },
    },
  };
  const volume = { name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: true } };
  const pod = { metadata: { name: 'web' }, spec: { containers: [], volumes: [volume] } } as unknown as Pod;
  const found = claimedVolume(pod, volume, persistentVolume, {});
  expect(found).toMatchObject({
    name: 'pv-1',
    readOnly: true,
    source: source({
      fsType: 'xfs',
      attributes: { tier: 'fast' },
      accessModes: ['ReadWriteMany'],
      mountOptions: ['noatime'],
      stageSecret: { namespace: 'storage', name: 'key' },
      isReadOnly: true,
    }),
  });
  expect(recordedVolume(JSON.stringify(found))).toEqual(found);
});

test.each([
  [['ReadWriteOnce'], [], 'SINGLE_NODE_WRITER'],
  [['ReadWriteOncePod'], [], 'SINGLE_NODE_WRITER'],
  [['ReadWriteOnce'], ['SINGLE_NODE_MULTI_WRITER'], 'SINGLE_NODE_MULTI_WRITER'],
  [['ReadWriteOncePod'], ['SINGLE_NODE_MULTI_WRITER'], 'SINGLE_NODE_SINGLE_WRITER'],
  [['ReadOnlyMany'], [], 'MULTI_NODE_READER_ONLY'],
  [['ReadWriteMany', 'ReadWriteOnce'], [], 'MULTI_NODE_MULTI_WRITER'],
  [[], [], 'SINGLE_NODE_WRITER'],
] as const)('access modes %j with %j are %s', (accessModes, capabilities, mode) => {
  expect(csiAccessMode({ accessModes }, can(...capabilities))).toBe(mode);
});

describe('the agent gives files to the group of the pod', () => {
  test.each([
    ['with a file system and one writer', source({ fsType: 'ext4' }), can(), undefined, true],
    ['not without a file system', source(), can(), undefined, false],
    [
      'not for many writers',
      source({ fsType: 'ext4', accessModes: ['ReadWriteMany'] }),
      can(),
      undefined,
      false,
    ],
    ['always with the policy File', source(), can(), 'File', true],
    ['never with the policy None', source({ fsType: 'ext4' }), can(), 'None', false],
    ['not where the driver does it', source({ fsType: 'ext4' }), can('VOLUME_MOUNT_GROUP'), 'File', false],
    ['not where it is only read', source({ fsType: 'ext4', isReadOnly: true }), can(), 'File', false],
  ] as const)('%s', (_, volume, capabilities, policy, gives) => {
    expect(givesFilesToGroup(volume, capabilities, policy)).toBe(gives);
  });
});

test('without a CSIDriver object a volume is attached first, and a pod has none of its own', () => {
  expect(isAttachRequired(source(), undefined)).toBe(true);
  expect(isAttachRequired(source(), driver({ attachRequired: false }))).toBe(false);
  expect(isAttachRequired(source({ isEphemeral: true }), undefined)).toBe(false);
  expect(lifecycleProblem(source(), undefined)).toBeUndefined();
  expect(lifecycleProblem(source({ isEphemeral: true }), driver({}))).toBe(
    'volume mode "Ephemeral" not supported by driver disk.csi.test (only supports ["Persistent"])',
  );
  expect(lifecycleProblem(source(), driver({ volumeLifecycleModes: ['Ephemeral'] }))).toContain(
    '"Persistent" not',
  );
});

describe('a driver that registers', () => {
  test.each([
    ['with a version 1', 'disk.csi.test', ['0.3.0', '1.2.0'], undefined, undefined],
    ['in the place of an older one', 'disk.csi.test', ['1.10.0'], '1.9.0', undefined],
    [
      'beside one of the same version',
      'disk.csi.test',
      ['1.0.0'],
      '1.0.0',
      'higher supported version: "1.0.0"',
    ],
    ['without a version 1', 'disk.csi.test', ['2.0.0'], undefined, 'it offers 2.0.0'],
    ['without a version', 'disk.csi.test', [], undefined, 'it offers none'],
    ['with the name of a folder', '../etc', ['1.0.0'], undefined, 'up to 63 letters'],
  ] as const)('%s', (_, name, versions, known, problem) => {
    const found = csiOfferProblem(name, versions, known);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});
