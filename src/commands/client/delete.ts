/** `statelet delete`: ends pods of manifests, static and ordinary ones, until their manifests change. */
import { parseDuration } from '../../agent/policies/formats/duration.ts';
import { STATE_ANNOTATION } from '../../agent/server/routes/local-routes.ts';
import { errorKind, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { chosenPod, type NamespaceFlags, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';

export interface DeleteFlags extends FolderFlags, NamespaceFlags {
  readonly all?: boolean;
  readonly gracePeriod?: number;
  readonly now?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly ignoreNotFound?: boolean;
  readonly output?: 'name';
}

/** Writes a line for each pod. With `wait`, each line comes when the containers of its pod have ended. */
export async function deletePods(
  names: readonly string[],
  flags: DeleteFlags,
  write: (text: string) => void,
): Promise<void> {
  if (names.length === 0 && flags.all !== true)
    throw new StateletError('InvalidArgument', 'name the pods that are to be deleted, or give --all');
  if (names.length > 0 && flags.all === true)
    throw new StateletError('InvalidArgument', '--all takes no names of pods');
  const timeoutMs = timeoutOf(flags.timeout);
  await withDaemon(flags, async (daemon) => {
    const pods = flags.all === true ? await allPods(daemon, flags) : await namedPods(daemon, names, flags);
    if (pods.length === 0 && flags.all === true) write('No pods.\n');
    await Promise.all(
      pods.map(async (pod) => {
        await deletePod(daemon, pod, flags, timeoutMs);
        write(lineOf(pod, flags));
      }),
    );
  });
}

/** Pods that have been deleted already are left out. */
async function allPods(
  daemon: DaemonConnection,
  { namespace = 'default' }: DeleteFlags,
): Promise<readonly Pod[]> {
  const pods = await podsOf(daemon);
  return pods.filter(({ metadata }) => {
    const state = metadata.annotations?.[STATE_ANNOTATION];
    return metadata.namespace === namespace && state !== 'Terminated.Finished';
  });
}

async function namedPods(
  daemon: DaemonConnection,
  names: readonly string[],
  flags: DeleteFlags,
): Promise<readonly Pod[]> {
  const found = await Promise.all(
    names.map((name) =>
      chosenPod(daemon, name, flags).catch((error: unknown) => {
        if (flags.ignoreNotFound === true && errorKind(error) === 'NotFound') return undefined;
        throw error;
      }),
    ),
  );
  return found.filter((pod) => pod !== undefined);
}

async function deletePod(
  daemon: DaemonConnection,
  { metadata: { namespace, name } }: Pod,
  { gracePeriod, now, wait = true }: DeleteFlags,
  timeoutMs: number,
): Promise<void> {
  const query = new URLSearchParams();
  const seconds = now === true ? 1 : gracePeriod;
  if (seconds !== undefined && seconds >= 0) query.set('gracePeriodSeconds', String(seconds));
  if (wait) query.set('wait', 'true');
  const path = `/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}?${query.toString()}`;
  const signal = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
  try {
    await daemon.json(path, { method: 'DELETE', signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    const message = `timed out waiting for pod ${namespace}/${name} to end; it goes on ending`;
    throw new StateletError('DeadlineExceeded', message);
  }
}

function lineOf({ metadata: { namespace, name } }: Pod, { output, wait = true }: DeleteFlags): string {
  if (output === 'name') return `pod/${name}\n`;
  const done = wait ? 'deleted' : 'is being deleted';
  return `pod "${name}" ${done} from ${namespace} namespace; it starts again when its manifest changes\n`;
}

/** 0: no limit. */
function timeoutOf(text: string | undefined): number {
  if (text === undefined || text === '0') return 0;
  const timeoutMs = parseDuration(text);
  if (timeoutMs === undefined || timeoutMs < 0)
    throw new StateletError('InvalidArgument', `--timeout: "${text}" is no duration such as 30s or 2m`);
  return timeoutMs;
}
