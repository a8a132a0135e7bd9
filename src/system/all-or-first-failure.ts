import { errorMessage, StateletError } from '../types/errors.ts';

/** Waits for all of it; rejects only then where some of it failed: nothing of it is under way any more. */
export async function allOrFirstFailure(work: readonly Promise<unknown>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).filter((result) => result.status === 'rejected');
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first.reason;
  throw new StateletError('Internal', failures.map(({ reason }) => errorMessage(reason)).join('; '), {
    cause: first.reason,
  });
}
