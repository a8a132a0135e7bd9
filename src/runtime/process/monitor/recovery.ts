import { readdirSync, rmSync } from 'node:fs';
import { Container } from '../containers/container.ts';
import type { ContainerHost } from '../containers/container.ts';
import { containerOf, processTable } from '../containers/proc.ts';
import type { ProcessIdentity } from '../containers/proc.ts';
import type { SandboxRecord } from './records.ts';

/**
 * Takes over what an earlier monitor has left: its records, and the containers that still run; for those that have
 * ended meanwhile, their end is recorded. After a reboot no container runs, and no sandbox is ready.
 */
export function recover(host: ContainerHost): { sandboxes: SandboxRecord[]; containers: Container[] } {
  const { store, log } = host;
  const onUnreadable = (file: string): void => log(`${file} cannot be read and is left out`);
  const sandboxes = store.sandboxes(onUnreadable).map(({ record, sameBoot }) => {
    if (!sameBoot) record.state = 'SANDBOX_NOTREADY';
    return record;
  });
  const byId = new Map(sandboxes.map((record) => [record.id, record]));
  const containers = store.containers(onUnreadable).flatMap(({ record, sameBoot }) => {
    const sandbox = byId.get(record.podSandboxId);
    if (!sandbox) return [];
    const container = new Container(host, sandbox, record);
    if (record.state === 'CONTAINER_RUNNING') container.resume(sameBoot);
    return [container];
  });
  adoptUnrecorded(containers);
  removeRemnants(host, new Set(byId.keys()), new Set(containers.map(({ record }) => record.id)));
  return { sandboxes, containers };
}

/** The monitor may have been killed between the start of a container and the record of it. */
function adoptUnrecorded(containers: readonly Container[]): void {
  const created = containers.filter(({ record }) => record.state === 'CONTAINER_CREATED');
  if (created.length === 0) return;
  const leaders = processTable().filter((stat) => stat.sessionId === stat.pid);
  const byContainer = new Map<string | undefined, ProcessIdentity>();
  for (const stat of leaders) byContainer.set(containerOf(stat.pid), stat);
  for (const container of created) {
    const identity = byContainer.get(container.record.id);
    if (identity) container.adopt({ pid: identity.pid, startTicks: identity.startTicks });
  }
}

/** Removes folders without a record: their sandbox or container was only half created, or half removed. */
function removeRemnants(
  { layout, log }: ContainerHost,
  sandboxes: Set<string>,
  containers: Set<string>,
): void {
  const remnants = [
    ...unknownIds(layout.containersDir, containers).map((id) => layout.containerDir(id)),
    ...unknownIds(layout.scratchDir, sandboxes).map((id) => layout.podScratch(id)),
  ];
  for (const path of remnants) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (error) {
      log(`${path} could not be removed: ${String(error)}`);
    }
  }
}

function unknownIds(dir: string, known: Set<string>): string[] {
  return readdirSync(dir).filter((name) => /^[0-9a-f]{64}$/.test(name) && !known.has(name));
}
