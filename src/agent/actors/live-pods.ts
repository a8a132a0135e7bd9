/** The pods as `statelet run --live` shows them. */
import { podSummary } from '../policies/status/pod-table.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { LivePod, LivePods, ServedPod } from '../../types/served-pod.ts';
import { servedPods } from './pods/served-pods.ts';
import { whyOfEntry, type WhySources } from './why-facts.ts';

export function livePods(sources: WhySources): LivePods {
  const { statusManager } = sources.agent;
  return {
    list: () => listPods(sources),
    onStatus: (listener) => {
      statusManager.news.subscribe(({ uid }) => {
        const status = statusManager.get(uid);
        if (status !== undefined) listener(uid, status);
      });
    },
  };
}

/** A pod that does not just run has the sentence of `statelet why`. */
function listPods(sources: WhySources): readonly LivePod[] {
  const { supervisor, statusManager } = sources.agent;
  const events = Map.groupBy(sources.events(), ({ involvedObject: { uid = '' } }) => uid);
  return Array.from(servedPods(supervisor.registry, statusManager), (served) => {
    const why = isFine(served) ? undefined : whyOf(sources, served, events.get(served.pod.metadata.uid));
    return { ...served, why };
  });
}

/** Whether it runs with all of its containers ready, or has completed. */
function isFine({ pod, status, state }: ServedPod): boolean {
  if (status?.phase === 'Succeeded') return true;
  const { ready, total } = podSummary({ ...pod, ...(status && { status }) });
  return state === 'Syncing.Settled' && ready === total;
}

/** Without the name of the pod. */
function whyOf(
  sources: WhySources,
  { pod }: ServedPod,
  events: readonly CoreEvent[] = [],
): string | undefined {
  const entry = sources.agent.supervisor.registry.get(pod.metadata.uid);
  const why = entry && whyOfEntry(sources, entry, events);
  const [sentence] = why?.sentences ?? [];
  const subject = `${why?.subject ?? ''} `;
  return sentence?.startsWith(subject) === true ? sentence.slice(subject.length) : sentence;
}
