/**
 * The files, folders and sockets that a process has open. The number of all its descriptors says nothing of one part of the product: other parts open
 * and close some at any time.
 */
import { readdirSync, readFileSync, readlinkSync, watch } from 'node:fs';

/** Stands for a name that is longer than a path can be. Only tests that make such a tree have such files. */
const BEYOND_PATHS = 'deeper than a path';

interface Descriptor {
  readonly fd: string;
  readonly path: string;
}

/** The paths of the files and folders that a process has open, and the kinds of descriptors without a path. */
export function openFiles(pid: number | 'self' = 'self'): readonly string[] {
  return descriptors(pid).map(({ path }) => path);
}

/** How many descriptors of a process are of the place, or of files that are or were below it. */
export function openBelow(place: string, pid: number | 'self' = 'self'): number {
  const paths = openFiles(pid).map((path) => path.replace(/ \(deleted\)$/u, ''));
  return paths.filter((path) => [place, BEYOND_PATHS].includes(path) || path.startsWith(`${place}/`)).length;
}

/** Whether this process watches the file or folder. */
export function isWatched(place: string): boolean {
  const before = watchesInKernel();
  const another = watch(place);
  // A process has one watch of a file in the kernel, however often it asks for one.
  const isShared = watchesInKernel() === before;
  another.close();
  return isShared;
}

function watchesInKernel(): number {
  return descriptors('self')
    .filter(({ path }) => path === 'anon_inode:inotify')
    .map(({ fd }) => readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1').match(/^inotify /gmu)?.length ?? 0)
    .reduce((sum, watches) => sum + watches, 0);
}

function descriptors(pid: number | 'self'): readonly Descriptor[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [{ fd, path: readlinkSync(`${folder}/${fd}`) }];
    } catch (error) {
      // Otherwise it has been closed meanwhile.
      return (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG' ? [{ fd, path: BEYOND_PATHS }] : [];
    }
  });
}
