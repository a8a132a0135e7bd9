/** The messages of both services beside protobufjs, which gets them as the protocols define them. */
import { describe, expect, test } from '@jest/globals';
import protobuf from 'protobufjs';
import {
  activePodsRequest,
  empty,
  getTokenResponse,
  getTopEvictionPodsRequest,
  namedResponses,
  wholeResponses,
} from '../../../../src/agent/plugins/protocol/eviction-plugin-messages.ts';
import { pluginInfo, registrationStatus } from '../../../../src/agent/plugins/protocol/service-methods.ts';
import type { MessageType } from '../../../../src/system/protobuf.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';

const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message Pod { Metadata metadata = 1; Spec spec = 2; }
  message Metadata { string name = 1; string namespace = 3; string uid = 5; map<string, string> labels = 11; }
  message Spec { repeated Container containers = 2; string node_name = 10; }
  message Container { string name = 1; }

  enum ConditionType { NODE_CONDITION = 0; CNR_CONDITION = 1; }
  enum ThresholdOperator { LESS_THAN = 0; GREATER_THAN = 1; }
  enum ThresholdMetType { NOT_MET = 0; SOFT_MET = 1; HARD_MET = 2; }
  message Condition {
    ConditionType condition_type = 1;
    repeated string effects = 2;
    string condition_name = 3;
    bool met_condition = 4;
  }
  message GetThresholdMetRequest { repeated Pod active_pods = 1; }
  message ThresholdMetResponse {
    double threshold_value = 1;
    double observed_value = 2;
    ThresholdOperator threshold_operator = 3;
    ThresholdMetType met_type = 4;
    string eviction_scope = 5;
    int64 grace_period_seconds = 6;
    Condition condition = 7;
    repeated Pod candidate_pods = 8;
  }
  message GetTopEvictionPodsRequest {
    repeated Pod active_pods = 1;
    uint64 topN = 2;
    string eviction_scope = 3;
    repeated EvictionRecord candidate_eviction_records = 4;
  }
  message EvictionRecord {
    string uid = 1;
    bool has_pdb = 2;
    Buckets buckets = 3;
    int32 disruptions_allowed = 4;
    int32 current_healthy = 5;
    int32 desired_healthy = 6;
    int32 expected_pods = 7;
  }
  message Buckets { repeated Bucket list = 1; }
  message Bucket { int64 time = 1; int64 duration = 2; int64 count = 3; }
  message DeletionOptions { int64 grace_period_seconds = 1; }
  message GetTopEvictionPodsResponse { repeated Pod target_pods = 1; DeletionOptions deletion_options = 2; }
  message EvictPod {
    Pod pod = 1;
    string reason = 2;
    DeletionOptions deletion_options = 3;
    bool force_evict = 4;
    string eviction_plugin_name = 5;
  }
  message GetEvictPodsRequest { repeated Pod active_pods = 1; }
  message GetEvictPodsResponse { repeated EvictPod evict_pods = 1; Condition condition = 2; }
  message GetTokenResponse { string token = 1; }
  message Empty {}

  message PluginInfo {
    string type = 1;
    string name = 2;
    string endpoint = 3;
    repeated string supported_versions = 4;
  }
  message RegistrationStatus { bool plugin_registered = 1; string error = 2; }
