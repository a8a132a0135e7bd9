import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runtimeLayout, type RuntimeLayout } from '../../../src/embedded/layout.ts';
import { RecordStore } from '../../../src/embedded/monitor/record-store.ts';
import type { ContainerRecord, SandboxRecord } from '../../../src/embedded/monitor/records.ts';
import { mountSmallDisk, testAsRoot } from '../../support/as-root.ts';
import { containerRecord, sandboxRecord } from '../../support/process-records.ts';
import { kill9, monitorPid, processRuntimeBed } from '../../support/process-runtime.ts';
import { podConfig, shell, startPod } from '../../support/runtime-configs.ts';

let rootDir: string;
let layout: RuntimeLayout;
let store: RecordStore;

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-records-'));
  layout = runtimeLayout(rootDir);
  store = new RecordStore(layout);
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const sandbox = sandboxRecord();
const container = containerRecord({
  state: 'CONTAINER_RUNNING',
  startedAt: 3_000,
  process: { pid: 123, startTicks: 456 },
});

/** As the engine does. */
const save = () => {
  mkdirSync(layout.containerDir(container.id));
  store.addSandbox(sandbox);
  store.addContainer(containerRecord());
  store.saveContainer(container);
};
const whole = (record: object, sameBoot = true) => ({ kind: 'whole', record, sameBoot });
const beginningOf = ({ id, config, createdAt, ...more }: SandboxRecord | ContainerRecord) => ({
  id,
  config,
  createdAt,
  ...('podSandboxId' in more && { podSandboxId: more.podSandboxId }),
});
const [sandboxBeginning, containerBeginning] = [beginningOf(sandbox), beginningOf(container)];

describe('the records of the monitor', () => {
  test('are read by the next monitor as they were saved', () => {
    save();
    const next = new RecordStore(layout);
    expect(next.sandboxes()).toEqual([whole(sandbox)]);
    expect(next.containers()).toEqual([whole(container)]);
  });

  test('of an earlier boot of the machine are known as such', () => {
    save();
    const file = layout.containerFile(container.id);
    const stored = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...stored, bootId: 'earlier' }));
    expect(store.containers()).toEqual([whole(container, false)]);
  });

  test.each([
    ['is empty', (file: string) => writeFileSync(file, ''), 'is no JSON'],
    ['is cut off', (file: string) => truncateSync(file, 20), 'is no JSON'],
    ['has bytes of another file', (file: string) => writeFileSync(file, '\0\x7fELF\0'), 'is no JSON'],
    ['is null', (file: string) => writeFileSync(file, 'null'), 'has another form than a record'],
    [
      'has fields of other types',
      (file: string) => change(file, { config: 5 }),
      'has another form than a record',
    ],
    [
      'is of another id',
      (file: string) => change(file, { id: 'b'.repeat(64) }),
      'has another form than a record',
    ],
    ['is a folder', folderInPlace, 'is not a file'],
    ['is a named pipe', pipeInPlace, 'is not a file'],
    ['is a link to a good record', linkInPlace, 'ELOOP'],
  ])('a record that %s: its copy says how it began', (_what, damage, problem) => {
    save();
    for (const file of [layout.containerFile(container.id), layout.sandboxFile(sandbox.id)]) damage(file);
    const lost = {
      kind: 'begun',
      isMissing: false,
      sameBoot: true,
      problem: expect.stringContaining(problem),
    };
    expect(new RecordStore(layout).containers()).toMatchObject([{ ...lost, record: containerBeginning }]);
    expect(new RecordStore(layout).sandboxes()).toMatchObject([{ ...lost, record: sandboxBeginning }]);
  });

  test.each([
    ['no process', { process: undefined }],
    ['a process of another type', { process: '123' }],
    ['an unknown state', { state: 'RUNNING' }],
    ['an end without an exit', { state: 'CONTAINER_EXITED' }],
  ])('a record of a running container with %s says no more than how it began', (_what, fields) => {
    save();
    change(layout.containerFile(container.id), fields);
    rmSync(layout.containerCopy(container.id));
    const { problem, ...entry } = { problem: '', ...new RecordStore(layout).containers()[0] };
    expect(entry).toMatchObject({ kind: 'begun', isMissing: false, record: containerBeginning });
    expect(problem).toContain('does not say what has become of it');
  });

  test('without a copy, a record that cannot be read is lost, and named', () => {
    save();
    writeFileSync(layout.containerFile(container.id), '{"half');
    writeFileSync(layout.containerCopy(container.id), '');
    rmSync(layout.sandboxFile(sandbox.id));
    rmSync(layout.sandboxCopy(sandbox.id));
    const problem = `${layout.containerFile(container.id)} is no JSON`;
    expect(store.containers()).toEqual([{ kind: 'lost', id: container.id, isMissing: false, problem }]);
    expect(store.sandboxes()).toEqual([]);
  });

  test('are restored also in place of a folder', () => {
    save();
    const files = [layout.containerFile(container.id), layout.sandboxFile(sandbox.id)];
    for (const file of files) folderInPlace(file);
    store.restoreContainer(container);
    store.restoreSandbox(sandbox);
    expect([store.containers(), store.sandboxes()]).toEqual([[whole(container)], [whole(sandbox)]]);
  });

  test('can be read by their owner only; containers of other users can pass through the scratch folder', () => {
    save();
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(
      [layout.sandboxesDir, layout.copiesDir, layout.containersDir, layout.scratchDir].map(modeOf),
    ).toEqual(['700', '700', '700', '711']);
    expect([layout.sandboxFile(sandbox.id), layout.containerFile(container.id)].map(modeOf)).toEqual([
      '600',
      '600',
    ]);
  });

  test('are removed, with the folder of the container', () => {
    save();
    store.removeContainer(container.id);
    store.removeSandbox(sandbox.id);
    const left = [layout.containersDir, layout.sandboxesDir, layout.copiesDir].map((dir) => readdirSync(dir));
    expect(left).toEqual([[], [], []]);
    expect(() => store.removeContainer('unknown')).not.toThrow();
    expect(() => store.removeSandbox('unknown')).not.toThrow();
  });

  test('that a killed monitor has half written are removed, the others stay', () => {
    save();
    const drafts = [`${layout.sandboxFile(sandbox.id)}.tmp`, `${layout.containerFile(container.id)}.tmp`];
    for (const draft of drafts) writeFileSync(draft, '{"half');
    const next = new RecordStore(layout);
    expect(drafts.filter((draft) => existsSync(draft))).toEqual([]);
    expect([next.sandboxes(), next.containers()]).toMatchObject([[{}], [{}]]);
  });
});

