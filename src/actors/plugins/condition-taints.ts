/** The actor that tells conditions of plugins as taints of the node, and its effects. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor } from 'xstate';
import { ApiError, hasReason, isSameProblem } from '../../cluster/service/api-error.ts';
import type { ObjectReference } from '../../cluster/service/api-resources.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import { type TaintsContext, type TaintsEvent, taintsMachine } from '../../machines/taints-machine.ts';
import {
  changedTaints,
  TAINTS_PERIOD_MS,
  taintsBackOffMs,
  taintsOfConditions,
} from '../../policies/eviction-plugins/taints-of-conditions.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { Node, Taint } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { StandingConditions } from './plugin-parts.ts';

const REQUEST_TIMEOUT_MS = 30_000;

export interface ConditionTaintsOptions {
  /** With rights to read the Node object and to patch it. */
  readonly api: Pick<ApiServer, 'get' | 'patch'>;
  readonly nodeName: string;
  /** As the server told it last; undefined while it is not known, or is of another machine. */
  readonly node: () => Node | undefined;
  readonly conditions: StandingConditions;
  /** How long a condition counts after it was last observed: so long after the start, taints of an earlier run stay. */
  readonly conditionTransitionPeriodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly parent?: AnyActorRef;
  readonly inspect?: ActorOptions<typeof taintsMachine>['inspect'];
}

export interface ConditionTaintsState {
  readonly state: string;
  /** Why the taints could not be written. */
  readonly problem: string | undefined;
}

export class ConditionTaints {
  readonly #options: ConditionTaintsOptions;
  readonly #actor: ActorRefFrom<typeof taintsMachine>;
  readonly #timer: Timer;
  readonly #target: ObjectReference;
  #request: AbortController | undefined;
  /** Conditions that cannot become taints, as they were told last. */
  #told: ReadonlySet<string> = new Set();
  #startedMs: number;
  #isStopped = false;

