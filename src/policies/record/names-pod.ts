/** Whether what an event said names a pod: by its UID, alone or at the end of an actor's name, or by namespace and name. */

interface NamedPod {
  readonly uids: Iterable<string>;
  readonly isNamed: (namespace: string, name: string) => boolean;
}

/** `said`: as a record's reader gives it. */
export function namesPod(said: unknown, pod: NamedPod): boolean {
  if (typeof said === 'string') {
    for (const uid of pod.uids) if (said.endsWith(uid)) return true;
    return false;
  }
  if (typeof said !== 'object' || said === null) return false;
  if (said instanceof Map || said instanceof Set || Array.isArray(said))
    return Array.from(said as Iterable<unknown>).some((item) => namesPod(item, pod));
  const { namespace, name } = said as Readonly<Record<string, unknown>>;
  if (typeof namespace === 'string' && typeof name === 'string' && pod.isNamed(namespace, name)) return true;
  return Object.values(said).some((field) => namesPod(field, pod));
}
