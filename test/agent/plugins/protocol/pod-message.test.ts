import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import protobuf from 'protobufjs';
import { podMessage } from '../../../../src/agent/plugins/protocol/pod-message.ts';
import { without } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { podOfAllFields, randomPod } from '../../../support/table-pods.ts';

type Json = Record<string, unknown>;

interface Recorded {
  readonly json: Json;
  readonly bytes: string;
}

/** What an API server of Kubernetes 1.36 has written: test/e2e/cluster/pod-protobuf.test.ts. */
const RECORDED = readFileSync(new URL('./server-pods.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

const encode = (pod: Json) => podMessage.encode(pod as unknown as Pod);
const decode = (bytes: Buffer) => podMessage.decode(bytes) as unknown as Json;
const pod = (spec: Json, metadata: Json = { name: 'a' }): Json => ({ metadata, spec, status: {} });

/** JSON names the kind beside the fields of the message. */
const ofMessage = (json: Json) => without(json, ['apiVersion', 'kind']);

/** Some of the fields with their numbers, for a library that is known to be right. */
const { root } = protobuf.parse(`
  syntax = "proto2";
  message Pod { optional Meta metadata = 1; optional Spec spec = 2; }
  message Meta { optional string name = 1; optional int64 generation = 7; optional Time creationTimestamp = 8; }
  message Time { optional int64 seconds = 1; optional int32 nanos = 2; }
  message Spec {
    repeated Container containers = 2;
    optional int64 activeDeadlineSeconds = 5;
    optional SecurityContext securityContext = 14;
    optional string unknown1 = 900;
    optional double unknown2 = 901;
    optional fixed32 unknown3 = 902;
    optional Meta unknown4 = 903;
  }
  message SecurityContext { repeated int64 supplementalGroups = 4 [packed = true]; }
  message Container { optional string name = 1; optional string image = 2; }
`);
const theirs = root.lookupType('Pod');
const byOthers = (fields: Json) => Buffer.from(theirs.encode(theirs.fromObject(fields)).finish());

describe('a pod in protocol buffers', () => {
  test.each(RECORDED.map((recorded, index) => [index, recorded] as const))(
    'recorded pod %i: the bytes of the API server are read like its JSON',
    (_, { json, bytes }) => {
      expect(decode(Buffer.from(bytes, 'base64'))).toStrictEqual(ofMessage(json));
    },
  );

  test.each(RECORDED.map((recorded, index) => [index, recorded] as const))(
    'recorded pod %i: what is written is read as the same',
    (_, { json }) => {
      expect(decode(encode(json))).toStrictEqual(ofMessage(json));
    },
  );

  test.each(Array.from({ length: 40 }, (_, seed) => seed))('of seed %i is read as it was written', (seed) => {
    const first = decode(encode(randomPod(seededRandom(seed))));
    expect(decode(encode(first))).toStrictEqual(first);
  });

  test('all fields are written', () => {
    expect(decode(encode(podOfAllFields()))).toStrictEqual(podOfAllFields());
  });

  test('a number and a field of other messages that are not known are skipped', () => {
    const spec = { unknown1: 'x'.repeat(300), unknown2: 1.5, unknown3: 7, unknown4: { name: 'b' } };
    const bytes = byOthers({ metadata: { name: 'a' }, spec: { ...spec, containers: [{ name: 'main' }] } });
    expect(decode(bytes)).toStrictEqual({
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'main' }] },
    });
  });

  test('fields of JSON that are not known, and null, are left out', () => {
    const written = pod({ containers: [], invented: { a: 1 }, hostname: null, hostNetwork: null });
    expect(encode(written)).toEqual(encode(pod({ containers: [] })));
    expect(encode({ ...written, apiVersion: 'v1', kind: 'Pod' })).toEqual(encode(pod({ containers: [] })));
  });

  test('zeros of optional fields are kept, those of others are not', () => {
    const spec = {
      containers: [{ name: '', resources: {}, stdin: false, workingDir: '' }],
      hostname: '',
      automountServiceAccountToken: false,
      priority: 0,
      runtimeClassName: '',
      securityContext: { runAsUser: 0, runAsNonRoot: false },
    };
    const kept = without(spec, ['hostname']);
    expect(decode(encode(pod(spec)))).toStrictEqual(
      pod({ ...kept, containers: [{ name: '', resources: {} }] }),
    );
  });

  test('an absent list of containers is an empty one', () => {
    expect(decode(encode(pod({})))).toStrictEqual(pod({ containers: [] }));
    // Reading a pod with containers must not add them to what others read as an empty list.
    decode(encode(pod({ containers: [{ name: 'main' }] })));
    expect(decode(encode(pod({})))).toStrictEqual(pod({ containers: [] }));
  });

  test('a packed list of numbers is read', () => {
    const securityContext = { supplementalGroups: [1, 2, 300_000] };
    const bytes = byOthers({ spec: { securityContext } });
    expect(decode(bytes)).toStrictEqual({ spec: { containers: [], securityContext } });
  });

  test.each([0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    'the number %d of 64 bits',
    (number) => {
      const spec = { containers: [], activeDeadlineSeconds: number };
      expect(decode(encode(pod(spec)))).toStrictEqual(pod(spec));
      expect(decode(byOthers({ spec }))).toStrictEqual({ spec });
    },
  );

  test.each([
    ['2026-02-17T08:09:10Z', '2026-02-17T08:09:10Z'],
    ['2026-02-17T09:09:10.999+01:00', '2026-02-17T08:09:10Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59Z'],
  ])('the time %s is read as %s', (written, read) => {
    const decoded = decode(encode(pod({}, { creationTimestamp: written })));
    expect(decoded.metadata).toStrictEqual({ creationTimestamp: read });
  });

  test('no time', () => {
    const conditions = [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null }];
    const status = { conditions };
    expect(decode(encode({ status, metadata: { creationTimestamp: null } }))).toStrictEqual({
      status,
      metadata: {},
    });
    // The API server writes a message without fields where there is no time.
    expect(decode(byOthers({ metadata: { creationTimestamp: {} } }))).toStrictEqual({ metadata: {} });
  });

  test('a quantity that is a number in a manifest', () => {
    const requests = { cpu: 2, memory: '1Gi' };
    const decoded = decode(encode(pod({ resources: { requests } })));
    expect(decoded.spec).toStrictEqual({
      containers: [],
      resources: { requests: { cpu: '2', memory: '1Gi' } },
    });
  });

  test('bytes that are cut off are refused', () => {
    const bytes = encode(podOfAllFields());
    for (const length of [1, 7, bytes.length >> 1, bytes.length - 1]) {
      expect(() => decode(bytes.subarray(0, length))).toThrow();
    }
  });
});
