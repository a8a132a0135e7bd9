import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runtimeLayout, type RuntimeLayout } from '../../../../src/runtime/process/layout.ts';
import { RecordStore } from '../../../../src/runtime/process/monitor/records.ts';
import { mountSmallDisk, testAsRoot } from '../../../support/as-root.ts';
import { containerRecord, sandboxRecord } from '../../../support/process-records.ts';
import { kill9, monitorPid, processRuntimeBed } from '../../../support/process-runtime.ts';
import { podConfig, shell, startPod } from '../../../support/runtime-configs.ts';

let rootDir: string;
let layout: RuntimeLayout;
let store: RecordStore;
let unreadable: string[];
const onUnreadable = (file: string) => unreadable.push(file);

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-records-'));
  layout = runtimeLayout(rootDir);
  store = new RecordStore(layout);
  unreadable = [];
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const sandbox = sandboxRecord();
const container = containerRecord({ process: { pid: 123, startTicks: 456 } });

/** As the engine does before it saves the record. */
const save = () => {
  mkdirSync(layout.containerDir(container.id));
  store.saveSandbox(sandbox);
  store.saveContainer(container);
};

describe('the records of the monitor', () => {
  test('are read by the next monitor as they were saved', () => {
    save();
    const next = new RecordStore(layout);
    expect(next.sandboxes(onUnreadable)).toEqual([{ record: sandbox, sameBoot: true }]);
    expect(next.containers(onUnreadable)).toEqual([{ record: container, sameBoot: true }]);
    expect(unreadable).toEqual([]);
  });

  test('of an earlier boot of the machine are known as such', () => {
    save();
    const file = layout.containerFile(container.id);
    const stored = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...stored, bootId: 'earlier' }));
    expect(store.containers(onUnreadable)).toEqual([{ record: container, sameBoot: false }]);
  });

  test('that cannot be read are reported and left out', () => {
    save();
    writeFileSync(layout.sandboxFile('broken'), '{"half');
    expect(store.sandboxes(onUnreadable)).toEqual([{ record: sandbox, sameBoot: true }]);
    expect(unreadable).toEqual([layout.sandboxFile('broken')]);
  });

  test('can be read by their owner only; containers of other users can pass through the scratch folder', () => {
    save();
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect([layout.sandboxesDir, layout.containersDir, layout.scratchDir].map(modeOf)).toEqual([
      '700',
      '700',
      '711',
    ]);
    expect([layout.sandboxFile(sandbox.id), layout.containerFile(container.id)].map(modeOf)).toEqual([
      '600',
      '600',
    ]);
  });

  test('are removed, with the folder of the container', () => {
    save();
    store.removeContainer(container.id);
    store.removeSandbox(sandbox.id);
    expect([readdirSync(layout.containersDir), readdirSync(layout.sandboxesDir)]).toEqual([[], []]);
    expect(() => store.removeContainer('unknown')).not.toThrow();
    expect(() => store.removeSandbox('unknown')).not.toThrow();
  });

  test('that a killed monitor has half written are removed, the others stay', () => {
    save();
    const drafts = [`${layout.sandboxFile(sandbox.id)}.tmp`, `${layout.containerFile(container.id)}.tmp`];
    for (const draft of drafts) writeFileSync(draft, '{"half');
    const next = new RecordStore(layout);
    expect(drafts.filter((draft) => existsSync(draft))).toEqual([]);
    expect([next.sandboxes(onUnreadable), next.containers(onUnreadable)]).toMatchObject([[{}], [{}]]);
  });
});

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
