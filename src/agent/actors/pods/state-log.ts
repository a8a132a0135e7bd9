/**
 * Log lines about the states of pods. With debug logging each transition is a line; else each way from one state of rest to another is
 * a line: `Syncing.Working → Syncing.Settled`.
 */
import { stateName } from '../transitions.ts';
import {
  type ActorOptions,
  type AnyActorLogic,
  type AnyActorRef,
  type InspectionEvent,
  type Subscription,
  toObserver,
} from 'xstate';
import type { PodSnapshot } from './pod-registry.ts';
import { type Logger, podFields } from '../../../types/logger.ts';

export type Inspect = (event: InspectionEvent) => void;
/** Which transitions of the pod charts are logged: each one, or in one line the way from one settled state to the next. */
export type StateLog = 'transitions' | 'ways';

/** Logs each inspection event before it is passed on. */
export function loggedBefore(
  which: StateLog,
  logger: Logger,
  next: ActorOptions<AnyActorLogic>['inspect'],
): Inspect {
  const log = which === 'ways' ? wayLog(logger) : transitionLog(logger);
  const others = toObserver(next);
  return (event) => {
    log(event);
    others.next?.(event);
  };
}

export function transitionLog(logger: Logger): Inspect {
  const states = new WeakMap<object, string>();
  return ofPods((actor, snapshot, { event }) => {
    const state = stateName(snapshot.value);
    const before = states.get(actor);
    states.set(actor, state);
    if (before === undefined || before === state) return;
    logger.debug({ ...fieldsOf(snapshot), from: before, to: state, event: event.type }, 'state');
  });
}

/** Logs each transition while it is switched on. Actors take more time while they are inspected. */
export function transitionLogSwitch(root: AnyActorRef, logger: Logger): (isOn: boolean) => void {
  let inspection: Subscription | undefined;
  return (isOn) => {
    if (isOn) inspection ??= root.system.inspect(transitionLog(logger));
    else {
      inspection?.unsubscribe();
      inspection = undefined;
    }
  };
}

/**
 * A way that ends where it began is not logged: a running pod is synced every minute. States before the start are logged if the pod had to wait in
 * them.
 */
export function wayLog(logger: Logger): Inspect {
  const ways = new WeakMap<object, string[]>();
  return ofPods((actor, snapshot) => {
    if (snapshot.hasTag('starting') && snapshot.context.delay === undefined) return;
    const state = stateName(snapshot.value);
    const way = ways.get(actor) ?? [];
    if (way.at(-1) !== state) way.push(state);
    ways.set(actor, snapshot.hasTag('atWork') ? way : [state]);
    if (snapshot.hasTag('atWork') || way.length === 1 || way[0] === state) return;
    logger.info(fieldsOf(snapshot), way.join(' → '));
  });
}

function ofPods(
  tell: (actor: object, snapshot: PodSnapshot, event: InspectionEvent & { type: '@xstate.snapshot' }) => void,
): Inspect {
  return (event) => {
    if (event.type !== '@xstate.snapshot') return;
    const snapshot = event.snapshot as unknown as PodSnapshot;
    if (isPod(snapshot)) tell(event.actorRef, snapshot, event);
  };
}

function isPod({ context }: Partial<PodSnapshot>): boolean {
  return context !== undefined && 'runtimeHolds' in context;
}

function fieldsOf({ context }: PodSnapshot): object {
  const { fullName, uid } = context;
  const [name = '', namespace = ''] = fullName.split('_');
  return podFields({ name, namespace, uid });
}
