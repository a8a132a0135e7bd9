import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { testAsRoot } from '../../support/as-root.ts';
import { type EngineBed, engineBed } from '../../support/process-engine.ts';
import { makeFolders, whileSwapped } from '../../support/tree-attack.ts';
import { containerConfig, podConfig, shell } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

const kind = (name: string) => expect.objectContaining({ kind: name });
const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const SLEEP = containerConfig(['sleep', '1000']);

let bed: EngineBed;
beforeEach(() => {
  bed = engineBed();
});
afterEach(() => bed.cleanup());

describe('a sandbox', () => {
  test('has folders that containers of other users can pass through, but not list', () => {
    const { engine, layout } = bed;
    const id = engine.runPodSandbox(podConfig('/logs'));
    expect([modeOf(layout.podScratch(id)), modeOf(layout.terminationDir(id))]).toEqual(['711', '711']);
  });

  testAsRoot('has a working folder that containers of any user can write to', () => {
    const id = bed.engine.runPodSandbox(podConfig('/logs'));
    expect(modeOf(bed.layout.workDir(id))).toBe('1777');
    return Promise.resolve();
  });

  test('that cannot be saved leaves no folder behind', () => {
    const { engine, layout } = bed;
    rmdirSync(layout.sandboxesDir);
    expect(() => engine.runPodSandbox(podConfig('/logs'))).toThrow('ENOENT');
    expect([engine.sandboxes(), readdirSync(layout.scratchDir)]).toEqual([[], []]);
    mkdirSync(layout.sandboxesDir);
  });

  test('that is stopped takes no more containers, and starts none', async () => {
    const { engine } = bed;
    const { sandboxId, id } = await bed.create(SLEEP);
    await engine.stopPodSandbox(sandboxId);
    await expect(engine.startContainer(id)).rejects.toEqual(kind('FailedPrecondition'));
    const second = containerConfig(['true'], { metadata: { name: 'second', attempt: 0 } });
    await expect(engine.createContainer(sandboxId, second)).rejects.toEqual(kind('FailedPrecondition'));
  });

  test('that is removed takes no other files with it, whatever a program of it does in its folder meanwhile', async () => {
    const { engine, layout } = bed;
    const victim = join(layout.rootDir, 'victim');
    makeFolders(victim, 50);
    await whileSwapped(4, victim, () => {
      const sandboxId = engine.runPodSandbox(podConfig('/logs'));
      return {
        folder: join(layout.workDir(sandboxId), 'folder'),
        work: () => engine.removePodSandbox(sandboxId),
      };
    });
    expect(readdirSync(victim, { recursive: true })).toHaveLength(100);
    expect(readdirSync(layout.scratchDir)).toEqual([]);
  });

  test('that is removed leaves nothing of its containers', async () => {
    const { engine, layout } = bed;
    const { sandboxId, id } = await bed.create(SLEEP);
    await engine.startContainer(id);
    await engine.removePodSandbox(sandboxId);
    expect([engine.sandboxes(), engine.containers()]).toEqual([[], []]);
    for (const dir of [layout.scratchDir, layout.containersDir, layout.sandboxesDir]) {
      expect(readdirSync(dir)).toEqual([]);
    }
  });
});

describe('a container', () => {
  test('is created one time, even if two calls come at once', async () => {
    const { engine } = bed;
    const sandboxId = engine.runPodSandbox(podConfig('/logs'));
    const calls = [1, 2].map(() => engine.createContainer(sandboxId, SLEEP));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(engine.containers()).toHaveLength(1);
    expect(readdirSync(bed.layout.containersDir)).toEqual(engine.containers().map(({ id }) => id));
  });

  test('is not created if its sandbox is stopped meanwhile', async () => {
    const { engine } = bed;
    const sandboxId = engine.runPodSandbox(podConfig('/logs'));
    const created = engine.createContainer(sandboxId, SLEEP);
    await engine.stopPodSandbox(sandboxId);
    await expect(created).rejects.toEqual(kind('FailedPrecondition'));
    expect(readdirSync(bed.layout.containersDir)).toEqual([]);
  });

  test('has a standard input only if it asks for one', async () => {
    const { layout } = bed;
    const without = await bed.create(SLEEP);
    const open = await bed.create(containerConfig(['cat'], { stdin: true }));
    expect(existsSync(layout.pipe(without.id, 'stdin'))).toBe(false);
    expect(statSync(layout.pipe(open.id, 'stdin')).isFIFO()).toBe(true);
  });

  testAsRoot('has a termination file that belongs to its user', async () => {
    const linux = { securityContext: { runAsUser: 65534, runAsGroup: 65533 } };
    const { sandboxId, id } = await bed.create(containerConfig(['true'], { linux }));
    const { uid, gid } = statSync(bed.layout.terminationFile(sandboxId, id));
    expect([uid, gid]).toEqual([65534, 65533]);
  });

  test('has an event for its creation, start, end and removal', async () => {
    const { engine, events } = bed;
    const { id } = await bed.create(SLEEP);
    await engine.startContainer(id);
    await engine.stopContainer(id, 0);
    await engine.removeContainer(id);
    expect(events).toEqual([`CREATED ${id}`, `STARTED ${id}`, `STOPPED ${id}`, `DELETED ${id}`]);
  });

  test('that is unknown can be stopped and removed, but not started', async () => {
    const { engine } = bed;
    await engine.stopContainer('unknown', 1);
    await engine.removeContainer('unknown');
    await expect(engine.startContainer('unknown')).rejects.toEqual(kind('NotFound'));
  });
});

describe('the engine', () => {
  test('needs a monitor while a sandbox is ready or a container runs', async () => {
    const { engine } = bed;
    expect(engine.busy).toBe(false);
    const { sandboxId, id } = await bed.create(SLEEP);
    expect(engine.busy).toBe(true);
    await engine.startContainer(id);
    const stopped = engine.stopPodSandbox(sandboxId);
    expect(engine.busy).toBe(true);
    await stopped;
    expect(engine.busy).toBe(false);
  });

  test('that shuts down ends all containers with their grace period, and runs no more pods', async () => {
    const { engine } = bed;
    const { id } = await bed.create(
      shell('trap "exit 17" TERM; echo > $STATELET_TERMINATION_LOG; while :; do sleep 0.01; done'),
    );
    await engine.startContainer(id);
    const { record } = engine.container(id);
    const file = bed.layout.terminationFile(record.podSandboxId, id);
    await waitFor(() => statSync(file).size > 0, { what: 'the trap to be set' });
    await engine.shutDown(1000);
    expect(record).toMatchObject({ state: 'CONTAINER_EXITED', exit: { exitCode: 17 } });
    expect(() => engine.runPodSandbox(podConfig('/logs'))).toThrow(kind('Unavailable'));
  });

  test('of the next monitor has the same sandboxes and containers', async () => {
    const { engine } = bed;
    const { sandboxId, id } = await bed.create(containerConfig(['true']));
    await engine.stopPodSandbox(sandboxId);
    const next = bed.next();
    expect(next.sandbox(sandboxId).state).toBe('SANDBOX_NOTREADY');
    expect(next.container(id).record.state).toBe('CONTAINER_CREATED');
    await expect(next.startContainer(id)).rejects.toEqual(kind('FailedPrecondition'));
  });
});
