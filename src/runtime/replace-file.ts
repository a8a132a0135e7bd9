import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const DRAFT = '.tmp';

/**
 * Writes a file so that others, and whoever comes after a kill in between, find the old content or the new one, whole.
 * Throws the error of the system, on a full disk, and leaves nothing beside the file then.
 */
export function replaceFile(path: string, content: string, mode: number): void {
  const draft = path + DRAFT;
  try {
    writeFileSync(draft, content, { mode });
    renameSync(draft, path);
  } catch (error) {
    removeDraft(path);
    throw error;
  }
}

/** What a process left that was killed while it replaced the file. */
export function removeDraft(path: string): void {
  const draft = path + DRAFT;
  if (existsSync(draft)) rmSync(draft, { force: true });
}

/** The file that a draft was to become; undefined for what is no draft. */
export function fileOfDraft(draft: string): string | undefined {
  return draft.endsWith(DRAFT) ? draft.slice(0, -DRAFT.length) : undefined;
}
