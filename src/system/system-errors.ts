/** The code of a failed system call (`ENOENT`, …); undefined for any other error. */
export function errnoCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** Whether a disk is full, or the quota of its user is used up. */
export function isOutOfSpace(error: unknown): boolean {
  const code = errnoCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Whether a call of `node:fs` failed because the path does not exist. */
export function isAbsence(error: unknown): boolean {
  const code = errnoCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Undefined where the path does not exist. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
