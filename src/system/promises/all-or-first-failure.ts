import { errorMessage, StateletError } from '../../types/errors.ts';

/** Waits until all promises have settled, then rejects if some have failed: none is under way any more. */
export async function allOrFirstFailure(work: readonly Promise<unknown>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).filter((result) => result.status === 'rejected');
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first.reason;
  throw new StateletError('Internal', failures.map(({ reason }) => errorMessage(reason)).join('; '), {
    cause: first.reason,
  });
}
