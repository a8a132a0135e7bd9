/** The links by which log collectors find containers' logs: `/var/log/containers/<pod>_<namespace>_<container>-<id>.log`. */

const SUFFIX = '.log';
const FILE_NAME_MAX_LENGTH = 255;

/** The link's name in its folder; as with the kubelet, cut to the longest file name. */
export function containerLogLink(
  pod: { readonly name: string; readonly namespace: string },
  containerName: string,
  containerId: string,
): string {
  const name = `${pod.name}_${pod.namespace}_${containerName}-${containerId}`;
  return name.slice(0, FILE_NAME_MAX_LENGTH - SUFFIX.length) + SUFFIX;
}

/** Undefined for a name that is no such link. If the name was cut, this is the beginning of the id. */
export function containerIdOfLogLink(name: string): string | undefined {
  return /^[^_]+_[^_]+_.+-([^-]+)\.log$/.exec(name)?.[1];
}
