import { describe, expect, test } from '@jest/globals';
import { fieldValue, fileFieldValue } from '../../../src/policies/volumes/downward-fields.ts';
import { podOf } from '../../support/pod-status-facts.ts';

const ADDRESSES = { podIPs: ['10.1.0.7', 'fd00::7'], hostIPs: ['192.168.0.2', 'fd01::2'] };
const POD = podOf(
  { nodeName: 'node-1', serviceAccountName: 'robot' },
  {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u-1',
      labels: { app: 'web' },
      annotations: { 'Example.com/note': 'x' },
    },
  },
);

test.each([
  ['metadata.name', 'web'],
  ['metadata.namespace', 'shop'],
  ['metadata.uid', 'u-1'],
  ['spec.nodeName', 'node-1'],
  ['spec.serviceAccountName', 'robot'],
  ['status.podIP', '10.1.0.7'],
  ['status.podIPs', '10.1.0.7,fd00::7'],
  ['status.hostIP', '192.168.0.2'],
  ['status.hostIPs', '192.168.0.2,fd01::2'],
  ["metadata.labels['app']", 'web'],
  ["metadata.annotations['Example.com/note']", 'x'],
  ['metadata.labels', 'app="web"'],
  ['metadata.annotations', 'Example.com/note="x"'],
  ['spec.host', 'node-1'],
])('%s is "%s"', (fieldPath, want) => {
  expect(fieldValue(POD, fieldPath, ADDRESSES)).toBe(want);
});

describe('a field that the pod does not have', () => {
  test.each([
    'spec.nodeName',
    'spec.serviceAccountName',
    'status.podIP',
    'status.hostIPs',
    "metadata.labels['app']",
    "metadata.annotations['constructor']",
  ])('%s is empty', (fieldPath) => {
    expect(fieldValue(podOf(), fieldPath, { podIPs: [], hostIPs: [] })).toBe('');
  });
});

// The kubelet converts a variable's path first, as a field label of v1 (ConvertDownwardAPIFieldLabel), and then reads the field of the pod.
test.each([
  ['spec.hostname', 'field label not supported: spec.hostname'],
  ['metadata.labels.app', 'field label not supported: metadata.labels.app'],
  ["metadata.labels['app'", "field label not supported: metadata.labels['app'"],
  ["['app']", "field label not supported: ['app']"],
  ['', 'field label not supported: '],
  ["metadata.name['x']", "field label does not support subscript: metadata.name['x']"],
  ["spec.containers['']", "field label does not support subscript: spec.containers['']"],
  ['status.phase', 'unsupported fieldPath: status.phase'],
  ['spec.restartPolicy', 'unsupported fieldPath: spec.restartPolicy'],
  ['spec.schedulerName', 'unsupported fieldPath: spec.schedulerName'],
])('a variable cannot have "%s", in the words of the kubelet', (fieldPath, problem) => {
  expect(() => fieldValue(POD, fieldPath, ADDRESSES)).toThrow(`${problem} (there are: metadata.name, `);
});

test.each(["metadata.labels['Example.com/app']", "metadata.labels['']", "metadata.annotations['it's']"])(
  '%s has no valid key',
  (fieldPath) => {
    expect(() => fieldValue(POD, fieldPath, ADDRESSES)).toThrow(`invalid key subscript in ${fieldPath}: `);
  },
);

test('a file may hold only fields of metadata', () => {
  expect(fileFieldValue(POD, 'metadata.uid')).toBe('u-1');
  expect(() => fileFieldValue(POD, 'spec.nodeName')).toThrow(
    'unsupported fieldPath: spec.nodeName (there are: metadata.name, ',
  );
  expect(() => fileFieldValue(POD, "metadata.name['\"']")).toThrow(
    `fieldPath "metadata.name['\\"']" does not support subscript (there are: metadata.name, `,
  );
});
