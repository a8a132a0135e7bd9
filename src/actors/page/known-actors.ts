/**
 * The actors that run, without those of pods, which the registry has. XState keeps no list of them: an actor is known since its
 * creation where `see` heard of it, else from its next event on.
 */
import type { AnyActorRef, AnyStateNode, InspectionEvent } from 'xstate';
import type { ActorView } from '../../types/page/page-views.ts';

interface SeenLogic {
  readonly id?: string;
}

interface SeenSnapshot {
  readonly status: string;
  readonly _nodes?: readonly AnyStateNode[];
}

export class KnownActors {
  readonly #actors = new Map<string, AnyActorRef>();

  /** For `inspect` of the system. */
  readonly see = (event: InspectionEvent): void => {
    const isNew = event.type === '@xstate.event' && !this.#actors.has(event.actorRef.sessionId);
    if (isNew || event.type === '@xstate.actor') this.add(event.actorRef as AnyActorRef);
    if (event.type !== '@xstate.snapshot') return;
    const { status } = event.snapshot as { readonly status?: string };
    if (status !== 'active') this.#actors.delete(event.actorRef.sessionId);
  };

  add(actor: AnyActorRef): void {
    const chart = chartOf(actor);
    if (chart !== undefined && chart !== 'pod') this.#actors.set(actor.sessionId, actor);
  }

  /** Of that chart. */
  of(chart: string): readonly ActorView[] {
    const actors = [...this.#actors.values()].filter((actor) => chartOf(actor) === chart && isActive(actor));
    return actors.flatMap(actorView);
  }
}

function isActive(actor: AnyActorRef): boolean {
  return (actor.getSnapshot() as SeenSnapshot).status === 'active';
}

/** The name under which `statelet charts` prints it. */
function chartOf(actor: AnyActorRef): string | undefined {
  return (actor as unknown as { readonly logic?: SeenLogic }).logic?.id;
}

/** Empty for an actor that is no machine. */
export function actorView(actor: AnyActorRef): readonly ActorView[] {
  const { _nodes: nodes } = actor.getSnapshot() as SeenSnapshot;
  const chart = chartOf(actor);
  if (nodes === undefined || chart === undefined) return [];
  const innermost = nodes.filter(({ type }) => type === 'atomic' || type === 'final');
  return [{ chart, actor: actor.id, states: innermost.map(({ path }) => path.join('.')) }];
}
