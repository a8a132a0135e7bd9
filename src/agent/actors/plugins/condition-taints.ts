/** The actor that tells conditions of plugins as taints of the node, and its effects. */
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { ApiError, hasReason, isSameProblem } from '../../cluster/service/api-error.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import { type TaintsFailure, taintsMachine } from '../../machines/taints-machine.ts';
import { changedTaints, taintsOfConditions } from '../../policies/eviction-plugins/taints-of-conditions.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Node, Taint } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor } from '../agent-actor.ts';
import type { StandingConditions } from './plugin-parts.ts';

const REQUEST_TIMEOUT_MS = 30_000;

export interface ConditionTaintsParts {
  /** With rights to read the Node object and to patch it. */
  readonly api: Pick<ApiServer, 'get' | 'patch'>;
  readonly nodeName: string;
  /** As the server told it last; undefined while it is not known, or is of another machine. */
  readonly node: () => Node | undefined;
  readonly conditions: StandingConditions;
  /** How long a condition counts after it was last observed: so long after the start, taints of an earlier run stay. */
  readonly conditionTransitionPeriodMs: number;
}

export interface ConditionTaintsState {
  readonly state: string;
  /** Why the taints could not be written. */
  readonly problem: string | undefined;
}

export class ConditionTaints {
  readonly #context: ActorContext;
  readonly #parts: ConditionTaintsParts;
  readonly #actor: ActorRefFrom<typeof taintsMachine>;
  /** Why conditions cannot become taints, as it was logged last. */
  #loggedProblems: ReadonlySet<string> = new Set();
  #startedMs: number;

  constructor(context: ActorContext, parts: ConditionTaintsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#startedMs = context.clock.now();
    this.#actor = agentActor(context, this.#machine(), { id: 'taints', title: "the node's taints" });
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
    this.#actor.start();
  }

  /** The taints stay as they are. */
  stop(): void {
    this.#actor.send({ type: 'STOP' });
  }

  #machine(): typeof taintsMachine {
    const { logger } = this.#context;
    return taintsMachine.provide({
      actors: { writeTaints: requestActor((_, signal) => this.#write(signal), failureOf) },
      actions: {
        reportWrite: ({ context: { problem } }) => {
          const taints = this.#wanted().map(textOf);
          const line = `Taints of plugins' conditions ${problem === undefined ? 'have been written' : 'can be written again'}`;
          logger.info({ taints }, line);
        },
        /** Each new problem is a line, not each try. The context is that before the failure. */
        reportFailure: ({ context, event }) => {
          if (!('error' in event)) return;
          const { problem } = event.error;
          const line = `Conditions of plugins could not become taints of the node, which is tried again: ${problem}`;
          logger[isSameProblem(problem, context.problem) ? 'debug' : 'warn']({}, line);
        },
      },
    });
  }

  async #write(signal: AbortSignal): Promise<'Same' | 'Written'> {
    const { api, node, nodeName } = this.#parts;
    const wanted = this.#wanted();
    const seen = node();
    if (seen === undefined || this.#changed(seen, wanted) === undefined) return 'Same';
    const target = { resource: 'nodes', name: nodeName } as const;
    const request = { signal, timeoutMs: REQUEST_TIMEOUT_MS, isOnlyForNow: true };
    const found = await api.get<Node>(target, request);
    const { uid, resourceVersion } = found.metadata;
    if (uid !== node()?.metadata.uid) throw notOurs(nodeName);
    const taints = this.#changed(found, this.#wanted());
    // The list is replaced as a whole. With its version, the object must not have got another taint since it was read.
    const patch = { metadata: { resourceVersion }, spec: { taints } };
    if (taints !== undefined) await api.patch<Node>(target, patch, request);
    return 'Written';
  }

  #changed({ spec }: Node, wanted: readonly Taint[]): readonly Taint[] | undefined {
    const now = this.#context.clock.now();
    return changedTaints({
      current: spec?.taints ?? [],
      wanted,
      keepsEarlier: now - this.#startedMs < this.#parts.conditionTransitionPeriodMs,
      now: rfc3339(now),
    });
  }

  /** Each new problem is told once. */
  #wanted(): readonly Taint[] {
    const { taints, problems } = taintsOfConditions(this.#parts.conditions.conditions());
    for (const problem of problems)
      if (!this.#loggedProblems.has(problem)) this.#context.logger.warn({}, `Eviction plugins: ${problem}`);
    this.#loggedProblems = new Set(problems);
    return taints;
  }
}

function textOf({ key, effect }: Taint): string {
  return `${key}:${effect}`;
}

function failureOf(error: unknown): TaintsFailure {
  const problem = errorMessage(error);
  const isOutdated = hasReason(error, 'Conflict');
  if (!(error instanceof ApiError)) return { problem, isOutdated, isRefused: false, askedMs: undefined };
  const { status, retryAfterMs: askedMs } = error;
  const isRefused = !isOutdated && status < 500 && ![401, 404, 429].includes(status);
  const told = status === 403 ? `${problem}: ${FORBIDDEN_REMEDY}` : problem;
  return { problem: told, isOutdated, isRefused, askedMs };
}

const FORBIDDEN_REMEDY =
  'name in evictionPlugins.taintsKubeconfig the kubeconfig of a user who may get and patch nodes; ' +
  'a node itself may change its taints only where the admission plugin NodeRestriction is off';

function notOurs(nodeName: string): StateletError {
  return new StateletError('Aborted', `the object of node ${nodeName} is not the one that is watched`);
}
