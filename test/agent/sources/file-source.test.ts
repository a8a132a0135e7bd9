import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { fileSource } from '../../../src/agent/sources/file-source.ts';
import { readManifestContent } from '../../../src/agent/sources/manifests/manifest-files.ts';
import { problemText, type SourceUpdate } from '../../../src/agent/sources/source.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { FileSourceBed, holds, names, NEVER_MS } from './file-source-bed.ts';
import { Collector, manifest, put, temporaryFolder } from './support.ts';

const bed = new FileSourceBed();
const { at, write, follow } = bed;
const uids = ({ pods }: SourceUpdate) => pods?.map(({ metadata }) => metadata.uid);
const texts = ({ problems }: SourceUpdate) =>
  problems.map((problem) => problemText(problem).replaceAll(bed.folder, 'FOLDER'));

describe('a folder', () => {
  test('is read in the order of its names; names with a leading dot and folders are skipped', async () => {
    await write('b.yaml', manifest('b'));
    await write('a.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
    await write('c.yaml', manifest('c'));
    await write('.a.yaml.swp', 'not for us');
    await mkdir(at('old'));
    await write('old/d.yaml', manifest('d'));
    const update = await follow().next();
    expect(names(update)).toEqual(['b', 'c']);
    expect(update.problems).toEqual([]);
    expect(update.pods?.[0]?.metadata.annotations?.['kubernetes.io/config.source']).toBe('file');
  });

  test('that is empty has no pods and is seen', async () => {
    expect(await follow().next()).toEqual({ pods: [], problems: [] });
  });

  test('emits when a manifest is added, changed and removed', async () => {
    const updates = follow();
    await updates.next();
    await write('a.yaml', manifest('a'));
    const added = await updates.until(holds('a'));
    await write('a.yaml', manifest('a', 'sleep 2'));
    const changed = await updates.next();
    expect(names(changed)).toEqual(['a']);
    expect(uids(changed)).not.toEqual(uids(added));
    await unlink(at('a.yaml'));
    expect(names(await updates.next())).toEqual([]);
  });

  test('does not emit when a manifest is read again and has not changed', async () => {
    await write('a.yaml', manifest('a'));
    const updates = follow();
    const first = await updates.next();
    await write('a.yaml', `# a comment\n${manifest('a')}`);
    await write('.hidden', 'nothing');
    // Read every 5 ms as well.
    const often = new Collector(fileSource({ path: bed.folder, nodeName: 'node', checkFrequencyMs: 5 }));
    await often.next();
    await write('b.yaml', manifest('b'));
    expect(names(await often.next())).toEqual(['a', 'b']);
    often.close();
    const second = await updates.next();
    expect(names(second)).toEqual(['a', 'b']);
    expect(uids(second)?.[0]).toBe(uids(first)?.[0]);
  });

  test('is read at intervals: a change behind a link raises no event', async () => {
    const elsewhere = await temporaryFolder();
    const target = join(elsewhere.path, 'a.yaml');
    await writeFile(target, manifest('a'));
    await symlink(target, at('a.yaml'));
    const updates = follow(bed.folder, 20);
    expect(names(await updates.next())).toEqual(['a']);
    await writeFile(target, manifest('b'));
    expect(names(await updates.until(holds('b')))).toEqual(['b']);
    await elsewhere.remove();
  });

  test('that is written to without a pause is read after the writes: no half-written manifest is seen', async () => {
    const updates = follow(bed.folder, NEVER_MS, 400);
    await updates.next();
    const text = manifest('a', 'sleep 1 # '.padEnd(2000, '.'));
    for (let start = 0; start < text.length; start += 100)
      await appendFile(at('a.yaml'), text.slice(start, start + 100));
    expect(await updates.next()).toMatchObject({ pods: [{ metadata: { name: 'a-node' } }], problems: [] });
  });

  test('is read at once when a whole file is moved in or removed', async () => {
    const elsewhere = await temporaryFolder();
    const prepared = join(elsewhere.path, 'a.yaml');
    await put(prepared, manifest('a'));
    const longAgo = new Date(Date.now() - 2 * NEVER_MS);
    await utimes(prepared, longAgo, longAgo);
    const updates = follow(bed.folder, NEVER_MS, NEVER_MS);
    await updates.next();
    await rename(prepared, at('a.yaml'));
    expect(names(await updates.next())).toEqual(['a']);
    await unlink(at('a.yaml'));
    expect(names(await updates.next())).toEqual([]);
    await elsewhere.remove();
  });

  test('of a thousand small manifests is read in at least as many turns of the event loop', async () => {
    const all = Array.from({ length: 1000 }, (_, index) => `pod-${String(index).padStart(3, '0')}`);
    await mkdir(at('manifests'));
    for (const name of all) writeFileSync(at('manifests', `${name}.yaml`), manifest(name));
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    const updates = follow(at('manifests'));
    setImmediate(count);
    const update = await updates.until(({ pods }) => pods?.length === 1000);
    isOver = true;
    expect(names(update)).toEqual(all);
    expect(update.problems).toEqual([]);
    expect(turns).toBeGreaterThanOrEqual(1000);
  });

  test('of a mounted ConfigMap changes as a whole', async () => {
    const version = async (name: string, text: string) => {
      await mkdir(at(name));
      await writeFile(at(name, 'a.yaml'), text);
      await symlink(name, at('..new'));
      await rename(at('..new'), at('..data'));
    };
    await version('..1', manifest('one'));
    await symlink('..data/a.yaml', at('a.yaml'));
    const updates = follow();
    expect(names(await updates.next())).toEqual(['one']);
    await version('..2', manifest('two'));
    expect(names(await updates.until(holds('two')))).toEqual(['two']);
  });
});

describe('a broken manifest', () => {
  test('keeps its last good version, is reported once, and does not affect other manifests', async () => {
    await write('a.yaml', manifest('a'));
    await write('b.yaml', manifest('b'));
    const updates = follow(bed.folder, 10);
    const good = await updates.next();
    await write('a.yaml', manifest('a').replace('command', 'comand'));
    const broken = await updates.next();
    expect(uids(broken)).toEqual(uids(good));
    expect(texts(broken)).toEqual([
      'FOLDER/a.yaml: spec.containers[0].comand: unknown field; did you mean "command"?',
    ]);
    // It was read many times meanwhile, without another list.
    await write('a.yaml', 'half of it: [');
    const worse = await updates.next();
    expect(uids(worse)).toEqual(uids(good));
    expect(texts(worse)).toEqual([expect.stringMatching(/^FOLDER\/a.yaml: is not valid YAML: .* line 1/)]);
    await write('b.yaml', manifest('c'));
    expect(names(await updates.next())).toEqual(['a', 'c']);
    await write('a.yaml', manifest('a'));
    expect(await updates.next()).toMatchObject({ pods: [good.pods?.[0], {}], problems: [] });
  });

  test('that was never valid has no pod; the other manifests of the folder have their pods', async () => {
    await write('a.yaml', 'kind: Deployment');
    await write('b.yaml', manifest('b'));
    const update = await follow().next();
    expect(names(update)).toEqual(['b']);
    expect(texts(update)).toHaveLength(2);
  });

  test('that becomes unreadable keeps its last good version', async () => {
    await write('a.yaml', manifest('a'));
    const updates = follow();
    const good = await updates.next();
    await symlink('a.yaml', at('.loop'));
    await rename(at('.loop'), at('a.yaml'));
    const unreadable = await updates.until(({ problems }) =>
      texts({ problems }).some((text) => text.includes('a.yaml')),
    );
    expect(uids(unreadable)).toEqual(uids(good));
    expect(texts(unreadable)).toEqual([expect.stringMatching(/^FOLDER\/a.yaml: cannot be read: .*ELOOP/)]);
  });

  test('may be a dangling link or no file: it has no pods', async () => {
    await symlink('nowhere', at('a.yaml'));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at('b.yaml'), resolve));
    await writeFile(at('c.yaml'), Buffer.alloc(10 * 1024 * 1024 + 1, '#'));
    const update = await follow().next();
    expect(update.pods).toEqual([]);
    expect(texts(update)).toEqual([
      'FOLDER/a.yaml: is a link to nothing',
      'FOLDER/b.yaml: is neither a file nor a folder',
      'FOLDER/c.yaml: is larger than 10 MiB',
    ]);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('what would block a reader', () => {
  test('a pipe, also in place of a manifest, keeps the pod and is named', async () => {
    await write('a.yaml', manifest('a'));
    await write('z.yaml', manifest('z'));
    const updates = follow();
    const good = await updates.next();
    execFileSync('mkfifo', [at('.pipe')]);
    await rename(at('.pipe'), at('a.yaml'));
    const update = await updates.next();
    expect(uids(update)).toEqual(uids(good));
    expect(update.problems).toEqual([
      { source: 'file', file: at('a.yaml'), message: 'is neither a file nor a folder', blocks: true },
    ]);
  });

  test('a pipe that is put there after the file was looked at is not opened for good', async () => {
    await write('a.yaml', manifest('a'));
    await unlink(at('a.yaml'));
    execFileSync('mkfifo', [at('a.yaml')]);
    await expect(readManifestContent(at('a.yaml'))).rejects.toMatchObject({
      message: 'is not a file but a named pipe',
      blocks: true,
    });
  });

  testAsRoot('the log of the kernel has no end, and is named', async () => {
    await write('a.yaml', manifest('a'));
    await symlink('/proc/kmsg', at('b.yaml'));
    const update = await follow().next();
    expect(names(update)).toEqual(['a']);
    expect(texts(update)).toEqual([
      'FOLDER/b.yaml: has no end: its reader would wait for what is written next',
    ]);
  });

  test('a file of the kernel is not read: what it gives to one reader, another one may miss', async () => {
    for (const path of ['/proc/self/status', '/proc/self/mem'])
      await expect(readManifestContent(path)).rejects.toMatchObject({ blocks: true });
  });

  test('of what a file system shows, no more than 10 MiB is read', async () => {
    await writeFile(at('.large'), Buffer.alloc(10 * 1024 * 1024, '#'));
    expect(await readManifestContent(at('.large'))).toHaveLength(10 * 1024 * 1024);
    await appendFile(at('.large'), '#');
    await expect(readManifestContent(at('.large'))).rejects.toThrow('is larger than 10 MiB');
  });
});

describe('two manifests of one pod', () => {
  const taken = (loser: string, holder: string) =>
    `FOLDER/${loser}: metadata.name: "x-node" in namespace "default" is that of a pod in FOLDER/${holder}: this pod is left out`;

  test('the file with the first name has the pod; the other file is a problem, and has the pod when the first is removed', async () => {
    await write('b.yaml', manifest('x', 'echo b'));
    await write('a.yaml', manifest('x', 'echo a'));
    const updates = follow();
    const both = await updates.next();
    expect(both.pods?.[0]?.spec.containers[0]?.command?.at(-1)).toBe('echo a');
    expect(both.pods).toHaveLength(1);
    expect(texts(both)).toEqual([taken('b.yaml', 'a.yaml')]);
    await unlink(at('a.yaml'));
    const second = await updates.next();
    expect(second.pods?.[0]?.spec.containers[0]?.command?.at(-1)).toBe('echo b');
    expect(second.problems).toEqual([]);
  });

  test('an existing pod stays when a copy with an earlier file name is added', async () => {
    await write('b.yaml', manifest('x', 'echo b'));
    const updates = follow();
    const first = await updates.next();
    await write('a.yaml', manifest('x', 'echo a'));
    const both = await updates.next();
    expect(both.pods).toEqual(first.pods);
    expect(texts(both)).toEqual([taken('a.yaml', 'b.yaml')]);
  });

  test('in one file: the first is the pod, and the problem says that the other one is there too', async () => {
    const both = `${manifest('x', 'echo a')}\n---\n${manifest('x', 'echo b')}`;
    await write('a.yaml', both);
    const update = await follow().next();
    expect(update.pods?.map(({ spec }) => spec.containers[0]?.command?.at(-1))).toEqual(['echo a']);
    expect(texts(update)).toEqual([
      'FOLDER/a.yaml: metadata.name: "x-node" in namespace "default" is that of another pod of this file: this pod is left out',
    ]);
  });

  test('with one UID: the second is a problem', async () => {
    await write('a.yaml', manifest('a', '', '  uid: same'));
    await write('b.yaml', manifest('b', '', '  uid: same'));
    const update = await follow().next();
    expect(names(update)).toEqual(['a']);
    expect(texts(update)).toEqual([
      'FOLDER/b.yaml: metadata.uid: "same" is that of a pod in FOLDER/a.yaml: this pod is left out',
    ]);
  });
});

describe('the path itself', () => {
  test('that does not exist has no pods and is seen; it may be created, removed and created again', async () => {
    const updates = follow(at('manifests'));
    const missing = await updates.next();
    expect(missing.pods).toEqual([]);
    expect(texts(missing)).toEqual(['FOLDER/manifests: does not exist: it has no pods until it does']);
    await mkdir(at('manifests'));
    await write('manifests/a.yaml', manifest('a'));
    await updates.until(holds('a'));
    await rm(at('manifests'), { recursive: true });
    await updates.until((update) => texts(update).length > 0);
    await mkdir(at('manifests'));
    await write('manifests/b.yaml', manifest('b'));
    expect((await updates.until(holds('b'))).problems).toEqual([]);
  });

  test('that is replaced by another folder is watched in its new place', async () => {
    await mkdir(at('manifests'));
    await write('manifests/a.yaml', manifest('a'));
    const updates = follow(at('manifests'));
    await updates.next();
    await mkdir(at('next'));
    await write('next/b.yaml', manifest('b'));
    await rename(at('manifests'), at('last'));
    await rename(at('next'), at('manifests'));
    await updates.until(holds('b'));
    await write('manifests/c.yaml', manifest('c'));
    await updates.until(holds('b', 'c'));
  });

  test('that is a link is followed to its new target', async () => {
    const one = await mkdtemp(at('one-'));
    const two = await mkdtemp(at('two-'));
    await writeFile(join(one, 'a.yaml'), manifest('a'));
    await writeFile(join(two, 'b.yaml'), manifest('b'));
    await symlink(one, at('manifests'));
    const updates = follow(at('manifests'));
    expect(names(await updates.next())).toEqual(['a']);
    await symlink(two, at('turned'));
    await rename(at('turned'), at('manifests'));
    await updates.until(holds('b'));
  });

  test('that is unreadable from the beginning is not seen', async () => {
    await symlink('manifests', at('manifests'));
    const unknown = await follow(at('manifests')).next();
    expect(unknown.pods).toBeUndefined();
    expect(texts(unknown)).toEqual([
      expect.stringMatching(/^FOLDER\/manifests: cannot be read, its pods stay as they are: .*ELOOP/),
    ]);
  });

  test('that becomes unreadable keeps its pods', async () => {
    await mkdir(at('manifests'));
    await write('manifests/a.yaml', manifest('a'));
    const updates = follow(at('manifests'));
    const good = await updates.next();
    await symlink('manifests', at('loop'));
    await rename(at('manifests'), at('away'));
    await rename(at('loop'), at('manifests'));
    const unreadable = await updates.until((update) => texts(update).some((text) => text.includes('ELOOP')));
    expect(uids(unreadable)).toEqual(uids(good));
  });
});

describe('a single file', () => {
  test('is followed through changes and replacements', async () => {
    await write('web.yaml', manifest('a'));
    await write('other.yaml', manifest('other'));
    const updates = follow(at('web.yaml'));
    expect(names(await updates.next())).toEqual(['a']);
    await write('next', manifest('b'));
    await rename(at('next'), at('web.yaml'));
    expect(names(await updates.next())).toEqual(['b']);
    await unlink(at('web.yaml'));
    expect((await updates.next()).pods).toEqual([]);
  });

  test('that is broken from the beginning is not seen until it is good', async () => {
    await write('web.yaml', 'kind: Pod');
    const updates = follow(at('web.yaml'));
    expect((await updates.next()).pods).toBeUndefined();
    await write('web.yaml', manifest('a'));
    expect(await updates.next()).toMatchObject({ pods: [{}], problems: [] });
  });
});
