/**
 * The arrows of a machine's chart. Transitions with the same effect share one arrow. Actions that only change the context
 * (assign) are left out: a chart shows what the machine asks for.
 */
import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';

export interface Arrow {
  readonly source: AnyStateNode;
  /** Undefined: the event is handled without leaving the state. */
  readonly target?: AnyStateNode;
  /** `SyncPodKill [shortensGracePeriod] / abortStop` */
  readonly label: string;
}

/** In the order in which the machine tries them. Events with the same target, guard and actions share an arrow. */
export function arrowsOf(source: AnyStateNode): Arrow[] {
  const alike = new Map<string, { events: string[]; arrow: Omit<Arrow, 'label'>; rest: string }>();
  for (const { event, transition, index } of transitionsOf(source)) {
    const [target] = transition.target ?? [];
    const rest = guardLabel(transition, index) + actionsLabel(source, transition.actions);
    const key = `${target?.id ?? ''}|${rest}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { events: [event], arrow: { source, target }, rest });
    else known.events.push(event);
  }
  return Array.from(alike.values(), ({ events, arrow, rest }) => ({
    ...arrow,
    label: `${events.join(', ')}${rest}`.trim(),
  }));
}

/** `entry / startSync`, or an empty list. `actions` is one action, a list, or undefined. */
export function activityLabel(node: AnyStateNode, name: string, actions: unknown): string[] {
  const label = actionsLabel(node, actions === undefined ? [] : [actions].flat());
  return label === '' ? [] : [`${name}${label}`];
}

function transitionsOf(
  node: AnyStateNode,
): { event: string; transition: AnyTransitionDefinition; index: number }[] {
  const groups = [...node.transitions, ['', node.always ?? []] as const];
  return groups.flatMap(([event, transitions]) =>
    transitions.map((transition: AnyTransitionDefinition, index: number) => ({
      event: eventLabel(event),
      transition,
      index,
    })),
  );
}

/** Readable names for XState's own events. */
function eventLabel(type: string): string {
  return type
    .replace(/^xstate\.after\.([^.]*)\..*$/u, 'after $1')
    .replace(/^xstate\.done\.state\..*$/u, 'done')
    .replace(/^xstate\.(done|error|snapshot)\.actor\.(.*)$/u, '$1 $2');
}

function guardLabel({ guard }: AnyTransitionDefinition, index: number): string {
  if (guard !== undefined) return ` [${nameOf(guard)}]`;
  return index > 0 ? ' [else]' : '';
}

function actionsLabel(node: AnyStateNode, actions: readonly unknown[]): string {
  const known = node.machine.implementations.actions as Readonly<Record<string, unknown>>;
  const names = actions
    .filter((action) => !isAssign(typeof action === 'function' ? action : known[nameOf(action)]))
    .map(nameOf);
  return names.length === 0 ? '' : ` / ${names.join(', ')}`;
}

/** Whether an action only changes the context. */
export function isAssign(implementation: unknown): boolean {
  return (implementation as { type?: string } | undefined)?.type === 'xstate.assign';
}

function nameOf(implementation: unknown): string {
  if (typeof implementation === 'string') return implementation;
  if (typeof implementation === 'function')
    return implementation.name === '' ? 'inline' : implementation.name;
  return (implementation as { type: string }).type;
}
