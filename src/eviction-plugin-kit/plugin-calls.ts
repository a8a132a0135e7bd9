/** The gRPC server of a plugin: it answers the agent's calls with what the functions of the plugin answer. */
import grpc, { type MethodDefinition, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { errorMessage } from '../types/errors.ts';
import {
  EVICTION_PLUGIN_SERVICE,
  EVICTION_PLUGIN_TYPE,
  EVICTION_PLUGIN_VERSIONS,
  REGISTRATION_SERVICE,
} from '../agent/plugins/protocol/service-methods.ts';
import { sentEvictPods, sentThresholdMet, sentTopPods } from './kit-answers.ts';
import type { EvictionPluginDefinition, EvictionPluginOptions, Registration } from './plugin-api.ts';
import type { SocketServer } from './plugin-socket.ts';

/** Enough for some ten thousand pods. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
/** A function that never settles would keep the pods of each pass: no more than so many of its calls are under way. */
const MAX_UNSETTLED = 4;
const LAST_ANSWERS_MS = 1000;
/** Of the message of an error: it goes into a header. */
const MAX_DETAILS = 2000;

type Question = 'evictPods' | 'thresholdMet' | 'topEvictionPods';

/** An error with the gRPC code of the answer. */
class AnswerError extends Error {
  readonly code: grpc.status;

  constructor(code: grpc.status, message: string) {
    super(message);
    this.code = code;
  }
}

interface Waiting {
  readonly canceled: AbortController;
  readonly fail: (error: AnswerError) => void;
}

export class PluginCalls implements SocketServer {
  /** The path of the socket, which the agent gets when the plugin registers. */
  endpoint = '';
  #registration: Registration = 'Waiting';
  readonly #definition: EvictionPluginDefinition;
  readonly #user: EvictionPluginOptions['user'];
  readonly #log: (line: string) => void;
  readonly #server = new grpc.Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.enable_channelz': 0,
  });
  /** One for each answer that an agent waits for. */
  readonly #waiting = new Set<Waiting>();
  readonly #unsettled = new Map<Question, number>();

  constructor(
    definition: EvictionPluginDefinition,
    log: (line: string) => void,
    user: EvictionPluginOptions['user'],
  ) {
    this.#definition = definition;
    this.#user = user;
    this.#log = log;
    this.#addRegistration();
    this.#addQuestions();
  }

  get registration(): Registration {
    return this.#registration;
  }

  listen(path: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.#server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve(undefined);
    });
    return promise;
  }

  unlisten(path: string): void {
    this.#server.unbind(`unix:${path}`);
  }

  /** Lets answers under way end, for a moment. */
  async close(): Promise<void> {
    for (const { canceled } of this.#waiting) canceled.abort(new Error('the plugin stops'));
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#server.tryShutdown(() => resolve(undefined));
    const timers = [
      setTimeout(() => this.#giveUp(), LAST_ANSWERS_MS),
      setTimeout(() => {
        // A client that keeps its connection.
        this.#server.forceShutdown();
        resolve(undefined);
      }, 2 * LAST_ANSWERS_MS),
    ];
    await promise;
    for (const timer of timers) clearTimeout(timer);
  }

  /** The server would keep a connection on which an answer is still waited for. */
  #giveUp(): void {
    const error = new AnswerError(grpc.status.UNAVAILABLE, 'the plugin stops');
    for (const { fail } of this.#waiting) fail(error);
  }

  #addRegistration(): void {
    const { name } = this.#definition;
    const { getInfo, notifyRegistrationStatus } = REGISTRATION_SERVICE;
    this.#add(getInfo, () => ({
      type: EVICTION_PLUGIN_TYPE,
      name,
      endpoint: this.endpoint,
      supportedVersions: EVICTION_PLUGIN_VERSIONS,
    }));
    this.#add(notifyRegistrationStatus, ({ registered, error }) => {
      this.#registration = registered ? 'Registered' : 'Refused';
      this.#log(registered ? 'an agent has registered it' : `an agent refuses it: ${error}`);
      return {};
    });
  }

  #addQuestions(): void {
    const { getToken, getEvictPods, thresholdMet, getTopEvictionPods } = EVICTION_PLUGIN_SERVICE;
    this.#add(getToken, async () => ({ token: await this.#token() }));
    this.#add(getEvictPods, async ({ activePods }, signal) => {
      const answer = await this.#ask('evictPods', (plugin) => plugin.evictPods?.({ activePods, signal }));
      return sentEvictPods(answer, activePods);
    });
    this.#add(thresholdMet, async ({ activePods }, signal) => {
      const answer = await this.#ask('thresholdMet', (plugin) =>
        plugin.thresholdMet?.({ activePods, signal }),
      );
      return sentThresholdMet(answer, activePods);
    });
    this.#add(getTopEvictionPods, async (request, signal) => {
      const { activePods, topN, evictionScope: scope } = request;
      const records = request.candidateEvictionRecords.map(({ buckets, ...record }) => ({
        ...record,
        buckets: buckets?.list ?? [],
      }));
      const question = { activePods, topN, scope, records, signal };
      const answer = await this.#ask('topEvictionPods', (plugin) => plugin.topEvictionPods?.(question));
      return sentTopPods(answer, activePods);
    });
  }

  async #token(): Promise<string> {
    if (this.#user === undefined) return '';
    const { name, password } = await this.#user();
    return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  }

  async #ask<T>(question: Question, ask: (plugin: EvictionPluginDefinition) => T): Promise<Awaited<T>> {
    const before = this.#unsettled.get(question) ?? 0;
    if (before >= MAX_UNSETTLED) {
      const message = `${question} still works on ${before} earlier questions`;
      throw new AnswerError(grpc.status.RESOURCE_EXHAUSTED, message);
    }
    this.#unsettled.set(question, before + 1);
    try {
      return await ask(this.#definition);
    } finally {
      this.#unsettled.set(question, (this.#unsettled.get(question) ?? 1) - 1);
    }
  }

  #add<Q, A>(
    { path, responseSerialize, requestDeserialize }: MethodDefinition<Q, A>,
    answer: (request: Q, signal: AbortSignal) => A | Promise<A>,
  ): void {
    const handle = (call: ServerUnaryCall<Q, A>, callback: sendUnaryData<A>): void => {
      const { promise: failure, reject: fail } = Promise.withResolvers<never>();
      const waiting = { canceled: new AbortController(), fail };
      this.#waiting.add(waiting);
      call.once('cancelled', () => {
        // It comes after answers too.
        const error = new AnswerError(grpc.status.CANCELLED, 'the agent does not wait any longer');
        if (this.#waiting.has(waiting)) waiting.canceled.abort(error);
      });
      const work = async () => answer(call.request, waiting.canceled.signal);
      Promise.race([work(), failure])
        .finally(() => this.#waiting.delete(waiting))
        .then(
          (value) => callback(null, value),
          (error: unknown) => {
            const code = error instanceof AnswerError ? error.code : grpc.status.UNKNOWN;
            callback({ code, details: errorMessage(error).slice(0, MAX_DETAILS) });
            this.#log(`${path.slice(1)} failed: ${textOf(error)}`);
          },
        );
    };
    this.#server.register(path, handle, responseSerialize, requestDeserialize, 'unary');
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
