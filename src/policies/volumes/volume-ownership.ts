/**
 * Modes of what a volume holds where the pod has an fsGroup. Ownership is given as things are made, so that nothing has to
 * be walked through later; `fsGroupChangePolicy` has no effect on these kinds of volumes, here as in the API.
 */
import type { Pod } from '../../types/kubernetes.ts';

const SETGID = 0o2000;
const GROUP_READ_WRITE = 0o060;
const GROUP_READ = 0o040;
const GROUP_EXECUTE = 0o010;
/** The kubelet gives the owner what it gives the group. */
const alsoForOwner = (groupBits: number): number => groupBits | (groupBits << 3);

export function podFsGroup({ spec }: Pod): number | undefined {
  return spec.securityContext?.fsGroup;
}

/** Of a volume's root: everybody may write, and with a group what is made in it belongs to the group. */
export function volumeRootMode(fsGroup: number | undefined): number {
  return fsGroup === undefined ? 0o777 : 0o777 | SETGID | alsoForOwner(GROUP_READ_WRITE | GROUP_EXECUTE);
}

/** Of a folder inside of a volume that containers only read. */
export function readOnlyFolderMode(fsGroup: number | undefined): number {
  return fsGroup === undefined ? 0o755 : 0o755 | SETGID | alsoForOwner(GROUP_READ | GROUP_EXECUTE);
}

/** Of a file in a volume that containers only read. */
export function readOnlyFileMode(mode: number, fsGroup: number | undefined): number {
  return fsGroup === undefined ? mode : mode | alsoForOwner(GROUP_READ);
}
