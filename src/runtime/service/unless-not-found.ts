import { errorKind } from '../../types/errors.ts';

/** What the runtime answers of a thing; undefined where there is no such thing. */
export async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorKind(error) === 'NotFound') return undefined;
    throw error;
  }
}
