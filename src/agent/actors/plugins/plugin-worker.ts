/** The effects of a plugin's actor: its registration, its connection, its log lines. */
import { basename } from 'node:path';
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { type PluginContext, type PluginEvent, pluginMachine } from '../../machines/plugin-machine.ts';
import {
  EVICTION_PLUGIN_TYPE,
  judgeOffer,
  type OfferVerdict,
  type PluginOffer,
  shownProblem,
  validationFailure,
} from '../../policies/eviction-plugins/plugin-registration.ts';
import { oneLine } from '../../policies/formats/terminal-text.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import type { RegistrationClient } from '../../plugins/protocol/registration-client.ts';
import type { PluginHandlers, ServedPlugin } from '../../plugins/registration/plugin-handler.ts';
import {
  askForInfo,
  type StaggeredQueue,
  tellStatus,
} from '../../plugins/registration/registration-calls.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { EvictionPlugin } from '../../../types/eviction-plugin.ts';
import type { ActorContext } from '../actor-context.ts';
import { createActor } from '../agent-actor.ts';
import type { PluginLog } from './plugin-log.ts';
import type { HostedPlugin, PluginState } from './plugin-parts.ts';

const BUILT_IN = 'built-in';

const TOLD_AGAIN_MS = 10 * 60_000;

export interface PluginWorkerParts {
  readonly machine: typeof pluginMachine;
  readonly handlers: PluginHandlers;
  readonly openRegistration: (socketPath: string) => RegistrationClient;
  /** Of all plugins together. */
  readonly log: PluginLog;
  readonly queue: StaggeredQueue;
  /** From now on the plugin owns its name. */
  readonly onServing: (worker: PluginWorker) => void;
  readonly onGone: (worker: PluginWorker) => void;
  /** Called after each change of a state, until the worker is stopped. */
  readonly onChange?: () => void;
}

/** One plugin. It holds a connection from its registration until it is gone. */
export class PluginWorker implements HostedPlugin {
  readonly origin: string;
  readonly #context: ActorContext;
  readonly #parts: PluginWorkerParts;
  readonly #actor: ActorRefFrom<typeof pluginMachine>;
  readonly #builtIn: EvictionPlugin | undefined;
  #type = EVICTION_PLUGIN_TYPE;
  #served: ServedPlugin | undefined;
  #client: RegistrationClient | undefined;
  #call: AbortController | undefined;
  /** As `onChange` was called last. */
  #state: PluginState | undefined;
  /** The latest call. Never rejects. */
  #underWay: Promise<void> | undefined;
  #wasAsked = false;
  /** The latest problem that was a warning. */
  #latestWarning: { readonly problem: string; readonly at: number } | undefined;
  /** Whether the present failure was a warning. */
  #isWarned = false;
  #isStopped = false;

