import { expect, test } from '@jest/globals';
import type { CsiSource } from '../../../../src/agent/policies/volumes/csi-source.ts';
import { mountLabel, withLabel } from '../../../../src/agent/policies/volumes/selinux-label.ts';
import type { Container, CSIDriver, Pod } from '../../../../src/types/kubernetes.ts';
import { CLAIMED, claimingPod } from './claims/claims.ts';

type Security = NonNullable<Container['securityContext']>;

const FILES = 'system_u:object_r:container_file_t:s0';
const LEVEL = { seLinuxOptions: { level: 's0:c7,c9' } };
const SOURCE: CsiSource = {
  kind: 'csi',
  driver: 'disk.csi.test',
  handle: 'vol-1',
  attributes: {},
  fsType: '',
  isReadOnly: false,
  mountOptions: ['noatime'],
  accessModes: ['ReadWriteOncePod'],
  isEphemeral: false,
};
const OBJECT: CSIDriver = { spec: { seLinuxMount: true } };
const uses = (securityContext?: Security): Container => ({
  name: 'main',
  volumeMounts: [{ name: CLAIMED.name, mountPath: '/data' }],
  ...(securityContext && { securityContext }),
});
const pod = (spec: Partial<Pod['spec']>) => claimingPod(CLAIMED, spec);
const label = (of: Pod, more: Partial<Parameters<typeof mountLabel>[0]> = {}) =>
  mountLabel({ pod: of, volume: CLAIMED.name, source: SOURCE, object: OBJECT, filesLabel: FILES, ...more });

test('a volume of one pod is mounted with the label of the pod, for a driver that can do that', () => {
  const own = pod({ securityContext: LEVEL });
  expect(label(own)).toBe('system_u:object_r:container_file_t:s0:c7,c9');
  expect(label(own, { filesLabel: undefined })).toBeUndefined();
  expect(label(own, { object: { spec: {} } })).toBeUndefined();
  expect(label(own, { object: undefined })).toBeUndefined();
});

test.each<[string, Partial<CsiSource>]>([
  ['that several pods may use', { accessModes: ['ReadWriteOnce'] }],
  ['with another access mode beside', { accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] }],
  ['of the spec of a pod', { isEphemeral: true }],
  ['that is a block device', { blockName: 'pv-1' }],
])('a volume %s is mounted without a label', (_what, fields) => {
  expect(label(pod({ securityContext: LEVEL }), { source: { ...SOURCE, ...fields } })).toBeUndefined();
});

test('the user and the level of the pod count, its role and type are those of processes', () => {
  const seLinuxOptions = { user: 'staff_u', role: 'staff_r', type: 'spc_t', level: 's0:c1,c2' };
  expect(label(pod({ securityContext: { seLinuxOptions } }))).toBe(
    'staff_u:object_r:container_file_t:s0:c1,c2',
  );
});

test('without a level there is no label: the runtime chooses one', () => {
  expect(label(pod({ securityContext: { seLinuxOptions: { type: 'spc_t' } } }))).toBeUndefined();
  expect(label(pod({}))).toBeUndefined();
});

test('a pod may want its files labelled one by one', () => {
  const securityContext = { ...LEVEL, seLinuxChangePolicy: 'Recursive' };
  expect(label(pod({ securityContext }))).toBeUndefined();
  expect(label(pod({ securityContext: { ...LEVEL, seLinuxChangePolicy: 'MountOption' } }))).toContain(
    's0:c7,c9',
  );
});

test('the options of a container count before those of the pod, and only of containers that mount the volume', () => {
  const other = { seLinuxOptions: { level: 's0:c1,c2' } };
  const idle = { name: 'idle', securityContext: { seLinuxOptions: { level: 's0:c5' } } };
  expect(label(pod({ securityContext: LEVEL, containers: [uses(other), idle] }))).toContain('s0:c1,c2');
  expect(label(pod({ containers: [uses(), uses(other)] }))).toContain('s0:c1,c2');
  expect(() => label(pod({ securityContext: LEVEL, containers: [uses(), uses(other)] }))).toThrow(
    'multiple SELinux labels found: system_u:object_r:container_file_t:s0:c7,c9,system_u:object_r:container_file_t:s0:c1,c2',
  );
});

test('a level that would add mount options is refused', () => {
  const seLinuxOptions = { level: 's0",suid,context="x' };
  expect(() => label(pod({ securityContext: { seLinuxOptions } }))).toThrow('characters that no label has');
});

test('the label is one more mount option', () => {
  expect(withLabel(SOURCE, 'a:b:c:s0:c1,c2').mountOptions).toEqual(['noatime', 'context="a:b:c:s0:c1,c2"']);
  expect(withLabel(SOURCE, undefined)).toBe(SOURCE);
});
