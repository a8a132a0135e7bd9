/** Prepares the events of a pod for the comparison. Pure. */
import type { AgentEvent } from './agent.ts';
import { type Names, normaliseText } from './normalise.ts';

export interface ObservedEvent extends AgentEvent {
  /** Whether the event came after the pod's manifest was withdrawn. */
  readonly isAtEnd: boolean;
}

/**
 * The events as texts, each once: how often one comes depends on timing. `restarting`: the containers that are started again and
 * again.
 */
export function eventLines(
  events: readonly ObservedEvent[],
  restarting: ReadonlySet<string>,
  names: Names,
): Readonly<Record<string, 'told'>> {
  const lines = events
    .filter((event) => !event.isAtEnd || !dependsOnTiming(event, restarting))
    .map(({ type, reason, message, container }) => {
      const about = container === undefined ? '' : ` of ${container}`;
      return normaliseText(`${type} ${reason}${about}: ${message}`, names);
    });
  return Object.fromEntries(lines.map((line) => [line, 'told']));
}

/** At the end of a pod: whether a probe fails once more, and whether a container that restarts is running just then. */
function dependsOnTiming({ reason, container }: AgentEvent, restarting: ReadonlySet<string>): boolean {
  return reason === 'Unhealthy' || (container !== undefined && restarting.has(container));
}
