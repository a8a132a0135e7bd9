/** ConfigMaps, Secrets and claims of manifests, with plain processes, and where a Secret is not shown. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { put } from '../agent/sources/support.ts';
import { awaitFile, manifest, shell } from './manifests.ts';

const PASSWORD = 'hunter2-hunter2';
const ENCODED = Buffer.from(PASSWORD).toString('base64');

/** Others need user namespaces to mount volumes. */
const asRoot = process.getuid?.() === 0 ? test : test.skip;

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const write = (name: string, ...documents: readonly string[]) =>
  put(join(bed.manifestDir, name), documents.join('\n---\n'));
const configMap = (color: string) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'app' }, data: { color } });
const secret = (data: Record<string, string>) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'app' }, data });
const deployment = manifest('more').replace('"Pod"', '"Deployment"').replace('"v1"', '"apps/v1"');

/** Of the folder, by the files that have the Secret. */
function filesWithPassword(): readonly string[] {
  const entries = readdirSync(bed.rootDir, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const hasPassword = (text: string) => text.includes(PASSWORD) || text.includes(ENCODED);
  return files
    .filter((file) => hasPassword(readFileSync(file, 'utf8')))
    .map((file) => relative(bed.rootDir, file));
}

test('a pod waits for its Secret, keeps its variables while it runs, and has new ones when it starts again', async () => {
  const crash = join(bed.dir, 'crash');
  const web = manifest('web', {
    containers: [
      shell(`echo "$COLOR \${#PASSWORD}"; ${awaitFile(crash)}; rm ${crash}; exit 1`, {
        env: [
          { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'app', key: 'color' } } },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'app', key: 'password' } } },
        ],
      }),
    ],
  });
  await write('web.yaml', web, configMap('red'), deployment);
  const daemon = await bed.run(['--pods', bed.manifestDir]);
  await daemon.warning(
    'document 3: kind: a Deployment has no controller here: write its spec.template as a Pod',
  );
  await daemon.warning('secret "app" not found');
  const why = async () => (await statelet('why', '--root-dir', bed.rootDir, 'web')).stdout;
  expect(await why()).toContain('default/web waits for Secret default/app, which does not exist');

  await write('secret.yaml', secret({ password: ENCODED }));
  const pod = await daemon.running('web');
  const output = (attempt: number) =>
    bed.containerLog(pod.metadata, 'main', attempt).replace(/^\S+ stdout F /u, '');
  await waitFor(() => output(0) === 'red 15\n', { what: 'the first output' });
  await write('secret.yaml', secret({ password: `${ENCODED}?` }));
  await daemon.warning('secret.yaml: data.password: must be base64');
  await write('web.yaml', web, configMap('blue'));
  // Read after the change: one reading has both files.
  await write('dup.yaml', configMap('green'));
  await daemon.warning('this ConfigMap is left out');
  expect((await daemon.running('web')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
  writeFileSync(crash, '');
  await daemon.until('web', 'running again', ({ status }) => {
    const [main] = status?.containerStatuses ?? [];
    return main?.restartCount === 1 && main.state?.running !== undefined;
  });
  await waitFor(() => output(1) === 'blue 15\n', { what: 'the second output' });

  const commands = [['why', 'web'], ['events'], ['pods', '-o', 'json'], ['timeline', 'web', '-o', 'json']];
  const texts = await Promise.all(
    commands.map(async (args) => Object.values(await statelet(...args, '--root-dir', bed.rootDir)).join()),
  );
  const shown = [
    ...texts,
    JSON.stringify(await daemon.pods()),
    daemon.log.map(({ msg }) => msg).join(),
  ].join();
  expect(shown).toContain('web');
  expect(shown).not.toContain(PASSWORD);
  expect(shown).not.toContain(ENCODED);
  // The runtime's own record of the container, which has its variables.
  expect(filesWithPassword().filter((file) => !/^runtime\/containers\/\w+\/\w+\.json$/u.test(file))).toEqual(
    [],
  );
});

asRoot(
  'examples/objects: the greeter waits for its Secret, follows its ConfigMap, and counts on after a restart',
  async () => {
    const example = fileURLToPath(new URL('../../examples/objects', import.meta.url));
    const copy = (from: string, name: string) =>
      put(join(bed.manifestDir, name), readFileSync(join(example, from, name), 'utf8'));
    await copy('pods', 'greeter.yaml');
    await copy('pods', 'greeting.yaml');
    const first = await bed.run(['--pods', bed.manifestDir]);
    await first.warning('secret "greeter" not found');
    await copy('later', 'secret.yaml');
    const { metadata } = await first.running('greeter');
    const greets = (line: RegExp, attempt = 0) =>
      waitFor(() => line.test(bed.containerLog(metadata, 'greeter', attempt)), {
        what: `a line ${String(line)}`,
      });
    await greets(/good morning, for the 1\. time, with a password of 15 characters/u);
    const greeting = readFileSync(join(example, 'pods/greeting.yaml'), 'utf8');
    await put(join(bed.manifestDir, 'greeting.yaml'), greeting.replace('morning', 'night'));
    await greets(/good night, for the \d+\. time/u);
    expect(await first.end()).toBe(0);

    const second = await bed.run(['--pods', bed.manifestDir, '--exit-with-pods']);
    await second.running('greeter');
    expect(await second.end()).toBe(0);
    const third = await bed.run(['--pods', bed.manifestDir]);
    await third.running('greeter');
    await greets(/^\S+ stdout F good night, for the ([2-9]|\d{2,})\. time/u, 1);
  },
);
