/**
 * The steps by which a container gets its mounts in a mount namespace of its own. Nothing is made on the disk of the machine: where a mount
 * path does not exist, the nearest folder above it that does is replaced, in the namespace, by a folder in memory that has all its entries
 * and the missing ones.
 */
import { opendirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize, relative, resolve } from 'node:path';
import { isWithin, mountOf, type MountPoint } from '../../agent/policies/formats/mountinfo.ts';
import { errnoCode } from '../../system/system-errors.ts';
import type { Mount, MountPropagation } from '../../types/cri.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';

type Kind = 'folder' | 'file';
/** As `mount --make-…` has it. */
type Propagation = 'rprivate' | 'rslave';
/** `rw`, or the options of a mount that is read-only. */
type Access = string;

/** For the shell: its name, then its words. */
export type MountStep =
  /** Begins a folder in memory. */
  | readonly ['begin', options: string]
  | readonly ['link', name: string, target: string]
  /** `line`: the mount, as a table of file systems has it. */
  | readonly ['keep', entry: string, name: string, line: string]
  /** Mounts what is kept, all of it by one program: one for each entry would take seconds. */
  | readonly ['binds']
  | readonly ['folder' | 'file', path: string]
  /** Puts the folder in memory in the place of the root, or of a folder. */
  | readonly ['root']
  | readonly ['end', folder: string]
  | readonly ['bind', Propagation, Access, source: string, target: string]
  /** Mounts in a volume that is mounted already. */
  | readonly ['inside', Propagation, Access, Kind, source: string, volume: string, path: string];

/** A folder with more is not replaced: each entry is a mount, of which the kernel has 100,000 for each namespace. */
const ENTRIES_MAX = 1_000;
const STAND_IN_BYTES = 64 * 1024 * 1024;
const MODE_BITS = 0o7777;

const PROPAGATIONS: Readonly<Record<MountPropagation, Propagation | undefined>> = {
  PROPAGATION_PRIVATE: 'rprivate',
  PROPAGATION_HOST_TO_CONTAINER: 'rslave',
  PROPAGATION_BIDIRECTIONAL: undefined,
};

/** Throws a StateletError of kind InvalidArgument for a mount that a process of this machine cannot have. */
export function checkMounts(mounts: readonly Mount[], container: string): void {
  for (const { containerPath, hostPath, propagation } of mounts) {
    const problem = problemOf(containerPath, hostPath, propagation);
    if (problem === undefined) continue;
    const message = `container "${container}" cannot have its mount at ${containerPath}: ${problem}`;
    throw new StateletError('InvalidArgument', message);
  }
}

function problemOf(
  containerPath: string,
  hostPath: string,
  propagation: MountPropagation,
): string | undefined {
  if (hostPath === '') return 'the embedded runtime has no images';
  if (pathOf(containerPath) === '/') return 'the root of the machine stays as it is';
  if (PROPAGATIONS[propagation] === undefined)
    return 'mountPropagation Bidirectional needs a CRI runtime: here no mount of a container reaches the machine';
  return undefined;
}

/** Throws a StateletError of kind FailedPrecondition where a mount is not possible. `table`: what is mounted on the machine. */
export function mountSteps(mounts: readonly Mount[], table: readonly MountPoint[]): readonly MountStep[] {
  const plan = new MountPlan(table);
  const inOrder = mounts.toSorted((a, b) => depthOf(a.containerPath) - depthOf(b.containerPath));
  for (const mount of inOrder) plan.add(mount);
  return plan.steps();
}

interface Placed {
  /** As the container names it. */
  readonly path: string;
  /** Without links of the machine. */
  readonly place: string;
}

class MountPlan {
  readonly #table: readonly MountPoint[];
  readonly #placed: Placed[] = [];
  /** By the folder that they stand for, what they have in addition: paths below it. */
  readonly #standIns = new Map<string, Map<string, Kind>>();
  readonly #binds: MountStep[] = [];

  constructor(table: readonly MountPoint[]) {
    this.#table = table;
  }

  add(mount: Mount): void {
    const path = pathOf(mount.containerPath);
    const outer = this.#placed.findLast((placed) => isBelow(placed.path, path));
    if (outer) {
      this.#addInside(mount, path, outer.place, relative(outer.path, path));
      return;
    }
    const { existing, missing } = existingPart(path);
    const place = join(existing, ...missing);
    const volume = this.#placed.findLast((placed) => isBelow(placed.place, place));
    if (volume) this.#addInside(mount, path, volume.place, relative(volume.place, place));
    else this.#addOnMachine(mount, path, existing, missing);
  }

