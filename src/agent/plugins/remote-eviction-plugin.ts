import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { GrpcClient, type Introduce } from '../../system/grpc/grpc-client.ts';
import type { Method } from '../../system/grpc/method.ts';
import type {
  ActivePods,
  EvictionPlugin,
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../types/eviction-plugin.ts';
import type { Pod } from '../../types/kubernetes.ts';
import {
  type Condition,
  type DeletionOptions,
  type EvictPodMessage,
  type GetEvictPodsResponse,
  getTopEvictionPodsRequest,
  type GetTopEvictionPodsResponse,
  type ThresholdMetResponse,
} from './protocol/eviction-plugin-messages.ts';
import { podMessage } from './protocol/pod-message.ts';
import {
  GET_EVICT_PODS,
  GET_TOKEN,
  GET_TOP_EVICTION_PODS,
  THRESHOLD_MET,
} from './protocol/service-methods.ts';

/** A plugin in a process of its own, which is asked over gRPC on its socket. */
export class RemoteEvictionPlugin implements EvictionPlugin {
  readonly name: string;
  readonly #client: GrpcClient;

  /**
   * `endpoint`: the path of its socket. `prove`: whether the plugin is who it says, by its token; asked after each time that it had to be
   * connected anew, since another one may listen there by then. Rejects where it has not proved it.
   */
  constructor(
    { name, endpoint }: { readonly name: string; readonly endpoint: string },
    prove?: (askToken: (signal: AbortSignal) => Promise<string>) => Promise<void>,
  ) {
    this.name = name;
    const introduce: Introduce | undefined =
      prove && ((ask) => prove(async (signal) => (await ask(GET_TOKEN, {}, signal)).token));
    this.#client = new GrpcClient(`eviction plugin ${name}`, endpoint, introduce);
  }

  async getToken(signal: AbortSignal): Promise<string> {
    const { token } = await this.#client.call(GET_TOKEN, {}, signal);
    return token;
  }

  async thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    return thresholdMetAnswer(await this.#ask(THRESHOLD_MET, question));
  }

  async getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const { topN, evictionScope, candidateEvictionRecords: records = [] } = question;
    const rest = getTopEvictionPodsRequest.encode({
      activePods: [],
      topN,
      evictionScope,
      candidateEvictionRecords: records.map(({ buckets, ...record }) => ({
        ...record,
        buckets: { list: buckets },
      })),
    });
    return topEvictionPodsAnswer(await this.#ask(GET_TOP_EVICTION_PODS, question, rest));
  }

  async getEvictPods(question: PluginQuestion): Promise<GetEvictPodsAnswer<NamedPod>> {
    return getEvictPodsAnswer(await this.#ask(GET_EVICT_PODS, question));
  }

  /** Questions under way reject. */
  close(): void {
    this.#client.close();
  }

  /** The fields of a message may stand in any number of parts, one after another. */
  #ask<Q, A>(method: Method<Q, A>, { activePods, signal }: PluginQuestion, ...rest: Buffer[]): Promise<A> {
    return this.#client.ask(method, () => [activePodsBytes(activePods), ...rest], signal);
  }
}

/** The number of their field in each request. */
const ACTIVE_PODS = 1;

const ofPods = new WeakMap<Pod, Uint8Array>();

const ofLists = new WeakMap<readonly Pod[], Uint8Array>();

/**
 * The pods of a pass as the first field of a request, written once for all plugins and all their methods. A list, or a pod, that has not
 * changed since the last pass is the same one, and is not written again.
 */
export function activePodsBytes({ pods }: ActivePods): Uint8Array {
  const known = ofLists.get(pods);
  if (known) return known;
  const bytes = Buffer.concat(pods.map(podBytes));
  ofLists.set(pods, bytes);
  return bytes;
}

function podBytes(pod: Pod): Uint8Array {
  const known = ofPods.get(pod);
  if (known) return known;
  const writer = new BinaryWriter();
  writer.tag(ACTIVE_PODS, WireType.LengthDelimited);
  podMessage.write(writer, pod);
  const bytes = writer.finish();
  ofPods.set(pod, bytes);
  return bytes;
}

function thresholdMetAnswer(response: ThresholdMetResponse<NamedPod>): ThresholdMetAnswer<NamedPod> {
  const { evictionScope: scope, condition, metType, candidatePods } = response;
  const { thresholdValue, observedValue, gracePeriodSeconds } = response;
  const values = { metType, scope, thresholdValue, observedValue, gracePeriodSeconds, candidatePods };
  return { ...values, ...conditionOf(condition) };
}

function topEvictionPodsAnswer({
  targetPods,
  deletionOptions,
}: GetTopEvictionPodsResponse<NamedPod>): TopEvictionPodsAnswer<NamedPod> {
  return { targetPods, ...gracePeriodOf(deletionOptions) };
}

export function getEvictPodsAnswer({
  evictPods,
  condition,
}: GetEvictPodsResponse<NamedPod>): GetEvictPodsAnswer<NamedPod> {
  return { evictPods: evictPods.map(evictPod), ...conditionOf(condition) };
}

/** As a pod with no fields: on the wire both mean the same. */
const NO_POD: NamedPod = { namespace: '', name: '', uid: '', nodeName: '' };

function evictPod({
  pod = NO_POD,
  reason,
  forceEvict,
  deletionOptions,
}: EvictPodMessage<NamedPod>): EvictPod<NamedPod> {
  return { pod, reason, forceEvict, ...gracePeriodOf(deletionOptions) };
}

function gracePeriodOf(options: DeletionOptions | undefined): { readonly gracePeriodSeconds?: number } {
  return options ? { gracePeriodSeconds: options.gracePeriodSeconds } : {};
}

function conditionOf(condition: Condition | undefined): { readonly condition?: PluginCondition } {
  if (!condition) return {};
  const { conditionName: name, conditionType: type, effects, metCondition: met } = condition;
  return { condition: { name, type, effects, met } };
}