function change(file: string, fields: object): void {
  const stored = JSON.parse(readFileSync(file, 'utf8')) as { record: object };
  writeFileSync(file, JSON.stringify({ ...stored, record: { ...stored.record, ...fields } }));
}

function folderInPlace(file: string): void {
  rmSync(file);
  mkdirSync(join(file, 'below'), { recursive: true });
}

function pipeInPlace(file: string): void {
  rmSync(file);
  execFileSync('mkfifo', [file]);
}

function linkInPlace(file: string): void {
  renameSync(file, `${file}.elsewhere`);
  symlinkSync(`${file}.elsewhere`, file);
}

describe('on a full disk', () => {
  testAsRoot('containers are stopped and removed, and no file is left half-written', async () => {
    const disk = mountSmallDisk(rootDir);
    const small = processRuntimeBed(join(disk.path, 'root'));
    try {
      const { id, sandboxId } = await startPod(small.runtime, join(rootDir, 'pods'), shell('sleep 1000'));
      const runtimeDir = join(small.rootDir, 'runtime');
      // The next monitor starts on the full disk.
      await kill9(await monitorPid(small.rootDir));
      disk.fill();
      await small.runtime.status();
      await expect(small.runtime.runPodSandbox(podConfig(small.rootDir))).rejects.toThrow('ENOSPC');
      await small.runtime.stopContainer(id, 0);
      expect((await small.runtime.containerStatus(id)).exitCode).toBe(255);
      await small.runtime.stopPodSandbox(sandboxId);
      expect((await small.runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
      const files = readdirSync(runtimeDir, { recursive: true, encoding: 'utf8' });
      expect(files.filter((file) => file.endsWith('.tmp'))).toEqual([]);
      await small.runtime.removePodSandbox(sandboxId);
      expect(await small.runtime.listPodSandbox()).toEqual([]);
      expect(readdirSync(join(runtimeDir, 'sandboxes'))).toEqual([]);
      expect(readdirSync(join(runtimeDir, 'containers'))).toEqual([]);
    } finally {
      await small.cleanup();
      disk.unmount();
    }
  });
});
