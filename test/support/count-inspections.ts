import type { AnyActorRef } from 'xstate';

/** Returns the function that says how many inspect the system of the actor, of those that began after this call. */
export function countInspections({ system }: AnyActorRef): () => number {
  const inspect = system.inspect.bind(system);
  let count = 0;
  system.inspect = (observer) => {
    const inspection = inspect(observer);
    count += 1;
    return {
      unsubscribe: () => {
        count -= 1;
        inspection.unsubscribe();
      },
    };
  };
  return () => count;
}