  steps(): readonly MountStep[] {
    const outermostFirst = [...this.#standIns].toSorted(([a], [b]) => depthOf(a) - depthOf(b));
    return [...outermostFirst.flatMap(([folder, missing]) => standIn(folder, missing)), ...this.#binds];
  }

  #addInside(mount: Mount, path: string, volume: string, below: string): void {
    this.#placed.push({ path, place: join(volume, below) });
    const kind = kindOfSource(mount);
    this.#binds.push(['inside', ...this.#how(mount), kind, mount.hostPath, volume, below]);
  }

  #addOnMachine(mount: Mount, path: string, existing: string, missing: readonly string[]): void {
    const kind = kindOfSource(mount);
    const place = join(existing, ...missing);
    this.#placed.push({ path, place });
    if (kindAt(existing) !== (missing.length > 0 ? 'folder' : kind)) throw wrongKind(mount, kind, existing);
    if (missing.length > 0) {
      const additions = this.#standIns.get(existing) ?? new Map<string, Kind>();
      this.#standIns.set(existing, additions.set(join(...missing), kind));
    }
    this.#binds.push(['bind', ...this.#how(mount), mount.hostPath, place]);
  }

  #how({ hostPath, readonly: isReadOnly, propagation }: Mount): [Propagation, Access] {
    const flags = mountOf(this.#table, hostPath)?.flags ?? [];
    // A mount that is changed loses the flags that are not named, and some of them it must not lose.
    const kept = flags.filter((flag) => !['ro', 'rw'].includes(flag));
    return [
      PROPAGATIONS[propagation] ?? 'rprivate',
      isReadOnly ? ['ro', ...kept].join(',') : ('rw' satisfies Access),
    ];
  }
}

/** The folder in memory that has all entries of the folder, and what is missing. */
function standIn(folder: string, missing: ReadonlyMap<string, Kind>): readonly MountStep[] {
  const additions = [...missing].flatMap(([path, kind]): MountStep[] =>
    kind === 'folder'
      ? [['folder', path]]
      : [...(dirname(path) === '.' ? [] : [['folder', dirname(path)] as const]), ['file', path]],
  );
  return [
    ['begin', tmpfsOptions(folder)],
    ...entriesOf(folder),
    ['binds'],
    ...additions,
    folder === '/' ? ['root'] : ['end', folder],
  ];
}

/** Root can give the folder its owner as well; in a user namespace it belongs to the only user that there is. */
function tmpfsOptions(folder: string): string {
  const { mode, uid, gid } = statSync(folder);
  const owner = process.getuid?.() === 0 ? `,uid=${uid},gid=${gid}` : '';
  return `nosuid,nodev,size=${STAND_IN_BYTES},mode=${(mode & MODE_BITS).toString(8)}${owner}`;
}

function entriesOf(folder: string): readonly MountStep[] {
  const steps: MountStep[] = [];
  const opened = opendirSync(folder);
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      if (steps.length === ENTRIES_MAX) throw tooMany(folder);
      const { name } = entry;
      // A name that is no UTF-8 cannot be passed to a program.
      if (name.includes('\uFFFD')) continue;
      const path = join(folder, name);
      if (!entry.isSymbolicLink()) steps.push(['keep', path, name, bindLine(path, name)]);
      else steps.push(['link', name, readlinkSync(path)]);
    }
  } finally {
    opened.closeSync();
  }
  return steps;
}

/** For the folder in memory as the working directory. */
function bindLine(path: string, name: string): string {
  return `${tableWord(path)} ./${tableWord(name)} none rbind 0 0`;
}

/** A table has blanks between its words, and octal numbers for those within. */
function tableWord(text: string): string {
  return text.replaceAll(
    /[ \t\n\\#]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
}

/** The part of the path that exists on the machine, without links, and the names that are missing. */
function existingPart(path: string): { existing: string; missing: readonly string[] } {
  for (let existing = path, missing: readonly string[] = []; ;) {
    try {
      return { existing: realpathSync(existing), missing };
    } catch (error) {
      if (errnoCode(error) !== 'ENOENT') throw unusable(path, errorMessage(error), error);
      missing = [basename(existing), ...missing];
      existing = dirname(existing);
    }
  }
}

function kindOfSource({ containerPath, hostPath }: Mount): Kind {
  try {
    return kindAt(hostPath);
  } catch (error) {
    throw unusable(containerPath, errorMessage(error), error);
  }
}

/** Everything that is no folder counts as a file: a socket, a device. */
function kindAt(path: string): Kind {
  return statSync(path).isDirectory() ? 'folder' : 'file';
}

function pathOf(containerPath: string): string {
  return resolve('/', normalize(containerPath));
}

function depthOf(path: string): number {
  return pathOf(path)
    .split('/')
    .filter((name) => name !== '').length;
}

function isBelow(folder: string, path: string): boolean {
  return path !== folder && isWithin(folder, path);
}

function wrongKind({ containerPath, hostPath }: Mount, kind: Kind, existing: string): StateletError {
  const problem = `${hostPath} is a ${kind}, and ${existing} of this machine is not`;
  return unusable(containerPath, `${problem}: choose a mountPath that does not exist, or is a ${kind}`);
}

function tooMany(folder: string): StateletError {
  return unusable(
    folder,
    `a mount point below it is missing, and it has more than ${ENTRIES_MAX} entries: make the mount point, or choose another`,
  );
}

function unusable(path: string, problem: string, cause?: unknown): StateletError {
  return new StateletError('FailedPrecondition', `nothing can be mounted at ${path}: ${problem}`, { cause });
}
