/** Whose transitions a command wants: those of a pod, or of the node. */
import { podOfActor, servesPodOf } from '../../policies/record/record-entry.ts';
import type { WantsActor } from '../../policies/record/record-reader.ts';
import { type NamespaceFlags, parsePodName } from '../client/chosen-pod.ts';

export interface ChosenActors {
  /** `the node`, `a pod "web" in namespace default`. */
  readonly what: string;
  readonly wants: WantsActor;
  /** Undefined for the node. */
  readonly pod?: { readonly namespace: string; readonly name: string };
}

/** `node`: those of the node. */
export function chosenActors(text: string, flags: NamespaceFlags): ChosenActors {
  if (text === 'node') return { what: 'the node', wants: ofNode };
  const { namespace = 'default', name } = parsePodName(text, flags);
  const wants: WantsActor = (actor, node) => servesPodOf(podOfActor(actor), { namespace, name }, node);
  return { what: `a pod "${name}" in namespace ${namespace}`, wants, pod: { namespace, name } };
}

/** With those who decide about pods for the whole node. */
export const ofNode: WantsActor = (actor) =>
  /^(?:preemption|pod-kill) /u.test(actor) || podOfActor(actor) === undefined;
