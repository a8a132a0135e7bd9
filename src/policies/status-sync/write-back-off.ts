const FIRST_MS = 1_000;
const MAX_MS = 10_000;

/** How long nothing is written after so many failures in a row. `askedMs`: what the API server asked for. */
export function writeBackOffMs(failures: number, askedMs = 0): number {
  return Math.max(Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS), askedMs);
}
