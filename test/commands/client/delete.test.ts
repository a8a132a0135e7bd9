import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type DeleteFlags, deletePods } from '../../../src/commands/client/delete.ts';
import { answerJSON, RequestError } from '../../../src/agent/server/routes/route.ts';
import { STATE_ANNOTATION } from '../../../src/agent/server/routes/local-routes.ts';
import { type OwnerSocket, ownerSocket, podOnNode } from '../../support/owner-socket.ts';

let asked: string[];
let ended: Promise<unknown>;
let socket: OwnerSocket;
beforeEach(async () => {
  asked = [];
  ended = Promise.resolve();
  const gone = podOnNode('gone');
  const annotations = { [STATE_ANNOTATION]: 'Terminated.Finished' };
  socket = await ownerSocket(
    [
      {
        path: '/objects/:kind/:namespace/:name',
        methods: ['DELETE'],
        handle: ({ params: { kind = '', namespace = '', name = '' } }, response) => {
          if (name === 'none') throw new RequestError(404, `there is no ${kind} ${name}\n`);
          asked.push(`${kind} ${namespace}/${name}`);
          answerJSON(response, {});
        },
      },
      {
        path: '/pods/:namespace/:pod',
        methods: ['DELETE'],
        handle: async ({ params, query }, response) => {
          asked.push(`${params.namespace ?? ''}/${params.pod ?? ''}?${query}`);
          if (query.includes('wait')) await ended;
          answerJSON(response, {
            status: 'Success',
            ...(params.pod === 'job-node-a' ? {} : { manifest: '/pods' }),
          });
        },
      },
    ],
    [
      podOnNode('web'),
      podOnNode('job'),
      podOnNode('proxy', 'kube-system'),
      { ...gone, metadata: { ...gone.metadata, annotations } },
    ],
  );
});
afterEach(async () => socket.close());

async function run(names: string[], flags: DeleteFlags = {}): Promise<string[]> {
  const written: string[] = [];
  await deletePods(names, { ...flags, rootDir: socket.rootDir }, (text) => written.push(text.trim()));
  return written.sort();
}

test('waits for the end, and says when the pod starts again', async () => {
  expect(await run(['web'])).toEqual([
    'pod "web-node-a" deleted from default namespace; it starts again when its manifest changes, in /pods',
  ]);
  expect(asked).toEqual(['default/web-node-a?wait=true']);
});

test('a pod whose manifest is removed with it does not start again', async () => {
  expect(await run(['job'])).toEqual(['pod "job-node-a" deleted from default namespace']);
});

describe('pods are named', () => {
  test.each([['web'], ['pod web'], ['po web'], ['pod/web'], ['pods default/web']])('%s', async (words) => {
    expect(await run(words.split(' '), { output: 'name' })).toEqual(['pod/web-node-a']);
  });

  test('by their manifests', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'statelet-delete-'));
    const path = join(folder, 'two.yaml');
    const more = '---\nkind: Pod\nmetadata: { name: proxy, namespace: kube-system }\n';
    try {
      await writeFile(path, `kind: Pod\nmetadata: { name: web }\n${more}`);
      const names = ['pod/proxy-node-a', 'pod/web-node-a'];
      expect(await run([], { filename: [path], output: 'name' })).toEqual(names);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('with what they refer to, which goes after them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'statelet-delete-'));
    const path = join(folder, 'two.yaml');
    try {
      await writeFile(
        path,
        'kind: ConfigMap\nmetadata: { name: c }\n---\nkind: Pod\nmetadata: { name: job }\n',
      );
      expect(await run([], { filename: [path] })).toEqual([
        'configmap "c" deleted from default namespace',
        'pod "job-node-a" deleted from default namespace',
      ]);
      expect(asked).toEqual(['default/job-node-a?wait=true', 'ConfigMap default/c']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('by their labels', async () => {
    expect(await run([], { selector: '!app', output: 'name' })).toEqual(['pod/job-node-a', 'pod/web-node-a']);
    expect(await run([], { selector: 'app' })).toEqual(['No pods.']);
  });
});

describe('flags', () => {
  test.each<[DeleteFlags, string]>([
    [{ gracePeriod: 5 }, 'gracePeriodSeconds=5&wait=true'],
    [{ gracePeriod: 0, wait: false }, 'gracePeriodSeconds=0'],
    [{ gracePeriod: -1, wait: false }, ''],
    [{ now: true, wait: false }, 'gracePeriodSeconds=1'],
  ])('%j', async (flags, query) => {
    await run(['web'], flags);
    expect(asked).toEqual([`default/web-node-a?${query}`]);
  });

  test('-o name writes only names', async () => {
    expect(await run(['web', 'kube-system/proxy'], { output: 'name' })).toEqual([
      'pod/proxy-node-a',
      'pod/web-node-a',
    ]);
  });

  test('--all takes the pods of one namespace that have not ended', async () => {
    expect(await run([], { all: true, output: 'name' })).toEqual(['pod/job-node-a', 'pod/web-node-a']);
    expect(await run([], { all: true, namespace: 'kube-system', output: 'name' })).toEqual([
      'pod/proxy-node-a',
    ]);
    expect(await run([], { all: true, namespace: 'nope' })).toEqual(['No pods.']);
  });

  test('--timeout ends the wait, not the pod', async () => {
    const held = Promise.withResolvers<undefined>();
    ended = held.promise;
    await expect(run(['web'], { timeout: '50ms' })).rejects.toMatchObject({
      kind: 'DeadlineExceeded',
      message: 'timed out waiting for pod default/web-node-a to end; it goes on ending',
    });
    held.resolve(undefined);
    await expect(run(['web'], { timeout: 'x' })).rejects.toThrow('--timeout: "x" is no duration');
  });
});

test('a pod that does not exist is an error before any other is deleted, unless --ignore-not-found is given', async () => {
  await expect(run(['web', 'nope'])).rejects.toMatchObject({ kind: 'NotFound' });
  expect(asked).toEqual([]);
  expect(await run(['web', 'nope'], { ignoreNotFound: true, output: 'name' })).toEqual(['pod/web-node-a']);
});

test('what pods refer to is named with its type', async () => {
  expect(await run(['cm', 'a', 'b'], { output: 'name' })).toEqual(['configmap/a', 'configmap/b']);
  expect(await run(['secret/s', 'secrets/none'], { ignoreNotFound: true })).toEqual([
    '',
    'secret "s" deleted from default namespace',
  ]);
  await expect(run(['pvc', 'none'])).rejects.toMatchObject({ kind: 'NotFound' });
  await expect(run(['pvc'], { all: true })).rejects.toThrow('--all and --selector take pods alone');
});

test('no pod, or pods beside --all, is a wrong command line', async () => {
  await expect(run([])).rejects.toMatchObject({ kind: 'InvalidArgument' });
  await expect(run(['pod'])).rejects.toThrow('name the pods that are to be deleted');
  await expect(run(['web'], { all: true })).rejects.toMatchObject({ kind: 'InvalidArgument' });
});
