import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadCredentialProviders } from '../../../src/agent/config/load-credential-providers.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-providers-'));
  mkdirSync(path('bin'));
  mkdirSync(path('conf'));
  for (const name of ['a', 'b', 'c']) program(name);
});
afterEach(() => rmSync(dir, { recursive: true }));

const path = (name: string) => join(dir, name);
function program(name: string, mode = 0o755): void {
  writeFileSync(path(`bin/${name}`), '#!/bin/sh\n');
  chmodSync(path(`bin/${name}`), mode);
}
const provider = (name: string) => ({
  name,
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  matchImages: ['*.example'],
  defaultCacheDuration: '1m',
});
function write(file: string, ...names: string[]): void {
  const head = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
  writeFileSync(path(file), JSON.stringify({ ...head, providers: names.map(provider) }));
}
const load = (config: string, bin = 'bin') => loadCredentialProviders(path(config), path(bin));

test('a file is read, and may be YAML', async () => {
  writeFileSync(
    path('one.yaml'),
    `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
  - name: a
    apiVersion: credentialprovider.kubelet.k8s.io/v1
    matchImages: ['*.example']
    defaultCacheDuration: 1m
    args: null
`,
  );
  expect((await load('one.yaml')).providers).toEqual([provider('a')]);
});

test('of a folder, the files of known names are read in the order of their names', async () => {
  write('conf/20.yml', 'a');
  write('conf/10.json', 'c');
  write('conf/30.yaml', 'b');
  writeFileSync(path('conf/notes.txt'), 'no configuration');
  mkdirSync(path('conf/more.yaml'));
  expect((await load('conf')).providers.map(({ name }) => name)).toEqual(['c', 'a', 'b']);
});

test("the hash is the kubelet's: of the files in their order, each with its length before it", async () => {
  write('conf/10.json', 'c');
  write('conf/20.yml', 'a');
  const hash = createHash('sha256');
  for (const file of ['conf/10.json', 'conf/20.yml']) {
    const content = readFileSync(path(file));
    const length = Buffer.alloc(8);
    length.writeUInt32BE(content.length, 4);
    hash.update(length).update(content);
  }
  expect((await load('conf')).hash).toBe(`sha256:${hash.digest('hex')}`);
});

describe('what is wrong is named', () => {
  test.each([
    [
      'there is no such file',
      'none',
      'bin',
      '--image-credential-provider-config: unable to access path "DIR/none": ',
    ],
    [
      'the folder is empty',
      'conf',
      'bin',
      '--image-credential-provider-config: no configuration files found in directory "DIR/conf"',
    ],
    [
      'there are no programs',
      'good.yaml',
      'none',
      '--image-credential-provider-bin-dir: plugin binary directory DIR/none did not exist',
    ],
    [
      'their folder is a file',
      'good.yaml',
      'good.yaml',
      '--image-credential-provider-bin-dir: DIR/good.yaml is no directory',
    ],
    [
      'a program is missing',
      'missing.yaml',
      'bin',
      '--image-credential-provider-bin-dir: plugin binary executable DIR/bin/missing did not exist',
    ],
    [
      'a program is a folder',
      'folder.yaml',
      'bin',
      '--image-credential-provider-bin-dir: plugin binary executable DIR/bin/folder is no file',
    ],
    [
      'a program may not be run',
      'plain.yaml',
      'bin',
      '--image-credential-provider-bin-dir: error inspecting binary executable DIR/bin/plain: ',
    ],
    [
      'a name stands twice',
      'twice.yaml',
      'bin',
      '--image-credential-provider-config: DIR/twice.yaml: duplicate provider name "a" found in configuration file(s)',
    ],
    [
      'there are no plugins',
      'empty.yaml',
      'bin',
      '--image-credential-provider-config: DIR/empty.yaml: failed to validate credential provider config: providers: Required value',
    ],
    [
      'the content is no configuration',
      'nothing.yaml',
      'bin',
      `--image-credential-provider-config: error decoding config "DIR/nothing.yaml": Object 'Kind' is missing`,
    ],
    [
      'the content is not YAML',
      'broken.yaml',
      'bin',
      '--image-credential-provider-config: error decoding config "DIR/broken.yaml": is neither YAML nor JSON: ',
    ],
  ])('%s', async (_what, config, bin, message) => {
    write('good.yaml', 'a');
    write('missing.yaml', 'missing');
    write('folder.yaml', 'folder');
    mkdirSync(path('bin/folder'));
    write('plain.yaml', 'plain');
    program('plain', 0o644);
    write('twice.yaml', 'a', 'a');
    write('empty.yaml');
    writeFileSync(path('nothing.yaml'), '');
    writeFileSync(path('broken.yaml'), '{');
    await expect(load(config, bin)).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringContaining(message.replaceAll('DIR', dir)),
    });
  });

  test('one of the two flags is missing', async () => {
    write('good.yaml', 'a');
    await expect(loadCredentialProviders('', path('bin'))).rejects.toThrow(
      'credential provider config path is empty',
    );
    await expect(loadCredentialProviders(path('good.yaml'), '')).rejects.toThrow(
      '--image-credential-provider-bin-dir: is missing; --image-credential-provider-config needs it',
    );
  });
});
