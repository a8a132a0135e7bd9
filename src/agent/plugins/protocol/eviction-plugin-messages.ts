/**
 * The messages of `evictionplugin.v1alpha1`. A pod is asked about as a whole. `P`: what is read of the pods of an answer, the whole pod or
 * what names it.
 */
import type {
  ConditionType,
  EvictionBucket,
  EvictionRecord,
  NamedPod,
  ThresholdMetType,
  ThresholdOperator,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import {
  bool,
  double,
  enumeration,
  field,
  int,
  list,
  message,
  type MessageType,
  string,
  type ValueType,
} from '../../../system/protobuf.ts';
import { podMessage } from './pod-message.ts';

export interface GetTokenResponse {
  readonly token: string;
}

/** Of GetEvictPods and of ThresholdMet, whose older form has no fields: the same on the wire. */
export interface ActivePodsRequest {
  readonly activePods: readonly Pod[];
}

export interface GetTopEvictionPodsRequest extends ActivePodsRequest {
  readonly topN: number;
  readonly evictionScope: string;
  readonly candidateEvictionRecords: readonly EvictionRecordMessage[];
}

/** With the buckets in a message of their own. */
export type EvictionRecordMessage = Omit<EvictionRecord, 'buckets'> & {
  readonly buckets?: { readonly list: readonly EvictionBucket[] } | undefined;
};

export interface Condition {
  readonly conditionType: ConditionType;
  readonly effects: readonly string[];
  readonly conditionName: string;
  readonly metCondition: boolean;
}

export interface ThresholdMetResponse<P> {
  readonly thresholdValue: number;
  readonly observedValue: number;
  readonly thresholdOperator: ThresholdOperator;
  readonly metType: ThresholdMetType;
  readonly evictionScope: string;
  readonly gracePeriodSeconds: number;
  readonly condition?: Condition | undefined;
  readonly candidatePods: readonly P[];
}

export interface DeletionOptions {
  readonly gracePeriodSeconds: number;
}

export interface GetTopEvictionPodsResponse<P> {
  readonly targetPods: readonly P[];
  readonly deletionOptions?: DeletionOptions | undefined;
}

export interface EvictPodMessage<P> {
  readonly pod?: P | undefined;
  readonly reason: string;
  readonly deletionOptions?: DeletionOptions | undefined;
  readonly forceEvict: boolean;
  readonly evictionPluginName: string;
}

export interface GetEvictPodsResponse<P> {
  readonly evictPods: readonly EvictPodMessage<P>[];
  readonly condition?: Condition | undefined;
}

/** A number without a name is an error: to read it as some name would end pods. */
function namesOf<const N extends string>(what: string, names: readonly [N, ...N[]]): ValueType<N> {
  return {
    ...enumeration(names),
    read: (reader) => {
      const number = reader.int32();
      const name = names[number];
      if (name === undefined) throw new RangeError(`${what} is ${number}, which has no meaning`);
      return name;
    },
  };
}

export const empty = message<object>({});

export const getTokenResponse = message<GetTokenResponse>({ token: field(1, string) });

export const activePodsRequest = message<ActivePodsRequest>({ activePods: list(1, podMessage) });

const buckets = message<{ readonly list: readonly EvictionBucket[] }>({
  list: list(
    1,
    message<EvictionBucket>({ time: field(1, int), duration: field(2, int), count: field(3, int) }),
  ),
});

const evictionRecord = message<EvictionRecordMessage>({
  uid: field(1, string),
  hasPdb: field(2, bool),
  buckets: field(3, buckets),
  disruptionsAllowed: field(4, int),
  currentHealthy: field(5, int),
  desiredHealthy: field(6, int),
  expectedPods: field(7, int),
});

export const getTopEvictionPodsRequest = message<GetTopEvictionPodsRequest>({
  activePods: list(1, podMessage),
  topN: field(2, int),
  evictionScope: field(3, string),
  candidateEvictionRecords: list(4, evictionRecord),
});

/** What names a pod: the rest of it is not read. */
const namedPod = message<{
  readonly metadata?: Omit<NamedPod, 'nodeName'> | undefined;
  readonly spec?: Pick<NamedPod, 'nodeName'> | undefined;
}>({
  metadata: field(
    1,
    message<Omit<NamedPod, 'nodeName'>>({
      name: field(1, string),
      namespace: field(3, string),
      uid: field(5, string),
    }),
  ),
  spec: field(2, message<Pick<NamedPod, 'nodeName'>>({ nodeName: field(10, string) })),
});

const podName: ValueType<NamedPod> = {
  wireType: namedPod.wireType,
  zero: undefined,
  read: (reader) => {
    const { metadata, spec } = namedPod.read(reader);
    const { name = '', namespace = '', uid = '' } = metadata ?? {};
    return { name, namespace, uid, nodeName: spec?.nodeName ?? '' };
  },
  write: (writer, { nodeName, ...metadata }) => namedPod.write(writer, { metadata, spec: { nodeName } }),
};

const condition = message<Condition>({
  conditionType: field(1, namesOf('condition_type', ['NODE_CONDITION', 'CNR_CONDITION'])),
  effects: list(2, string),
  conditionName: field(3, string),
  metCondition: field(4, bool),
});

const deletionOptions = message<DeletionOptions>({ gracePeriodSeconds: field(1, int) });

interface Responses<P> {
  readonly thresholdMet: MessageType<ThresholdMetResponse<P>>;
  readonly getTopEvictionPods: MessageType<GetTopEvictionPodsResponse<P>>;
  readonly getEvictPods: MessageType<GetEvictPodsResponse<P>>;
}

function responsesWith<P>(pod: ValueType<P>): Responses<P> {
  const evictPod = message<EvictPodMessage<P>>({
    pod: field<P>(1, pod) as never,
    reason: field(2, string),
    deletionOptions: field(3, deletionOptions),
    forceEvict: field(4, bool),
    evictionPluginName: field(5, string),
  });
  return {
    thresholdMet: message<ThresholdMetResponse<P>>({
      thresholdValue: field(1, double),
      observedValue: field(2, double),
      thresholdOperator: field(3, namesOf('threshold_operator', ['LESS_THAN', 'GREATER_THAN'])),
      metType: field(4, namesOf('met_type', ['NOT_MET', 'SOFT_MET', 'HARD_MET'])),
      evictionScope: field(5, string),
      gracePeriodSeconds: field(6, int),
      condition: field(7, condition),
      candidatePods: list(8, pod),
    }),
    getTopEvictionPods: message<GetTopEvictionPodsResponse<P>>({
      targetPods: list(1, pod),
      deletionOptions: field(2, deletionOptions),
    }),
    getEvictPods: message<GetEvictPodsResponse<P>>({
      evictPods: list(1, evictPod),
      condition: field(2, condition),
    }),
  };
}

/** As a plugin answers. */
export const wholeResponses = responsesWith<Pod>(podMessage);
/** As the agent reads answers. */
export const namedResponses = responsesWith<NamedPod>(podName);