  constructor(options: ConditionTaintsOptions) {
    this.#options = options;
    const { clock, nodeName, parent, inspect } = options;
    this.#timer = new Timer(clock);
    this.#startedMs = clock.now();
    this.#target = { resource: 'nodes', name: nodeName };
    this.#actor = createActor(this.#machine(), {
      id: 'taints',
      ...(parent && { parent }),
      ...(inspect && { inspect }),
    });
    this.#actor.subscribe({ error: (error: unknown) => this.#failed(error) });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get current(): ConditionTaintsState {
    const { value, context } = this.#actor.getSnapshot();
    return { state: value, problem: context.problem };
  }

  start(): void {
    if (this.#isStopped) return;
    this.#startedMs = this.#options.clock.now();
    this.#actor.start();
  }

  /** The taints stay as they are. */
  stop(): void {
    this.#isStopped = true;
    this.#timer.disarm();
    this.#abort();
    if (this.#options.parent === undefined) this.#actor.stop();
  }

  #machine(): typeof taintsMachine {
    return taintsMachine.provide({
      actions: {
        armLook: () => this.#arm(TAINTS_PERIOD_MS),
        armBackOff: ({ context: { failures, isRefused, askedMs } }) =>
          this.#arm(taintsBackOffMs(failures, isRefused, askedMs)),
        disarmTimer: () => this.#timer.disarm(),
        writeTaints: () => void this.#write(),
        abortRequest: () => this.#abort(),
        reportWrite: ({ context }) => this.#reportWrite(context),
        reportFailure: ({ context, event }) => this.#reportFailure(context, event),
      },
    });
  }

  #arm(delayMs: number): void {
    this.#timer.arm(delayMs, () => this.#send({ type: 'LOOK_DUE', differs: this.#differs() }));
  }

  #abort(): void {
    this.#request?.abort();
    this.#request = undefined;
  }

  #send(event: TaintsEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #differs(): boolean {
    const node = this.#options.node();
    const wanted = this.#wanted();
    return node !== undefined && this.#changed(node, wanted) !== undefined;
  }

  #changed({ spec }: Node, wanted: readonly Taint[]): readonly Taint[] | undefined {
    const { clock, conditionTransitionPeriodMs } = this.#options;
    const now = clock.now();
    return changedTaints({
      current: spec?.taints ?? [],
      wanted,
      keepsEarlier: now - this.#startedMs < conditionTransitionPeriodMs,
      now: rfc3339(now),
    });
  }

  /** Each new problem is told once. */
  #wanted(): readonly Taint[] {
    const { conditions, logger } = this.#options;
    const { taints, problems } = taintsOfConditions(conditions.conditions());
    for (const problem of problems)
      if (!this.#told.has(problem)) logger.warn({}, `Eviction plugins: ${problem}`);
    this.#told = new Set(problems);
    return taints;
  }

  /** What comes after the abort is dropped: the machine waits for something else by then. */
  async #write(): Promise<void> {
    const { signal } = (this.#request = new AbortController());
    const event = await this.#written(signal).catch(failureOf);
    if (!signal.aborted) this.#send(event);
  }

  async #written(signal: AbortSignal): Promise<TaintsEvent> {
    const { api, node } = this.#options;
    const request = { signal, timeoutMs: REQUEST_TIMEOUT_MS, isOnlyForNow: true };
    const found = await api.get<Node>(this.#target, request);
    const { uid, resourceVersion } = found.metadata;
    if (uid !== node()?.metadata.uid) throw notOurs(this.#options.nodeName);
    const taints = this.#changed(found, this.#wanted());
    // The list is replaced as a whole. With its version, the object must not have got another taint since it was read.
    const patch = { metadata: { resourceVersion }, spec: { taints } };
    if (taints !== undefined) await api.patch<Node>(this.#target, patch, request);
    return { type: 'WRITTEN' };
  }

  #reportWrite({ problem }: TaintsContext): void {
    const names = taintsOfConditions(this.#options.conditions.conditions()).taints.map(textOf);
    const line = `Taints of plugins' conditions ${problem === undefined ? 'have been written' : 'can be written again'}`;
    this.#options.logger.info({ taints: names }, line);
  }

  /** Each new problem is a line, not each try. `context`: before the failure. */
  #reportFailure({ problem }: TaintsContext, event: TaintsEvent): void {
    if (!('problem' in event)) return;
    const line = `Conditions of plugins could not become taints of the node, which is tried again: ${event.problem}`;
    this.#options.logger[isSameProblem(event.problem, problem) ? 'debug' : 'warn']({}, line);
  }

  #failed(error: unknown): void {
    this.#timer.disarm();
    this.#abort();
    const message = `The actor of the node's taints failed, and does not run any more: ${errorMessage(error)}`;
    this.#options.logger.error({ err: error }, message);
  }
}

function textOf({ key, effect }: Taint): string {
  return `${key}:${effect}`;
}

function failureOf(error: unknown): TaintsEvent {
  const problem = errorMessage(error);
  if (hasReason(error, 'Conflict')) return { type: 'OUTDATED', problem };
  if (!(error instanceof ApiError)) return { type: 'WRITE_FAILED', problem, isRefused: false };
  const { status, retryAfterMs: askedMs } = error;
  const isRefused = status < 500 && ![401, 404, 429].includes(status);
  const told = status === 403 ? `${problem}: ${FORBIDDEN_REMEDY}` : problem;
  return { type: 'WRITE_FAILED', problem: told, isRefused, ...(askedMs !== undefined && { askedMs }) };
}

const FORBIDDEN_REMEDY =
  'name in evictionPlugins.taintsKubeconfig the kubeconfig of a user who may get and patch nodes; ' +
  'a node itself may change its taints only where the admission plugin NodeRestriction is off';

function notOurs(nodeName: string): StateletError {
  return new StateletError('Aborted', `the object of node ${nodeName} is not the one that is watched`);
}
