import { type QOSCgroups, uidOfPodCgroup } from '../../policies/cgroups/cgroup-names.ts';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CgroupHierarchy, findCgroupMounts } from '../../policies/cgroups/cgroup-mounts.ts';
import type { CgroupValue, CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import { makeFolderSync } from '../../../system/make-folder.ts';
import { errnoCode } from '../../../system/system-errors.ts';

/**
 * The kernel's cgroups as one tree: a path such as `/kubepods/burstable` stands for a folder in every hierarchy. Calls
 * are synchronous on purpose. The kernel answers them from memory, and a round trip through the thread pool costs more
 * CPU than the call itself (0.3 to 0.4 ms a pod in 8 hierarchies, against 0.5 to 0.9).
 */
export class CgroupTree {
  readonly version: CgroupVersion;
  readonly hierarchies: readonly CgroupHierarchy[];
  readonly #logger: Pick<Logger, 'warn'>;
  /** The warnings that were logged already. */
  readonly #warned = new Set<string>();

  /** Throws FailedPrecondition where no cgroups are mounted, or a controller of `needed` is missing. */
  constructor(mountinfoFile: string, needed: readonly string[], logger: Pick<Logger, 'warn'>) {
    const { version, hierarchies } = findCgroupMounts(readFileSync(mountinfoFile, 'utf8'));
    if (version === undefined) throw noCgroups(mountinfoFile);
    this.version = version;
    this.hierarchies = version === 1 ? hierarchies : hierarchies.map(withOwnControllers);
    this.#logger = logger;
    const missing = needed.filter((controller) => !this.#mountOf(controller));
    if (missing.length > 0) throw missingControllers(missing, this);
  }

  /** The folders of the cgroup in every hierarchy, whether they exist or not. */
  folders(path: string): readonly string[] {
    return this.hierarchies.map(({ mountPoint }) => join(mountPoint, path));
  }

  /** Asks one hierarchy, since cgroups are made in all of them. */
  exists(path: string): boolean {
    return existsSync(this.folder('memory', path));
  }

  folder(controller: string, path: string): string {
    const mountPoint = this.#mountOf(controller);
    if (mountPoint === undefined) throw missingControllers([controller], this);
    return join(mountPoint, path);
  }

  has(controller: string): boolean {
    return this.#mountOf(controller) !== undefined;
  }

  /** Whether the cgroup has the file: the controller exists and was delegated to the cgroup. */
  offers(path: string, { controller, file }: CgroupValue): boolean {
    return this.has(controller) && existsSync(join(this.folder(controller, path), file));
  }

  /** Makes a cgroup, and returns whether it is new. `recursive`: with the cgroups above it. */
  make(path: string, { recursive }: { readonly recursive: boolean }): boolean {
    let isNew = false;
    for (const { mountPoint, controllers } of this.hierarchies) {
      if (controllers.length > 0) isNew = makeGroup(join(mountPoint, path), recursive) || isNew;
    }
    return isNew;
  }

  /** Throws Internal for a value that cannot be written. An optional file that the kernel lacks is warned of once. */
  write(path: string, values: readonly CgroupValue[]): void {
    for (const { controller, file, value, optional } of values) {
      const target = join(this.folder(controller, path), file);
      try {
        writeFileSync(target, value);
      } catch (error) {
        if (!optional || existsSync(target)) throw cannotWrite(target, value, error);
        this.warnOnce(file, `This kernel has no ${file}: pods run without that limit`, { file });
      }
    }
  }

  /** Names of the cgroups directly below. */
  children(path: string): ReadonlySet<string> {
    return new Set(this.folders(path).flatMap(subfolders));
  }

  /** Once for each `about`: what is missing for one group is missing for all. */
  warnOnce(about: string, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.#warned.has(about)) return;
    this.#warned.add(about);
    this.#logger.warn(fields, message);
  }

  #mountOf(controller: string): string | undefined {
    return this.hierarchies.find(({ controllers }) => controllers.includes(controller))?.mountPoint;
  }
}

/** Throws the system's error. */
export function subfolders(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/**
 * The pods that have a group in the layout, by UID, with that group. `foldersOf`: the folders of a group in which they are looked for; one
 * that is not there has none.
 */
export function podsIn(
  { byClass, driver }: QOSCgroups,
  foldersOf: (group: string) => readonly string[],
): ReadonlyMap<string, string> {
  const pods = new Map<string, string>();
  for (const group of Object.values(byClass)) {
    for (const name of foldersOf(group).flatMap(namesIn)) {
      const uid = uidOfPodCgroup(name, driver);
      if (uid !== undefined) pods.set(uid, `${group}/${name}`);
    }
  }
  return pods;
}

/** Without asking which of them are folders: to list all pods of a full node takes time. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function makeGroup(folder: string, recursive: boolean): boolean {
  if (recursive) return makeFolderSync(folder);
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function withOwnControllers({ mountPoint }: CgroupHierarchy): CgroupHierarchy {
  const text = readFileSync(join(mountPoint, 'cgroup.controllers'), 'utf8');
  return { mountPoint, controllers: text.split(/\s+/).filter((name) => name !== '') };
}

const WITHOUT_CGROUPS = 'or set cgroupsPerQOS to false to run pods without cgroups of their own';

function noCgroups(mountinfoFile: string): StateletError {
  const message = `no cgroup file system is mounted (looked in ${mountinfoFile}): mount one at /sys/fs/cgroup`;
  return new StateletError('FailedPrecondition', `${message}, ${WITHOUT_CGROUPS}`);
}

function missingControllers(missing: readonly string[], { version, hierarchies }: CgroupTree): StateletError {
  const found = hierarchies.flatMap(({ controllers }) => controllers).join(', ') || 'none';
  const mend =
    version === 1
      ? `mount each, as in \`mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory\``
      : `${hierarchies[0]?.mountPoint ?? ''}/cgroup.controllers has to list each: in a container they must be delegated to it`;
  return new StateletError(
    'FailedPrecondition',
    `cgroup v${version} has no controller ${missing.join(', ')} (found: ${found}): ${mend}; the kernel may need ` +
      `\`cgroup_enable=${missing[0] ?? ''}\` on its command line; ${WITHOUT_CGROUPS}`,
  );
}

function cannotWrite(file: string, value: string, cause: unknown): StateletError {
  const message = `${file} cannot be set to "${value}": ${errorMessage(cause)}`;
  return new StateletError('Internal', message, { cause });
}
