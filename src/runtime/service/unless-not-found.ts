import { errorKind } from '../../types/errors.ts';

/** The runtime's answer; undefined if it is NotFound. */
export async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorKind(error) === 'NotFound') return undefined;
    throw error;
  }
}
