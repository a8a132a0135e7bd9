import type { Engine } from '../containers/engine.ts';
import type { Handlers } from './protocol.ts';
import { containerStats } from '../containers/process-stats.ts';
import {
  matchesContainer,
  matchesSandbox,
  toContainer,
  toContainerStatus,
  toSandbox,
  toSandboxStatus,
} from './views.ts';

/** The methods of the protocol, carried out by an engine. */
export function engineHandlers(engine: Engine): Handlers {
  return {
    runPodSandbox: ([config]) => engine.runPodSandbox(config),
    stopPodSandbox: ([id]) => engine.stopPodSandbox(id),
    removePodSandbox: ([id]) => engine.removePodSandbox(id),
    podSandboxStatus: ([id]) => toSandboxStatus(engine.sandbox(id)),
    listPodSandbox: ([filter]) =>
      engine
        .sandboxes()
        .filter((record) => matchesSandbox(record, filter))
        .map(toSandbox),
    createContainer: ([sandboxId, config]) => engine.createContainer(sandboxId, config),
    startContainer: ([id]) => engine.startContainer(id),
    stopContainer: ([id, timeoutSeconds]) => engine.stopContainer(id, timeoutSeconds),
    removeContainer: ([id]) => engine.removeContainer(id),
    listContainers: ([filter]) =>
      engine
        .containers()
        .filter((record) => matchesContainer(record, filter))
        .map(toContainer),
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
    ping: () => undefined,
  };
}
