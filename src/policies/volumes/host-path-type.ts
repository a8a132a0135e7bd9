/** What a hostPath volume may be, by its type. */

/** What a path leads to when symbolic links are followed. */
export type FileKind = 'directory' | 'file' | 'socket' | 'character device' | 'block device' | 'other';

export interface HostPathCheck {
  /** What is created if nothing exists at the path. */
  readonly create?: { readonly kind: 'directory' | 'file'; readonly mode: number };
  /** Why the check failed, in the kubelet's words; undefined if it passed. */
  problem(path: string, found: FileKind | undefined): string | undefined;
}

const expects =
  (what: string, fits: (found: FileKind) => boolean) =>
  (path: string, found: FileKind | undefined): string | undefined =>
    found !== undefined && fits(found) ? undefined : `hostPath type check failed: ${path} is not a ${what}`;

const isDirectory = expects('directory', (found) => found === 'directory');
/** As in the kubelet, everything that is no directory counts as a file. */
const isFile = expects('file', (found) => found !== 'directory');

const CHECKS: ReadonlyMap<string, HostPathCheck> = new Map<string, HostPathCheck>([
  ['DirectoryOrCreate', { create: { kind: 'directory', mode: 0o755 }, problem: isDirectory }],
  ['Directory', { problem: isDirectory }],
  ['FileOrCreate', { create: { kind: 'file', mode: 0o644 }, problem: isFile }],
  ['File', { problem: isFile }],
  ['Socket', { problem: expects('socket file', (found) => found === 'socket') }],
  ['CharDevice', { problem: expects('character device', (found) => found === 'character device') }],
  ['BlockDevice', { problem: expects('block device', (found) => found === 'block device') }],
]);

/** Undefined for the type '', which has no check. */
export function hostPathCheck(type: string): HostPathCheck | undefined {
  if (type === '') return undefined;
  const check = CHECKS.get(type);
  return check ?? { problem: () => `${type} is an invalid volume type` };
}
