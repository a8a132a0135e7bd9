import type { AnyActorRef } from 'xstate';

/** Returns the function that counts the present inspections of the actor's system that began after this call. */
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
