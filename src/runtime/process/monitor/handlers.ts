import type { Engine } from '../containers/engine.ts';
import type { Handlers } from './protocol.ts';
import { containerStats } from '../containers/process-stats.ts';
import type { StreamDesk } from '../streams/stream-desk.ts';
import {
  matchesContainer,
  matchesSandbox,
  toContainerStatus,
  toListedContainer,
  toListedSandbox,
  toSandboxStatus,
} from './views.ts';

/** The methods of the protocol, carried out by an engine and the desk of its streams. */
export function engineHandlers(engine: Engine, streams: StreamDesk): Handlers {
  return {
    runPodSandbox: ([config]) => engine.runPodSandbox(config),
    stopPodSandbox: ([id]) => engine.stopPodSandbox(id),
    removePodSandbox: ([id]) => engine.removePodSandbox(id),
    podSandboxStatus: ([id]) => toSandboxStatus(engine.sandbox(id)),
    listPodSandbox: ([filter]) =>
      engine
        .sandboxes()
        .filter((record) => matchesSandbox(record, filter))
        .map(toListedSandbox),
    createContainer: ([sandboxId, config]) => engine.createContainer(sandboxId, config),
    startContainer: ([id]) => engine.startContainer(id),
    stopContainer: ([id, timeoutSeconds]) => engine.stopContainer(id, timeoutSeconds),
    removeContainer: ([id]) => engine.removeContainer(id),
    listContainers: ([filter]) =>
      engine
        .containers()
        .filter((record) => matchesContainer(record, filter))
        .map(toListedContainer),
    containerStatus: ([id]) => {
      const { record } = engine.container(id);
      return toContainerStatus(record, engine.sandbox(record.podSandboxId));
    },
    reopenContainerLog: ([id]) => engine.container(id).reopenLog(),
    execSync: ([id, command, timeoutSeconds], signal) =>
      engine.container(id).exec(command, { timeoutSeconds, signal }),
    listContainerStats: ([filter]) =>
      containerStats(
        engine
          .containers()
          .filter((record) => record.state === 'CONTAINER_RUNNING' && matchesContainer(record, filter)),
      ),
    openStreams: ([id, request]) => streams.open(id, request),
    runStreams: ([id], signal) => streams.run(id, signal),
    resizeTerminal: ([id, size]) => streams.resize(id, size),
    endInput: ([id]) => streams.endInput(id),
    takeFindings: () => [...engine.takeFindings()],
    ping: () => undefined,
  };
}
