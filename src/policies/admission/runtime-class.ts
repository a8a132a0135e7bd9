import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';

/**
 * The runtime handler of a pod's RuntimeClass; undefined: the runtime's default. `handlers`: the handlers of the classes that
 * this node knows. Throws a StateletError of kind FailedPrecondition for any other class: a pod that asks for a special
 * sandbox must not silently get an ordinary one.
 */
export function runtimeHandler(
  { spec: { runtimeClassName } }: Pod,
  handlers: ReadonlyMap<string, string>,
): string | undefined {
  if (!runtimeClassName) return undefined;
  const handler = handlers.get(runtimeClassName);
  if (handler !== undefined) return handler === '' ? undefined : handler;
  const known = [...handlers.keys()].join(', ') || 'none';
  throw new StateletError(
    'FailedPrecondition',
    `RuntimeClass "${runtimeClassName}" not found: this node knows ${known}; leave spec.runtimeClassName out`,
  );
}