  /** `source`: a plugin of this process, or the path of the socket of another one. */
  constructor(context: ActorContext, source: EvictionPlugin | string, parts: PluginWorkerParts) {
    const { clock, parent, inspect } = context;
    this.#context = context;
    this.#parts = parts;
    this.#builtIn = typeof source === 'string' ? undefined : source;
    this.origin = typeof source === 'string' ? source : BUILT_IN;
    this.#actor = createActor(parts.machine, {
      clock,
      id: `plugin ${typeof source === 'string' ? source : source.name}`,
      input: { origin: this.origin, now: clock.now() },
      parent,
      inspect,
    });
    const error = (reason: unknown) => this.#failed(reason);
    this.#actor.subscribe({ next: () => this.#notifyChange(), error });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get plugin(): EvictionPlugin {
    return this.#builtIn ?? this.#served?.eviction ?? notRegistered(this.name ?? basename(this.origin));
  }

  /** As it names itself; undefined until it has answered. */
  get name(): string | undefined {
    return this.#actor.getSnapshot().context.name;
  }

  /** Whether it is no eviction plugin: it is registered, but never asked for pods. */
  get isOfOtherType(): boolean {
    return this.#served !== undefined && this.#served.eviction === undefined;
  }

  /** Among plugins of one type a name is unique. */
  get nameAndType(): string {
    return `${this.name ?? ''} ${this.#type}`;
  }

  get isBuiltIn(): boolean {
    return this.#builtIn !== undefined;
  }

  /** Whether it was registered, even if it is gone now. */
  get wasAsked(): boolean {
    return this.#wasAsked;
  }

  /** Whether it is asked questions. */
  get isAsked(): boolean {
    const snapshot = this.#actor.getSnapshot();
    return snapshot.status === 'active' && snapshot.hasTag('asked');
  }

  readonly state = (): PluginState => {
    const { value, status } = this.#actor.getSnapshot();
    if (status === 'error') return 'Gone';
    // A stopped plugin is shown in its last state.
    if (value === 'Stopped') return this.#state ?? 'Registering';
    return typeof value === 'string' ? value : 'Registering';
  };

  readonly since = (): number => this.#actor.getSnapshot().context.since;

  readonly problem = (): string | undefined => this.#actor.getSnapshot().context.problem;

  readonly answered = (): void => this.#send({ type: 'ANSWERED', now: this.#context.clock.now() });

  readonly failed = (problem: string): void =>
    this.#send({ type: 'FAILED', problem, now: this.#context.clock.now() });

  start(): void {
    this.#actor.start();
  }

  socketGone(): void {
    this.#send({ type: 'SOCKET_GONE', now: this.#context.clock.now() });
  }

  /** `by`: where the other plugin of its name was registered. */
  replaced(by: string): void {
    this.#send({ type: 'REPLACED', by, now: this.#context.clock.now() });
  }

  /**
   * Resolves when nothing is connected or armed any more. XState lets only a parent stop its child: an actor with a parent gets no more events from
   * now on.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#letGo();
    this.#actor.send({ type: 'STOP' });
    await this.#underWay;
  }

  // Asked by the machine.

  askPlugin(): void {
    if (this.#builtIn !== undefined) this.#send({ type: 'ACCEPTED', name: this.#builtIn.name });
    else this.#underWay = this.#register();
  }

  tell(refusal: string | undefined): void {
    if (this.#builtIn !== undefined) this.#send({ type: 'TOLD', now: this.#context.clock.now() });
    else this.#underWay = this.#notify(refusal);
  }

  endCall(): void {
    this.#call?.abort(new StateletError('Canceled', 'the registration has ended'));
    this.#call = undefined;
    this.#client?.close();
    this.#client = undefined;
  }

  serve(): void {
    this.#wasAsked = true;
    this.#parts.onServing(this);
  }

  release(): void {
    this.#letGo();
    this.#parts.onGone(this);
  }

  reportProblem({ problem: former }: PluginContext, event: PluginEvent): void {
    if (!('problem' in event)) return;
    const level = event.problem === former ? 'debug' : 'warn';
    this.#log(level, `is not registered, and is asked again later: ${event.problem}`);
  }

  reportServing({ since }: PluginContext): void {
    if (this.#builtIn !== undefined) return;
    const waitedMs = this.#context.clock.now() - since;
    this.#log('info', `is registered${waitedMs > 0 ? ` after ${shortDuration(waitedMs)}` : ''}`);
  }

  reportUntold(event: PluginEvent): void {
    if (event.type === 'NOT_TOLD')
      this.#log('warn', `could not be told whether it is registered: ${event.problem}`);
  }

  /** A plugin that answers one question and fails with the next changes its state in each pass: the same problem is only logged once in a while. */
  reportFailing(event: PluginEvent): void {
    if (event.type !== 'FAILED') return;
    const { problem, now } = event;
    this.#isWarned =
      problem !== this.#latestWarning?.problem || now - this.#latestWarning.at >= TOLD_AGAIN_MS;
    if (this.#isWarned) this.#latestWarning = { problem, at: now };
    this.#log(this.#isWarned ? 'warn' : 'debug', `fails, and is asked again in each pass: ${problem}`, now);
  }

  reportRecovery({ since, problem, failures }: PluginContext): void {
    const lasted = shortDuration(Math.max(0, this.#context.clock.now() - since));
    const times = failures === 1 ? '1 failure' : `${failures} failures`;
    const level = this.#isWarned ? 'info' : 'debug';
    this.#log(level, `answers again after ${lasted} and ${times}, the last: ${problem ?? ''}`);
  }

  /** Logs nothing for a socket that never was registered as a plugin. */
  reportGone(event: PluginEvent): void {
    if (!this.#wasAsked) return;
    const why =
      event.type === 'REPLACED' ? `replaced by the plugin at ${oneLine(event.by)}` : 'its socket is gone';
    this.#log('info', `is not asked any more: ${why}`);
  }

  async #register(): Promise<void> {
    const { openRegistration, handlers, queue } = this.#parts;
    const { clock } = this.#context;
    const { signal } = (this.#call = new AbortController());
    let event: PluginEvent;
    try {
      const info = await queue.run(async () => {
        this.#client = openRegistration(this.origin);
        return askForInfo(this.#client, { clock, signal });
      }, signal);
      if (signal.aborted) return;
      event = await this.#verified(this.#taken(info, judgeOffer(info, this.origin, handlers)), signal);
    } catch (error) {
      event = { type: 'NOT_ANSWERED', problem: shownProblem(errorMessage(error)) };
    }
    if (!signal.aborted) this.#send(event);
  }

  #taken({ type, supportedVersions }: PluginOffer, verdict: OfferVerdict): PluginEvent {
    const { name } = verdict;
    if (verdict.kind === 'refused') return { type: 'REFUSED', name, problem: verdict.problem };
    try {
      this.#served = this.#parts.handlers
        .get(type)
        ?.register({ name, endpoint: verdict.endpoint, supportedVersions });
      this.#type = type;
      return { type: 'ACCEPTED', name };
    } catch (error) {
      return {
        type: 'REFUSED',
        name,
        problem: `plugin registration failed with err: ${shownProblem(errorMessage(error))}`,
      };
    }
  }

  /** Closes the plugin if it has not proved who it is. */
  async #verified(event: PluginEvent, signal: AbortSignal): Promise<PluginEvent> {
    if (event.type !== 'ACCEPTED') return event;
    const problem = await this.#served?.verify?.(signal);
    if (problem === undefined) return event;
    this.#served?.close();
    this.#served = undefined;
    return { type: 'REFUSED', name: event.name, problem: validationFailure(shownProblem(problem)) };
  }

  async #notify(refusal: string | undefined): Promise<void> {
    const { clock } = this.#context;
    const [client, signal] = [this.#client, this.#call?.signal];
    if (client === undefined || signal === undefined) return;
    let problem: string | undefined;
    try {
      await tellStatus(client, refusal, { clock, signal });
    } catch (error) {
      problem = shownProblem(errorMessage(error));
    }
    if (signal.aborted) return;
    const now = clock.now();
    this.#send(problem === undefined ? { type: 'TOLD', now } : { type: 'NOT_TOLD', problem, now });
  }

  #notifyChange(): void {
    const state = this.state();
    if (this.#isStopped || state === this.#state) return;
    this.#state = state;
    this.#parts.onChange?.();
  }

  #letGo(): void {
    this.endCall();
    this.#served?.close();
  }

  #send(event: PluginEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  /** `since`: when the state began that the line is about. */
  #log(level: 'debug' | 'info' | 'warn', what: string, since = this.since()): void {
    const { name } = this;
    const origin = oneLine(this.origin);
    const fields = {
      plugin: name,
      ...(this.#builtIn === undefined && { socket: origin }),
      since: new Date(since).toISOString(),
    };
    const kind = this.isOfOtherType ? this.#type : 'eviction plugin';
    const who = name === undefined ? `The ${kind} at ${origin}` : `The ${kind} ${name}`;
    this.#parts.log.tell(level, fields, `${who} ${what}`);
  }

  #failed(error: unknown): void {
    const message = `The actor of a plugin failed, and the plugin is not asked any more: ${errorMessage(error)}`;
    this.#context.logger.error({ socket: oneLine(this.origin), err: error }, message);
    this.release();
    this.#notifyChange();
  }
}

