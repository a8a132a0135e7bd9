import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';

/** The RuntimeClasses that the node knows, as they are now. */
export interface RuntimeClasses {
  /** Handlers by the names of their classes. An empty handler is the runtime's default. */
  readonly handlers: ReadonlyMap<string, string>;
  /** Whether they come from the API server, and not only from the node's own settings. */
  readonly areOfCluster: boolean;
}

/** The classes that the settings of the node name, each as `NAME=HANDLER`. */
export function runtimeClassesOf(texts: readonly string[]): RuntimeClasses {
  return { handlers: new Map(texts.map(nameAndHandler)), areOfCluster: false };
}

function nameAndHandler(text: string): [string, string] {
  const [name = '', handler = ''] = text.split('=');
  return [name, handler];
}

/**
 * The runtime handler of a pod's RuntimeClass; undefined: the runtime's default. Throws a StateletError of kind FailedPrecondition
 * for a class that is not known: a pod that asks for a special sandbox must not silently get an ordinary one.
 */
export function runtimeHandler(pod: Pod, classes: RuntimeClasses): string | undefined {
  const { runtimeClassName } = pod.spec;
  if (runtimeClassName && !classes.handlers.has(runtimeClassName))
    throw new StateletError('FailedPrecondition', unknownClass(runtimeClassName, classes));
  return knownRuntimeHandler(pod, classes);
}

/** The same for a pod whose sandbox exists: that its class is gone since then does not matter any more. */
export function knownRuntimeHandler({ spec }: Pod, { handlers }: RuntimeClasses): string | undefined {
  const handler = handlers.get(spec.runtimeClassName ?? '');
  return handler === '' ? undefined : handler;
}

/** The kubelet's words. */
function unknownClass(name: string, { handlers, areOfCluster }: RuntimeClasses): string {
  const problem = `runtimeclass.node.k8s.io "${name}" not found`;
  if (areOfCluster) return problem;
  const known = [...handlers.keys()].join(', ') || 'none';
  return `${problem}: this node knows ${known}; leave spec.runtimeClassName out`;
}
