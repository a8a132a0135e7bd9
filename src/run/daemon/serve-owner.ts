/** Puts together what a daemon serves to the owner of its root folder alone. Loaded when a client first asks for it. */
import { merge } from 'rxjs';
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import { MANIFEST_BYTES_MAX } from '../../agent/sources/manifests/manifest-limits.ts';
import type { LocalObjects } from '../../agent/sources/objects/local-objects.ts';
import { AppliedManifests } from './applied-manifests.ts';
import { type NamedPod, whyOfNode, whyOfPodWithRecord } from '../../agent/actors/why-facts.ts';
import { servedPod, servedPods } from '../../agent/actors/pods/served-pods.ts';
import { fullName } from '../../agent/policies/pod/pod-kinds.ts';
import type { RecentEvents } from '../../agent/server/recent-events.ts';
import type { FlightRecorder } from '../../recorder/flight-recorder.ts';
import { ownerRoutes } from '../../agent/server/routes/owner-routes.ts';
import type { Route } from '../../agent/server/routes/route.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { Node } from '../../types/kubernetes.ts';

interface OwnerOptions {
  readonly agent: NodeAgent;
  readonly events: RecentEvents;
  readonly config: StateletConfig;
  /** Those of manifests. */
  readonly objects: Pick<LocalObjects, 'all'> | undefined;
  /** Undefined where it is off: an older record may be there. */
  readonly flightRecorder: Pick<FlightRecorder, 'flush'> | undefined;
  readonly node: () => Promise<Node>;
}

export function routesOfOwner(
  { clock }: AgentContext,
  { agent, events, config, objects, flightRecorder, node }: OwnerOptions,
): readonly Route[] {
  const { supervisor, statusManager } = agent;
  const { rootDir, nodeName, localPods, cluster } = config;
  const { desired, registry, ends, ended } = supervisor;
  const wanted = (namespace: string, name: string) => desired.getByFullName(fullName({ namespace, name }));
  const isInCluster = cluster.kubeconfig !== '';
  const placed = () => objects?.all() ?? [];
  const manifests = new AppliedManifests({ nodeName, localPods, isInCluster, pod: wanted, objects: placed });
  const onPodChange = (changed: () => void) => {
    const news = merge(statusManager.news, registry.waitChanges).subscribe(changed);
    const endTransitions = agent.transitions.subscribe(changed);
    return () => {
      news.unsubscribe();
      endTransitions();
    };
  };
  const sources = { agent, clock, events: () => events.list() };
  const recorded = async (pod: NamedPod) => {
    const [{ recordFolder }, { recordOfPod }] = await Promise.all([
      import('../../recorder/flight-recorder.ts'),
      import('../../recorder/recorded-end.ts'),
    ]);
    // The pod may have ended just now.
    await flightRecorder?.flush();
    return recordOfPod(recordFolder(rootDir), pod);
  };
  return ownerRoutes({
    events,
    whyPod: (namespace, name) => whyOfPodWithRecord(sources, { namespace, name }, recorded),
    whyNode: () => whyOfNode(sources),
    nodeFacts: () => agent.nodeFacts(),
    node,
    pods: () => servedPods(registry, statusManager),
    onPodChange,
    pod: (namespace, name) => {
      const pod = wanted(namespace, name);
      return pod && servedPod(pod, registry, statusManager);
    },
    manifestBytesMax: MANIFEST_BYTES_MAX,
    applyManifest: async (content, options) => {
      const applied = await manifests.apply(content, options);
      const { kind, version } = applied;
      if (kind === 'Pod' && !options.dryRun)
        await untilPods(onPodChange, () => desired.get(version) !== undefined);
      return applied;
    },
    objects: () => placed().map(({ object }) => object),
    deleteObject: (object) => manifests.removeObject(object),
    deletePod: async (pod, gracePeriodSeconds) => {
      const { namespace, name, uid } = pod.metadata;
      await ended.delete(uid, gracePeriodSeconds);
      if (!(await manifests.remove({ kind: 'Pod', namespace, name }))) return manifests.placeOf(pod);
      await untilPods(onPodChange, () => desired.get(uid) === undefined);
      return undefined;
    },
    podEnded: async (uid) => {
      if (registry.get(uid) !== undefined && !registry.isPodKnownTerminated(uid)) await ends.terminated(uid);
    },
  });
}

/** A source that does not notice the change, as on a file system without events, is not waited for longer. */
const NOTICE_MS = 5_000;

/** Resolves when the condition holds, which is looked at whenever a pod has changed. */
async function untilPods(
  onPodChange: (changed: () => void) => () => void,
  holds: () => boolean,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const look = () => {
    if (holds()) resolve(undefined);
  };
  const end = onPodChange(look);
  const timer = setTimeout(resolve, NOTICE_MS, undefined);
  look();
  await promise;
  clearTimeout(timer);
  end();
}
