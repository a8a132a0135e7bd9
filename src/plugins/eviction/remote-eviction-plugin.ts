import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../types/eviction-plugin.ts';
import { GrpcClient } from '../../system/grpc/grpc-client.ts';
import type { Method } from '../../system/grpc/method.ts';
import { getTopEvictionPodsRequest } from '../protocol/eviction-plugin-messages.ts';
import {
  GET_EVICT_PODS,
  GET_TOKEN,
  GET_TOP_EVICTION_PODS,
  THRESHOLD_MET,
} from '../protocol/service-methods.ts';
import { activePodsBytes } from './active-pods-bytes.ts';
import { getEvictPodsAnswer, thresholdMetAnswer, topEvictionPodsAnswer } from './named-answers.ts';

/** A plugin in a process of its own, which is asked over gRPC on its socket. */
export class RemoteEvictionPlugin implements EvictionPlugin {
  readonly name: string;
  readonly #client: GrpcClient;

  /** `endpoint`: the path of its socket. */
  constructor({ name, endpoint }: { readonly name: string; readonly endpoint: string }) {
    this.name = name;
    this.#client = new GrpcClient(`eviction plugin ${name}`, endpoint);
  }

  async getToken(signal: AbortSignal): Promise<string> {
    const { token } = await this.#client.call(GET_TOKEN, {}, signal);
    return token;
  }

  async thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    return thresholdMetAnswer(await this.#ask(THRESHOLD_MET, question));
  }

  async getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const { topN, evictionScope } = question;
    const rest = getTopEvictionPodsRequest.encode({ activePods: [], topN, evictionScope });
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
