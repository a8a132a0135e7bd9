import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';

const DRAFT = '.tmp';

/** Where the new content is until it is whole. */
export function draftOf(path: string): string {
  return path + DRAFT;
}

/**
 * Writes a file so that others, and whoever comes after a kill in between, find the old content or the new one, whole.
 * Throws the error of the system, on a full disk, and leaves nothing beside the file then.
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

/** The same without holding up the process. `flush`: it is on the disk, and not only on its way, once this resolves. */
export async function replaceFile(
  path: string,
  content: string,
  options: { readonly mode: number; readonly flush?: boolean },
): Promise<void> {
  const draft = draftOf(path);
  try {
    await writeFile(draft, content, options);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** What a process left that was killed while it replaced the file. */
export function removeDraft(path: string): void {
  const draft = draftOf(path);
  if (existsSync(draft)) rmSync(draft, { force: true });
}

/** The file that a draft was to become; undefined for what is no draft. */
export function fileOfDraft(draft: string): string | undefined {
  return draft.endsWith(DRAFT) ? draft.slice(0, -DRAFT.length) : undefined;
}
