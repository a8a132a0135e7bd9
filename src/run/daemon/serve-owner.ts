/** Puts together what a daemon serves to the owner of its root folder alone. Loaded when a client first asks for it. */
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import { type NamedPod, whyOfNode, whyOfPodWithRecord } from '../../agent/actors/why-facts.ts';
import { servedPod, servedPods } from '../../agent/actors/pods/served-pods.ts';
import { fullName } from '../../agent/policies/pod/pod-kinds.ts';
import type { RecentEvents } from '../../agent/server/recent-events.ts';
import type { FlightRecorder } from '../../recorder/flight-recorder.ts';
import { ownerRoutes } from '../../agent/server/routes/owner-routes.ts';
import type { Route } from '../../agent/server/routes/route.ts';
import type { Clock } from '../../types/clock.ts';

interface OwnRecord {
  readonly rootDir: string;
  /** Undefined where it is off: an older record may be there. */
  readonly flightRecorder: Pick<FlightRecorder, 'flush'> | undefined;
}

export function routesOfOwner(
  agent: NodeAgent,
  events: RecentEvents,
  clock: Clock,
  { rootDir, flightRecorder }: OwnRecord,
): readonly Route[] {
  const { supervisor, statusManager } = agent;
  const { desired, registry, ends, ended } = supervisor;
  const sources = { agent, clock, events: () => events.list() };
  const recorded = async (pod: NamedPod) => {
    const [{ recordFolder }, { recordedPod }] = await Promise.all([
      import('../../recorder/flight-recorder.ts'),
      import('../../recorder/recorded-end.ts'),
    ]);
    // The pod may have ended just now.
    await flightRecorder?.flush();
    return recordedPod(recordFolder(rootDir), pod);
  };
  return ownerRoutes({
    events,
    whyPod: (namespace, name) => whyOfPodWithRecord(sources, { namespace, name }, recorded),
    whyNode: () => whyOfNode(sources),
    nodeFacts: () => agent.nodeFacts(),
    pods: () => servedPods(registry, statusManager),
    onPodChange: (changed) => {
      const statuses = statusManager.news.subscribe(changed);
      const endTransitions = agent.transitions.subscribe(changed);
      return () => {
        statuses.unsubscribe();
        endTransitions();
      };
    },
    pod: (namespace, name) => {
      const pod = desired.getByFullName(fullName({ namespace, name }));
      return pod && servedPod(pod, registry, statusManager);
    },
    deletePod: (uid, gracePeriodSeconds) => ended.delete(uid, gracePeriodSeconds),
    podEnded: async (uid) => {
      if (registry.get(uid) !== undefined && !registry.isPodKnownTerminated(uid)) await ends.terminated(uid);
    },
  });
}
