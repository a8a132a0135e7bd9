import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { manifestDocuments } from '../../../src/commands/client/manifest-input.ts';
import { nameOf } from '../../../src/commands/client/parsed-documents.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-input-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const A = 'kind: Pod\nmetadata: { name: a } # one\n';
const B = 'kind: Pod\nmetadata:\n  name: b\n  namespace: x\n';

async function documents(filename: readonly string[], namespace?: string) {
  const found = await manifestDocuments({ filename }, namespace);
  return found.map(({ place, text }) => [place.replace(`${dir}/`, ''), text]);
}

describe('documents are', () => {
  test('those of each file, as they are, without empty ones', async () => {
    const path = file('two.yaml', `# head\n---\n${A}--- # next\n${B}---\n\n`);
    expect(await documents([path])).toEqual([
      ['two.yaml, document 2', `\n${A}`],
      ['two.yaml, document 3', `\n${B}`],
    ]);
  });

  test('those of the manifests in a folder', async () => {
    mkdirSync(join(dir, 'sub'));
    file('b.json', A);
    file('a.yml', A);
    file('c.txt', 'no');
    file('sub/d.yaml', B);
    expect((await documents([dir])).map(([place]) => place)).toEqual(['a.yml', 'b.json']);
    const all = await manifestDocuments({ filename: [dir], recursive: true });
    expect(all).toHaveLength(3);
  });

  test('those of a URL, whose secrets are not shown', async () => {
    const server = createServer((request, response) => {
      response.writeHead(request.url?.startsWith('/pods') === true ? 200 : 404).end(A);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      expect(await documents([`http://${host}/pods?token=hunter2`])).toEqual([[`${host}/pods`, A]]);
      await expect(documents([`http://${host}/none`])).rejects.toThrow('the server answers 404');
    } finally {
      server.close();
    }
  });

  test('the items of a list', async () => {
    const item = { kind: 'Pod', metadata: { name: 'a' } };
    const list = file('list.json', JSON.stringify({ kind: 'List', items: [item] }));
    const pods = file('pods.yaml', 'kind: PodList\nitems: [{ metadata: { name: b } }]\n');
    expect(await documents([list, pods])).toEqual([
      ['list.json, item 1', JSON.stringify(item)],
      ['pods.yaml, item 1', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}'],
    ]);
  });

  test('one that only speaks of lists, as it is', async () => {
    const text = JSON.stringify({ kind: 'Pod', metadata: { name: 'a', annotations: { kind: 'List' } } });
    expect(await documents([file('a.json', text)])).toEqual([['a.json', text]]);
  });
});

describe('--namespace', () => {
  test('is written into documents that name none; comments stay', async () => {
    const [[, text] = []] = await documents([file('a.yaml', A)], 'y');
    expect(nameOf({ place: '', text: text ?? '' })).toEqual({ kind: 'Pod', name: 'a', namespace: 'y' });
    expect(text).toContain('# one');
  });

  test('may not be another than that of the document', async () => {
    expect(await documents([file('b.yaml', B)], 'x')).toHaveLength(1);
    await expect(documents([file('b.yaml', B)], 'y')).rejects.toThrow(
      /b\.yaml: "b" is in namespace "x", and --namespace says "y"$/u,
    );
  });
});

describe('an error names', () => {
  test.each([
    ['what is not there', 'none.yaml', '', /-f .*none\.yaml: ENOENT/u],
    ['what is empty', 'a.yaml', '# nothing\n---\n', /^-f: there is no manifest in .*a\.yaml$/u],
    ['what is no YAML', 'a.yaml', 'kind: List\na: [', /a\.yaml: is not valid YAML: /u],
    [
      'what has no name',
      'a.yaml',
      'kind: List\nitems: [{}]',
      /a\.yaml, item 1: needs kind and metadata\.name/u,
    ],
  ])('%s', async (_, name, text, message) => {
    const path = name === 'none.yaml' ? join(dir, name) : file(name, text);
    const read = manifestDocuments({ filename: [path] }).then((all) => all.map(nameOf));
    await expect(read).rejects.toThrow(message);
  });
});
