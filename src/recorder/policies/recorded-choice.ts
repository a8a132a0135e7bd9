/** Why this pod and not another one, from what the flight recorder has of the charts that choose among pods. */
import type { Transition } from '../../types/transition.ts';
import { describeMissing, describeVictims } from '../../agent/policies/preemption/preemption-message.ts';
import type { PreemptionDecision } from '../../agent/policies/preemption/victims.ts';
import { podOfActor } from './record-entry.ts';
import { NAMED_MAX } from './recorded-data.ts';
import type { Choice, EndCause } from '../../agent/policies/why/end-cause.ts';
import { listAt, memberOf, textAt } from './recorded-life.ts';
import type { RecordedLife } from '../../agent/policies/why/why-gone.ts';

/** A choice and the kill that follows from it are one step of the agent: they lie no further apart, also in a slow one. */
const SAME_STEP_MS = 1_000;
/** An agent that ends with its pods may take so long until it has begun to end each. */
const AGENT_END_MS = 600_000;

/** The transitions of the record that may contain a choice. */
export interface ChoiceQuestion {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly wants: (actor: string) => boolean;
  readonly keeps: (transition: Transition) => boolean;
}

/** Undefined where no chart of the node can have decided about the pod. */
export function choiceQuestion({ end }: RecordedLife): ChoiceQuestion | undefined {
  if (end === undefined || !CHOSEN.has(end.cause)) return undefined;
  const { toldMs } = end;
  return {
    sinceMs: toldMs - AGENT_END_MS,
    untilMs: toldMs + SAME_STEP_MS,
    wants: (actor) => /^(?:eviction|shutdown|supervisor|preemption .+)$/u.test(actor),
    keeps: (transition) => endsAllPods(transition) || isNear(transition, toldMs),
  };
}

const CHOSEN: ReadonlySet<EndCause> = new Set(['Evicted', 'Preempted', 'Unwanted', 'Killed']);

export interface RecordedChoice {
  /** More exact than what the pod's own chart says. */
  readonly cause: EndCause;
  readonly choice?: Choice;
}

/** `transitions`: those of the question, the oldest first. Undefined where they say nothing of the pod. */
export function recordedChoice(
  life: RecordedLife,
  transitions: readonly Transition[],
): RecordedChoice | undefined {
  const { end, uid } = life;
  if (end === undefined) return undefined;
  const near = transitions.filter((transition) => isNear(transition, end.toldMs));
  for (const transition of near.toReversed()) {
    const choice = preemptionChoice(transition, uid) ?? evictionChoice(transition, uid);
    if (choice !== undefined) return choice;
  }
  if (transitions.some(endsAllPods) && end.cause !== 'Evicted' && end.cause !== 'Preempted')
    return { cause: 'AgentEnded' };
  return end.cause === 'Killed' ? guessed(near) : undefined;
}

function preemptionChoice(
  { chart, event, actor, data }: Transition,
  uid: string,
): RecordedChoice | undefined {
  if (chart !== 'preemption' || event !== 'VICTIMS_SELECTED') return undefined;
  const decision = memberOf(data, 'decision');
  const victims = listAt(decision, 'victims').map((victim) => memberOf(victim, 'candidate'));
  if (!victims.some((candidate) => textAt(candidate, 'uid') === uid)) return undefined;
  const preemptor = podOfActor(actor);
  const order = victims.map(nameOf);
  const candidates = listAt(decision, 'candidates').map(nameOf);
  const notChosen = candidates.filter((name) => !order.includes(name));
  return {
    cause: 'Preempted',
    choice: {
      ...(preemptor && { preemptor: `${preemptor.namespace}/${preemptor.name}` }),
      ...(isWhole(decision)
        ? {
            missing: describeMissing(decision),
            how:
              `missing ${describeMissing(decision)}; in this order: ${describeVictims(decision.victims)}` +
              notChosenText(notChosen, candidates.length >= NAMED_MAX),
          }
        : { how: '' }),
      order,
      ...(notChosen.length > 0 && { notChosen }),
    },
  };
}

/** `mayBeMore`: only the first candidates are recorded. */
function notChosenText(names: readonly string[], mayBeMore: boolean): string {
  if (names.length === 0) return '';
  return `; not chosen${mayBeMore ? ', among others' : ''}: ${names.join(', ')}`;
}

/** Whether the record has the figures: another version may have others. */
function isWhole(decision: unknown): decision is PreemptionDecision {
  const areNumbers = (list: readonly unknown[], name: string) =>
    list.every((item) => typeof memberOf(item, name) === 'number');
  return (
    areNumbers(listAt(decision, 'missing'), 'amount') &&
    Array.isArray(memberOf(decision, 'missing')) &&
    areNumbers(listAt(decision, 'victims'), 'distance')
  );
}

function evictionChoice({ chart, event, data }: Transition, uid: string): RecordedChoice | undefined {
  if (chart !== 'eviction') return undefined;
  const choice = memberOf(data, 'choice');
  const ofLimits = listAt(memberOf(data, 'evaluation'), 'overLimit');
  const evictions =
    event === 'RANKED' ? [memberOf(choice, 'eviction')] : event === 'EVALUATED' ? ofLimits : [];
  const own = evictions.find((eviction) => textAt(memberOf(eviction, 'pod'), 'uid') === uid);
  if (own === undefined) return undefined;
  const candidates = listAt(memberOf(choice, 'ranking'), 'candidates');
  return { cause: 'Evicted', choice: { how: textAt(own, 'why'), order: candidates.map(nameOf) } };
}

function nameOf(pod: unknown): string {
  return `${textAt(pod, 'namespace')}/${textAt(pod, 'name')}`;
}

function isNear({ chart, event, atMs }: Transition, toldMs: number): boolean {
  return atMs >= toldMs - SAME_STEP_MS && (chart !== 'supervisor' || event === 'CONFIG.REMOVE');
}

function endsAllPods({ chart, from, to }: Transition): boolean {
  return chart === 'supervisor' && to.includes('EndingPods') && !from.includes('EndingPods');
}

/** For a record of an older version, which has only states: the chart that was choosing pods when this pod was told to end. */
function guessed(near: readonly Transition[]): RecordedChoice | undefined {
  const makers = near.filter(
    ({ chart, from, to }) => chart === 'preemption' && to === 'Evicting' && from !== to,
  );
  const [maker] = makers;
  if (maker !== undefined) {
    const pod = makers.length === 1 ? podOfActor(maker.actor) : undefined;
    const preemptor = pod && { preemptor: `${pod.namespace}/${pod.name}` };
    return { cause: 'Preempted', choice: { ...preemptor, how: '', order: [] } };
  }
  if (near.some(({ chart, to, from }) => chart === 'eviction' && isEvicting(to) && !isEvicting(from)))
    return { cause: 'Evicted' };
  const isShutdown = near.some(({ chart, to }) => chart === 'shutdown' && to.includes('EndingGroup'));
  if (isShutdown) return { cause: 'NodeShutdown' };
  return near.some(({ event }) => event === 'CONFIG.REMOVE') ? { cause: 'Unwanted' } : undefined;
}

const isEvicting = (states: string): boolean => states.includes('Pass.Evicting');