`,
);

const pod = (name: string): Pod => ({
  metadata: { name, namespace: 'team', uid: `uid-${name}`, labels: { app: name } },
  spec: { nodeName: 'node-1', containers: [{ name: 'main', resources: {} }] },
});
/** As the definition above has it. */
const theirPod = (name: string) => ({
  metadata: { name, namespace: 'team', uid: `uid-${name}`, labels: { app: name } },
  spec: { nodeName: 'node-1', containers: [{ name: 'main' }] },
});
const name = (of: string) => ({ name: of, namespace: 'team', uid: `uid-${of}`, nodeName: 'node-1' });

const condition = {
  conditionType: 'CNR_CONDITION',
  effects: ['NoSchedule', 'NoExecute'],
  conditionName: 'MemoryPressure',
  metCondition: true,
} as const;
const thresholdMet = {
  thresholdValue: 0.1,
  observedValue: -1e300,
  thresholdOperator: 'GREATER_THAN',
  metType: 'HARD_MET',
  evictionScope: 'memory',
  gracePeriodSeconds: -1,
  condition,
} as const;
const evictPod = {
  reason: 'too large',
  deletionOptions: { gracePeriodSeconds: 30 },
  forceEvict: true,
  evictionPluginName: 'rss',
};
const nothing = { evictPods: [{ reason: '', forceEvict: false, evictionPluginName: '' }] };

interface Case<T> {
  readonly type: string;
  readonly ours: MessageType<T>;
  readonly value: T;
  /** The same value as the definition has it. */
  readonly theirs: object;
}
const same = <T extends object>(type: string, ours: MessageType<T>, value: T): Case<T> => ({
  type,
  ours,
  value,
  theirs: value,
});
const RECORD = {
  uid: 'u1',
  hasPdb: true,
  buckets: { list: [{ time: 1_893_456_000, duration: 600, count: 2 }] },
  disruptionsAllowed: 1,
  currentHealthy: 4,
  desiredHealthy: 3,
  expectedPods: 5,
};
const pods = { activePods: [pod('a'), pod('b')] };
const theirPods = { activePods: [theirPod('a'), theirPod('b')] };

const cases = [
  same('Empty', empty, {}),
  same('GetTokenResponse', getTokenResponse, { token: 'secret' }),
  same('PluginInfo', pluginInfo, {
    type: 'EvictionPlugin',
    name: 'rss',
    endpoint: '/run/rss.sock',
    supportedVersions: ['v1alpha1', 'v1'],
  }),
  {
    type: 'RegistrationStatus',
    ours: registrationStatus,
    value: { registered: true, error: 'none' },
    theirs: { pluginRegistered: true, error: 'none' },
  },
  { type: 'GetThresholdMetRequest', ours: activePodsRequest, value: pods, theirs: theirPods },
  { type: 'GetEvictPodsRequest', ours: activePodsRequest, value: pods, theirs: theirPods },
  {
    type: 'GetTopEvictionPodsRequest',
    ours: getTopEvictionPodsRequest,
    value: { ...pods, topN: 3, evictionScope: 'memory', candidateEvictionRecords: [RECORD] },
    theirs: { ...theirPods, topN: 3, evictionScope: 'memory', candidateEvictionRecords: [RECORD] },
  },
  {
    type: 'ThresholdMetResponse',
    ours: wholeResponses.thresholdMet,
    value: { ...thresholdMet, candidatePods: [pod('a')] },
    theirs: { ...thresholdMet, candidatePods: [theirPod('a')] },
  },
  {
    type: 'GetTopEvictionPodsResponse',
    ours: wholeResponses.getTopEvictionPods,
    value: { targetPods: [pod('a'), pod('b')], deletionOptions: { gracePeriodSeconds: 0 } },
    theirs: { targetPods: [theirPod('a'), theirPod('b')], deletionOptions: {} },
  },
  {
    type: 'GetEvictPodsResponse',
    ours: wholeResponses.getEvictPods,
    value: { evictPods: [{ ...evictPod, pod: pod('a') }, ...nothing.evictPods], condition },
    theirs: { evictPods: [{ ...evictPod, pod: theirPod('a') }, {}], condition },
  },
] as unknown as readonly Case<object>[];

const encoded = (type: string, value: object): Buffer => {
  const lookedUp = root.lookupType(type);
  return Buffer.from(lookedUp.encode(lookedUp.fromObject(value)).finish());
};

describe('the messages', () => {
  test.each(cases)('$type: others read what is written', ({ type, ours, value, theirs }) => {
    const lookedUp = root.lookupType(type);
    // A container's resources are one of many fields that the definition here leaves out.
    const read = lookedUp.toObject(lookedUp.decode(ours.encode(value)), { enums: String, longs: Number });
    const wanted = lookedUp.toObject(lookedUp.fromObject(theirs), { enums: String, longs: Number });
    expect(read).toEqual(wanted);
  });

  test.each(cases)('$type: what others write is read', ({ type, ours, value, theirs }) => {
    const withoutResources = JSON.parse(JSON.stringify(value).replaceAll(',"resources":{}', '')) as object;
    expect(ours.decode(encoded(type, theirs))).toEqual(withoutResources);
  });

  test('of the pods of an answer only what names them is read', () => {
    const top = { targetPods: [theirPod('a'), { metadata: { name: 'b' } }, {}] };
    expect(namedResponses.getTopEvictionPods.decode(encoded('GetTopEvictionPodsResponse', top))).toEqual({
      targetPods: [
        name('a'),
        { name: 'b', namespace: '', uid: '', nodeName: '' },
        { name: '', namespace: '', uid: '', nodeName: '' },
      ],
    });
    const met = { ...thresholdMet, candidatePods: [theirPod('a')] };
    expect(namedResponses.thresholdMet.decode(encoded('ThresholdMetResponse', met))).toEqual({
      ...thresholdMet,
      candidatePods: [name('a')],
    });
    const evict = { evictPods: [{ ...evictPod, pod: theirPod('a') }, {}], condition };
    expect(namedResponses.getEvictPods.decode(encoded('GetEvictPodsResponse', evict))).toEqual({
      evictPods: [{ ...evictPod, pod: name('a') }, ...nothing.evictPods],
      condition,
    });
  });

  test('a named pod is written so that others read it', () => {
    const bytes = namedResponses.getTopEvictionPods.encode({ targetPods: [name('a')] });
    expect(namedResponses.getTopEvictionPods.decode(bytes)).toEqual({ targetPods: [name('a')] });
    const { targetPods } = wholeResponses.getTopEvictionPods.decode(bytes);
    expect(targetPods[0]?.metadata).toEqual({ name: 'a', namespace: 'team', uid: 'uid-a' });
  });

  test.each([
    ['met_type is 3, which has no meaning', Buffer.from([0x20, 3])],
    ['met_type is -1, which has no meaning', Buffer.from([0x20, ...Array<number>(9).fill(0xff), 1])],
    ['threshold_operator is 2, which has no meaning', Buffer.from([0x18, 2])],
    ['condition_type is 9, which has no meaning', Buffer.from([0x3a, 2, 0x08, 9])],
  ])('a number without a name: %s', (text, bytes) => {
    expect(() => namedResponses.thresholdMet.decode(bytes)).toThrow(text);
  });

  test('an older ThresholdMet is asked without fields', () => {
    expect(activePodsRequest.decode(encoded('Empty', {}))).toEqual({ activePods: [] });
    expect(empty.decode(activePodsRequest.encode(pods))).toEqual({});
  });
});