function notRegistered(name: string): EvictionPlugin {
  const refuse = () =>
    Promise.reject(new StateletError('FailedPrecondition', 'the plugin is not registered'));
  return { name, thresholdMet: refuse, getTopEvictionPods: refuse, getEvictPods: refuse };
}

/** The plugin machine with its effects, which are those of the worker that `workerOf` names. */
export function providePluginMachine(
  workerOf: (actor: AnyActorRef) => PluginWorker | undefined,
): typeof pluginMachine {
  return pluginMachine.provide({
    actions: {
      askPlugin: ({ self }) => workerOf(self)?.askPlugin(),
      tellAccepted: ({ self }) => workerOf(self)?.tell(undefined),
      tellRefused: ({ context, self }) => workerOf(self)?.tell(context.problem ?? ''),
      endCall: ({ self }) => workerOf(self)?.endCall(),
      serve: ({ self }) => workerOf(self)?.serve(),
      release: ({ self }) => workerOf(self)?.release(),
      reportProblem: ({ context, event, self }) => workerOf(self)?.reportProblem(context, event),
      reportServing: ({ context, self }) => workerOf(self)?.reportServing(context),
      reportUntold: ({ event, self }) => workerOf(self)?.reportUntold(event),
      reportFailing: ({ event, self }) => workerOf(self)?.reportFailing(event),
      reportRecovery: ({ context, self }) => workerOf(self)?.reportRecovery(context),
      reportGone: ({ event, self }) => workerOf(self)?.reportGone(event),
    },
  });
}
