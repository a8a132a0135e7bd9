/** The pods of a hollow node for its agent: probes and hooks over the network become commands in the container. */
import { map, type Observable } from 'rxjs';
import type { SourceUpdate } from '../../agent/sources/source.ts';
import type { Container, Pod } from '../../types/kubernetes.ts';
import { probeCommand } from './hollow-programs.ts';

/** A pod that did not change stays the same object. */
export function withoutNetwork(updates: Observable<SourceUpdate>): Observable<SourceUpdate> {
  const known = new WeakMap<Pod, Pod>();
  const changed = (pod: Pod): Pod => {
    const before = known.get(pod);
    if (before !== undefined) return before;
    const after = podWithoutNetwork(pod);
    known.set(pod, after);
    return after;
  };
  return updates.pipe(
    map((update) => (update.pods === undefined ? update : { ...update, pods: update.pods.map(changed) })),
  );
}

type ContainerProbes = Pick<Container, 'livenessProbe' | 'readinessProbe' | 'startupProbe' | 'lifecycle'>;

function podWithoutNetwork(pod: Pod): Pod {
  const { uid } = pod.metadata;
  const { containers, initContainers, ...others } = pod.spec;
  const change = <T extends ContainerProbes & { readonly name: string }>(container: T): T =>
    containerWithoutNetwork(container, (what) => probeCommand(uid, container.name, what));
  return {
    ...pod,
    spec: {
      ...others,
      containers: containers.map(change),
      ...(initContainers && { initContainers: initContainers.map(change) }),
    },
  };
}

type CommandOf = (what: string) => readonly string[];

function containerWithoutNetwork<T extends ContainerProbes>(container: T, command: CommandOf): T {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  if (!livenessProbe && !readinessProbe && !startupProbe && !lifecycle) return container;
  const { postStart, preStop } = lifecycle ?? {};
  return {
    ...container,
    ...(livenessProbe && { livenessProbe: asCommand(livenessProbe, command) }),
    ...(readinessProbe && { readinessProbe: asCommand(readinessProbe, command) }),
    ...(startupProbe && { startupProbe: asCommand(startupProbe, command) }),
    ...(lifecycle && {
      lifecycle: {
        ...lifecycle,
        ...(postStart && { postStart: asCommand(postStart, command) }),
        ...(preStop && { preStop: asCommand(preStop, command) }),
      },
    }),
  };
}

type Handlers = Readonly<Partial<Record<'exec' | 'httpGet' | 'tcpSocket' | 'grpc', object>>>;

/** Times and thresholds stay. A pause in a hook stays too. */
function asCommand<T extends Handlers>(handler: T, command: CommandOf): T {
  const { exec, httpGet, tcpSocket, grpc, ...others } = handler;
  const what = exec ? 'exec' : httpGet ? 'httpGet' : tcpSocket ? 'tcpSocket' : grpc && 'grpc';
  return (what === undefined ? handler : { ...others, exec: { command: [...command(what)] } }) as T;
}
