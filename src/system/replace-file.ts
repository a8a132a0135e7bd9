import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';

const DRAFT = '.tmp';

/** The file that has the new content until it is complete. */
export function draftOf(path: string): string {
  return path + DRAFT;
}

/**
 * Replaces a file. Readers find the whole old content or the whole new one, also after this process was killed in between.
 * Throws the system's error, for example on a full disk, and then leaves no draft.
 */
export function replaceFileSync(path: string, content: string, mode: number): void {
  const draft = draftOf(path);
  try {
    writeFileSync(draft, content, { mode });
    renameSync(draft, path);
  } catch (error) {
    removeDraft(path);
    throw error;
  }
}

interface ReplaceOptions {
  readonly mode: number;
  readonly flush?: boolean;
  /** Another name for the draft, in the same folder. With `flag: 'wx'` nothing may be there, not even a link. */
  readonly draft?: string;
  readonly flag?: 'wx';
}

/** The same without blocking the event loop. With `flush`, the content is on the disk when this resolves. */
export async function replaceFile(
  path: string,
  content: string | Buffer,
  { draft = draftOf(path), ...options }: ReplaceOptions,
): Promise<void> {
  try {
    await writeFile(draft, content, options);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

export function removeDraft(path: string): void {
  const draft = draftOf(path);
  if (existsSync(draft)) rmSync(draft, { force: true });
}

/** The file that a draft is for; undefined for a name that is not a draft's. */
export function fileOfDraft(draft: string): string | undefined {
  return draft.endsWith(DRAFT) ? draft.slice(0, -DRAFT.length) : undefined;
}
