/** Links by which log collectors find the logs of containers, `/var/log/containers/<pod>_<namespace>_<container>-<id>.log`. */

const SUFFIX = '.log';
const FILE_NAME_MAX_LENGTH = 255;

/** The link's name in its folder; cut to what a file name may be, as the kubelet does. */
export function containerLogLink(
  pod: { readonly name: string; readonly namespace: string },
  containerName: string,
  containerId: string,
): string {
  const name = `${pod.name}_${pod.namespace}_${containerName}-${containerId}`;
  return name.slice(0, FILE_NAME_MAX_LENGTH - SUFFIX.length) + SUFFIX;
}

/** Undefined for what is no such link. Of a name that was cut, the beginning of the id. */
export function containerIdOfLogLink(name: string): string | undefined {
  return /^[^_]+_[^_]+_.+-([^-]+)\.log$/.exec(name)?.[1];
}
