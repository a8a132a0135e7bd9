/** The actor that writes conditions of plugins as taints of an object, and its effects. */
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { ApiError, hasReason, isSameProblem } from '../../cluster/service/api-error.ts';
import { type TaintsFailure, taintsMachine } from '../../machines/taints-machine.ts';
import {
  changedTaints,
  type QosTaint,
  taintsOfConditions,
} from '../../policies/eviction-plugins/taints-of-conditions.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor } from '../agent-actor.ts';
import type { StandingConditions, TaintLoop } from './plugin-parts.ts';
import type { TaintedObject } from './tainted-objects.ts';

const REQUEST_TIMEOUT_MS = 30_000;
/** Reading and writing, and Katalyst's tolerance. */
const HEARTBEAT_MS = 2 * REQUEST_TIMEOUT_MS + 15_000;

export interface ConditionTaintsParts {
  readonly object: TaintedObject;
  readonly conditions: StandingConditions;
  /** How long a condition counts after it was last observed. Taints of an earlier run stay as long after the start. */
  readonly conditionTransitionPeriodMs: number;
}

export interface ConditionTaintsState {
  readonly state: string;
  /** Why the taints could not be written. */
  readonly problem: string | undefined;
}

export class ConditionTaints implements TaintLoop {
  readonly #context: ActorContext;
  readonly #parts: ConditionTaintsParts;
  readonly #actor: ActorRefFrom<typeof taintsMachine>;
  /** Why conditions cannot become taints, as it was logged last. */
  #loggedProblems: ReadonlySet<string> = new Set();
  #startedMs: number;
  /** When the write under way began. */
  #writingMs: number | undefined;

  constructor(context: ActorContext, parts: ConditionTaintsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#startedMs = context.clock.now();
    const { id, title } = parts.object;
    this.#actor = agentActor(context, this.#machine(), { id, title: `the taints of ${title}` });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get current(): ConditionTaintsState {
    const { value, context } = this.#actor.getSnapshot();
    return { state: value, problem: context.problem };
  }

  start(): void {
    this.#startedMs = this.#context.clock.now();
    this.#parts.object.start?.();
    this.#actor.start();
  }

  /**
   * As Katalyst's heartbeat: a problem if taints are not compared any more. A server that refuses, or does not answer, is none: they are compared
   * again later, and a restart of the agent would change nothing.
   */
  health(): string | undefined {
    const { title } = this.#parts.object;
    if (this.#actor.getSnapshot().status === 'error')
      return `the taints of ${title} are not compared with conditions of plugins any more`;
    const writingMs = this.#context.clock.now() - (this.#writingMs ?? Infinity);
    if (writingMs <= HEARTBEAT_MS) return undefined;
    return `the taints of ${title} have been under way for ${shortDuration(Math.round(writingMs))}`;
  }

  /** The taints stay as they are. */
  stop(): void {
    this.#actor.send({ type: 'STOP' });
    this.#parts.object.stop?.();
  }

  #machine(): typeof taintsMachine {
    const { logger } = this.#context;
    const { title } = this.#parts.object;
    return taintsMachine.provide({
      actors: { writeTaints: requestActor((_, signal) => this.#write(signal), failureOf) },
      actions: {
        reportWrite: ({ context: { problem } }) => {
          const taints = this.#wanted().map(textOf);
          const what = problem === undefined ? 'have been written' : 'can be written again';
          logger.info({ taints }, `Taints of ${title} for plugins' conditions ${what}`);
        },
        /** Logs a line for each new problem, not for each try. The context is from before the failure. */
        reportFailure: ({ context, event }) => {
          if (!('error' in event)) return;
          const { problem } = event.error;
          const line = `Conditions of plugins could not be written as taints of ${title}, which is tried again: ${problem}`;
          logger[isSameProblem(problem, context.problem) ? 'debug' : 'warn']({}, line);
        },
      },
    });
  }

  async #write(signal: AbortSignal): Promise<'Same' | 'Written'> {
    const { object } = this.#parts;
    const wanted = this.#wanted();
    const seen = object.seen();
    if (seen !== undefined) object.wanted?.(wanted);
    if (seen === undefined || this.#changed(seen, wanted) === undefined) return 'Same';
    this.#writingMs = this.#context.clock.now();
    try {
      const request = { signal, timeoutMs: REQUEST_TIMEOUT_MS, isOnlyForNow: true };
      await object.write((current) => this.#changed(current, this.#wanted()), request);
      return 'Written';
    } finally {
      this.#writingMs = undefined;
    }
  }

  #changed(current: readonly QosTaint[], wanted: readonly QosTaint[]): readonly QosTaint[] | undefined {
    const now = this.#context.clock.now();
    return changedTaints({
      current,
      wanted,
      keepsEarlier: now - this.#startedMs < this.#parts.conditionTransitionPeriodMs,
      now: rfc3339(now),
    });
  }

  /** Logs each new problem once. */
  #wanted(): readonly QosTaint[] {
    const { conditions, object } = this.#parts;
    const { taints, problems } = taintsOfConditions(conditions.conditions(), object.type);
    for (const problem of problems)
      if (!this.#loggedProblems.has(problem)) this.#context.logger.warn({}, `Eviction plugins: ${problem}`);
    this.#loggedProblems = new Set(problems);
    return taints;
  }
}

function textOf({ key, effect, qosLevel }: QosTaint): string {
  return `${key}:${qosLevel === undefined ? '' : `${qosLevel}/`}${effect}`;
}

function failureOf(error: unknown): TaintsFailure {
  const problem = errorMessage(error);
  const isOutdated = hasReason(error, 'Conflict');
  if (!(error instanceof ApiError)) return { problem, isOutdated, isRefused: false, askedMs: undefined };
  const { status, retryAfterMs: askedMs } = error;
  const isRefused = !isOutdated && status < 500 && ![401, 404, 429].includes(status);
  const withRemedy = status === 403 ? `${problem}: ${FORBIDDEN_REMEDY}` : problem;
  return { problem: withRemedy, isOutdated, isRefused, askedMs };
}

const FORBIDDEN_REMEDY =
  'name in evictionPlugins.taintsKubeconfig the kubeconfig of a user who may get and patch nodes, and where Katalyst is installed get, ' +
  'list, watch, create and update customnoderesources; a node itself may change its taints only where the admission plugin NodeRestriction is off';
