/** Answers the routes of logs and exec for all hollow nodes, by the node that has the pod. */
import { servedPod } from '../../agent/actors/pods/served-pods.ts';
import { POD_UID_LABEL } from '../../agent/policies/cri/cri-labels.ts';
import { fullName } from '../../agent/policies/pod/pod-kinds.ts';
import type {
  CommandStreams,
  StreamingRuntime,
  StreamSelection,
} from '../../agent/runtime/service/streaming-runtime.ts';
import type { ContainerLogApi } from '../../agent/server/routes/container-logs.ts';
import type { StreamingApi } from '../../agent/server/streaming/streaming-routes.ts';
import { uidOfId } from '../../simulation/runtime/world.ts';
import { systemClock } from '../../system/timer.ts';
import type { ContainerFilter } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { HollowNode } from '../node/hollow-node.ts';
import { writeHollowLog } from './hollow-logs.ts';
import { hollowPorts } from './hollow-ports.ts';
import { hollowStreams } from './hollow-streams.ts';

export interface ServedNodesParts {
  readonly nodes: () => Iterable<HollowNode>;
  /** Where logs are written when they are asked for. */
  readonly logsDir: string;
  readonly streamingIdleMs: number;
}

export function servedNodes({
  nodes,
  logsDir,
  streamingIdleMs,
}: ServedNodesParts): ContainerLogApi & StreamingApi {
  const pod: StreamingApi['pod'] = (namespace, name) => {
    for (const { agent } of nodes()) {
      const { desired, registry } = agent?.agent.supervisor ?? {};
      const found = desired?.getByFullName(fullName({ namespace, name }));
      if (found && registry && agent) return servedPod(found, registry, agent.agent.statusManager);
    }
    return undefined;
  };
  const nodeOf = (uid: string): HollowNode => {
    for (const node of nodes()) if (node.agent?.agent.supervisor.registry.get(uid) !== undefined) return node;
    throw new StateletError('NotFound', `no hollow node that runs has the pod ${uid}`);
  };
  const listed = ({ labelSelector }: Pick<ContainerFilter, 'labelSelector'>) =>
    nodeOf(labelSelector?.[POD_UID_LABEL] ?? '');
  const streams = (
    { containerId, ...selection }: StreamSelection & { readonly containerId: string },
    words?: readonly string[],
  ): { readonly streams: CommandStreams } => {
    const uid = uidOfId(containerId);
    const { machine, name, agent } = nodeOf(uid);
    const container = machine.container(containerId);
    if (container?.state !== 'CONTAINER_RUNNING')
      throw new StateletError('FailedPrecondition', `container ${containerId} is not running`);
    const place = {
      clock: systemClock,
      node: name,
      pod: agent?.podName(uid) ?? uid,
      container: container.metadata.name,
      whenEnded: (callback: () => void) => machine.whenEnded(containerId, callback),
    };
    return { streams: hollowStreams(place, selection, words) };
  };
  const streaming: StreamingRuntime = {
    exec: ({ command, ...request }) => Promise.resolve().then(() => streams(request, command)),
    attach: (request) => Promise.resolve().then(() => streams(request)),
    portForward: ({ podSandboxId }) =>
      Promise.resolve().then(() => {
        const uid = uidOfId(podSandboxId);
        const { name, agent } = nodeOf(uid);
        return { streams: hollowPorts(() => agent?.podOf(uid)?.spec, agent?.podName(uid) ?? uid, name) };
      }),
  };
  return {
    pod,
    streamingIdleMs,
    runtimePod: (uid) => nodeOf(uid).agent?.agent.pleg.lastSeen(uid),
    runtime: {
      containerStatus: async (id, options) => {
        const { machine, name } = nodeOf(uidOfId(id));
        const status = await machine.console.containerStatus(id, options);
        return { ...status, logPath: await writeHollowLog(logsDir, status, name, systemClock.now()) };
      },
      listContainers: async (filter = {}, options) =>
        listed(filter).machine.console.listContainers(filter, options),
      listPodSandbox: async (filter = {}, options) =>
        listed(filter).machine.console.listPodSandbox(filter, options),
      execSync: async (id, ...request) => nodeOf(uidOfId(id)).machine.console.execSync(id, ...request),
      streaming,
    },
  };
}
