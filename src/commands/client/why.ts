/** `statelet why`: what a pod, or the node, does now, what it waits for and until when. */
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import { errorKind } from '../../types/errors.ts';
import { chosenPod, type NamespaceFlags, parsePodName } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';

export interface WhyFlags extends FolderFlags, NamespaceFlags {
  readonly output?: 'json';
}

/** Without a pod, or for `node`: of the node. Returns what to print. Rejects with `NotFound` for a pod of which nothing is known. */
export async function why(pod: string | undefined, flags: WhyFlags): Promise<string> {
  const ofPod = pod === undefined || pod === 'node' ? undefined : pod;
  const answer = await withDaemon(flags, (daemon) =>
    ofPod === undefined ? daemon.json<Why>('/why') : whyPod(daemon, ofPod, flags),
  ).catch((error: unknown) => withoutDaemon(ofPod, flags, error));
  if (flags.output === 'json') return `${JSON.stringify(answer, null, 2)}\n`;
  return `${answer.sentences.map(oneLine).join('\n')}\n`;
}

/** What the record of a daemon that does not run has of a pod. Rejects with `error` where it has nothing. */
async function withoutDaemon(pod: string | undefined, flags: WhyFlags, error: unknown): Promise<Why> {
  if (pod === undefined || errorKind(error) !== 'Unavailable') throw error;
  const { whyFromRecord } = await import('./why-from-record.ts');
  const answer = await whyFromRecord(parsePodName(pod, flags), flags);
  if (answer === undefined) throw error;
  return answer;
}

async function whyPod(daemon: DaemonConnection, text: string, flags: WhyFlags): Promise<Why> {
  const ask = (namespace: string, name: string) =>
    daemon.json<Why>(`/why/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
  try {
    const { metadata } = await chosenPod(daemon, text, flags);
    return await ask(metadata.namespace, metadata.name);
  } catch (error) {
    if (errorKind(error) !== 'NotFound') throw error;
    // The daemon does not list a pod that has just gone, but can still say why it ended.
    const { namespace = 'default', name } = parsePodName(text, flags);
    return ask(namespace, name).catch(() => Promise.reject(error as Error));
  }
}
