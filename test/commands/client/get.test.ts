import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { get } from '../../../src/commands/client/get.ts';
import { type GetFlags, outputFormat } from '../../../src/commands/client/get-output.ts';
import { shownPod } from '../../../src/agent/server/routes/local-routes.ts';
import { watchPodsRoute } from '../../../src/agent/server/routes/watch-pods.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { ServedPod } from '../../../src/types/served-pod.ts';
import { type OwnerSocket, ownerSocket } from '../../support/owner-socket.ts';
import { waitFor } from '../../support/wait-for.ts';

const NOW = Date.UTC(2030, 0, 1);

function served(name: string, more: Partial<Pod['metadata']> = {}, ready = true): ServedPod {
  const creationTimestamp = '2029-12-31T23:59:00Z';
  const pod: Pod = {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, creationTimestamp, ...more },
    spec: { nodeName: 'node-a', containers: [{ name: 'main' }] },
  };
  const main = { name: 'main', ready, restartCount: 0, image: '', imageID: '', state: { running: {} } };
  const status = { phase: 'Running', podIP: '10.0.0.1', containerStatuses: [main] };
  return { pod, status, state: 'Syncing.Settled' };
}

let pods: ServedPod[];
let tellChange: () => void;
let listeners: number;
let socket: OwnerSocket;
beforeEach(async () => {
  listeners = 0;
  pods = [
    served('web-node-a', { labels: { app: 'web' } }),
    served('db', { labels: { app: 'db' } }, false),
    served('proxy', { namespace: 'kube-system' }),
  ];
  const watched = {
    pods: () => pods,
    onPodChange: (changed: () => void) => {
      tellChange = changed;
      listeners += 1;
      return () => void (listeners -= 1);
    },
  };
  socket = await ownerSocket(
    [watchPodsRoute(watched)],
    pods.map((one) => shownPod(one) as Pod),
  );
});
afterEach(async () => socket.close());

function begin(words: string, flags: GetFlags = {}) {
  const shown = { out: '', err: '' };
  const stop = new AbortController();
  const done = get(
    words.split(' '),
    { rootDir: socket.rootDir, ...flags },
    { write: (text) => (shown.out += text), tell: (line) => (shown.err += `${line}\n`) },
    { signal: stop.signal, now: () => NOW },
  );
  return { shown, stop, done };
}

async function shown(words: string, flags: GetFlags = {}): Promise<string> {
  const { shown, done } = begin(words, flags);
  await done;
  return shown.out + shown.err;
}

describe('the table has the columns of kubectl', () => {
  test.each<[string, GetFlags, string[]]>([
    [
      'pods',
      {},
      [
        'NAME         READY   STATUS    RESTARTS   AGE',
        'db           0/1     Running   0          60s',
        'web-node-a   1/1     Running   0          60s',
      ],
    ],
    [
      'po',
      { allNamespaces: true, headers: false },
      [
        'default       db           0/1   Running   0   60s',
        'default       web-node-a   1/1   Running   0   60s',
        'kube-system   proxy        1/1   Running   0   60s',
      ],
    ],
    [
      'pod/web',
      { output: 'wide' },
      [
        'NAME         READY   STATUS    RESTARTS   AGE   IP         NODE     NOMINATED NODE   READINESS GATES',
        'web-node-a   1/1     Running   0          60s   10.0.0.1   node-a   <none>           <none>',
      ],
    ],
    [
      'pods proxy',
      { namespace: 'kube-system', showLabels: true },
      [
        'NAME    READY   STATUS    RESTARTS   AGE   LABELS',
        'proxy   1/1     Running   0          60s   <none>',
      ],
    ],
    [
      'pods',
      { selector: 'app!=web', showLabels: true, headers: false },
      ['db   0/1   Running   0   60s   app=db'],
    ],
  ])('%s %j', async (words, flags, lines) => {
    expect(await shown(words, flags)).toBe(`${lines.join('\n')}\n`);
  });
});

describe('documents', () => {
  test('of one pod are the pod, with kind and version, in the order of the names', async () => {
    const text = await shown('pod web', { output: 'yaml' });
    expect(parse(text)).toMatchObject({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-node-a' } });
    expect(Object.keys(parse(text) as object)).toEqual(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  });

  test('of several are a List', async () => {
    const list = JSON.parse(await shown('pods', { output: 'json' })) as { readonly items: readonly Pod[] };
    expect(list).toMatchObject({ apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' } });
    expect(list.items.map(({ metadata }) => metadata.name).sort()).toEqual(['db', 'web-node-a']);
  });

  test('names have their type before them', async () => {
    expect(await shown('pods', { output: 'name', selector: 'app' })).toBe('pod/db\npod/web-node-a\n');
  });
});

describe('where there is none', () => {
  test.each<[GetFlags, string]>([
    [{ namespace: 'x' }, 'No resources found in x namespace.\n'],
    [{ allNamespaces: true, selector: 'app=none' }, 'No resources found\n'],
  ])('%j is a message on standard error, without failing', async (flags, text) => {
    const { shown, done } = begin('pods', flags);
    await done;
    expect(shown).toEqual({ out: '', err: text });
  });

  test('of that name, this is an error after the existing ones have been shown', async () => {
    const { shown, done } = begin('pods db none gone', { output: 'name' });
    await expect(done).rejects.toMatchObject({
      kind: 'NotFound',
      message: expect.stringMatching(/^there is no pod "none" .*\nthere is no pod "gone" /u),
    });
    expect(shown.out).toBe('pod/db\n');
  });

  test('of that name, this is no error with --ignore-not-found', async () => {
    expect(await shown('pods db none', { ignoreNotFound: true, output: 'name' })).toBe('pod/db\n');
  });
});

test('a name and all namespaces exclude each other', async () => {
  await expect(shown('pods db', { allNamespaces: true })).rejects.toMatchObject({ kind: 'InvalidArgument' });
});

describe('a watch', () => {
  const seen = async (text: () => string, pattern: RegExp) =>
    waitFor(() => pattern.test(text()), { what: String(pattern) });

  test('shows the table, and then each row that changes in more than its age', async () => {
    const { shown, stop, done } = begin('pods', { watch: true });
    await seen(() => shown.out, /^NAME .*\ndb .*\nweb-node-a .*\n$/u);
    pods = [served('web-node-a', { labels: { app: 'web' } }), served('db', { labels: { app: 'db' } })];
    tellChange();
    await seen(() => shown.out, /\ndb +1\/1 +Running +0 +60s\n$/u);
    pods = [...pods, served('new')];
    tellChange();
    await seen(() => shown.out, /\nnew .*\n$/u);
    expect(shown.out.match(/^web-node-a/gmu)).toHaveLength(1);
    expect(listeners).toBe(1);
    stop.abort();
    await done;
    await waitFor(() => listeners === 0, { what: 'the daemon to listen no more' });
  });

  test('of changes alone begins with nothing', async () => {
    const { shown, stop, done } = begin('pods', { watchOnly: true, output: 'name' });
    await waitFor(() => listeners === 1, { what: 'the watch' });
    pods = [served('db', {}, true)];
    tellChange();
    await seen(() => shown.out, /^pod\/db\n$/u);
    stop.abort();
    await done;
  });

  test('of whole pods shows one of which only the CPUs that it has for itself have changed', async () => {
    const { shown, stop, done } = begin('pods', { watchOnly: true, output: 'json' });
    await waitFor(() => listeners === 1, { what: 'the watch' });
    pods = pods.map((one) => (one.pod.metadata.name === 'db' ? { ...one, ownCpus: '2-3' } : one));
    tellChange();
    await seen(() => shown.out, /^[^]*"name": "db"[^]*\n\}\n$/u);
    expect(shown.out).toContain(': "2-3"');
    stop.abort();
    await done;
  });

  test('of a pod that goes shows it once more, and of no other', async () => {
    const { shown, stop, done } = begin('pod db', { watch: true, output: 'name' });
    await seen(() => shown.out, /^pod\/db\n$/u);
    pods = [{ ...served('db', {}, false), state: 'Terminating.Stopping' }];
    tellChange();
    await seen(() => shown.out, /^pod\/db\npod\/db\n$/u);
    stop.abort();
    await done;
  });
});

describe('as kubectl selects, sorts and cuts', () => {
  test('fields select pods', async () => {
    expect(
      await shown('pods', { output: 'name', fieldSelector: 'metadata.name!=db,status.phase=Running' }),
    ).toBe('pod/web-node-a\n');
    await expect(shown('pods', { fieldSelector: 'spec.image=x' })).rejects.toThrow(
      '--field-selector: pods cannot be selected by "spec.image", but by metadata.name, ',
    );
    await expect(shown('pods', { fieldSelector: 'phase' })).rejects.toThrow('neither FIELD=VALUE nor');
  });

  test('a template sees the list, or the pod that is named', async () => {
    expect(await shown('pods', { output: 'jsonpath={.kind}: {.items[*].metadata.name}' })).toBe(
      'List: db web-node-a',
    );
    expect(await shown('pod web', { output: 'jsonpath={.kind} {.status.podIP}' })).toBe('Pod 10.0.0.1');
  });

  test('a template may be in a file', async () => {
    const file = join(socket.rootDir, 'template');
    writeFileSync(file, '{.kind}');
    expect(await shown('pod web', { output: `jsonpath-file=${file}` })).toBe('Pod');
    await expect(shown('pods', { output: `jsonpath-file=${file}x` })).rejects.toThrow(/^-o jsonpath-file: /u);
  });

  test('labels have columns of their own', async () => {
    expect(await shown('pods', { labelColumns: ['example.com/tier', 'app'], showLabels: true })).toMatch(
      /AGE +TIER +APP +LABELS\ndb .* 60s {10}db +app=db\nweb-node-a .* 60s {10}web +app=web\n$/u,
    );
  });

  test('pods that are named are shown as they are named', async () => {
    expect(await shown('pod/web pod/db', { output: 'name' })).toBe('pod/web-node-a\npod/db\n');
  });

  test('custom columns are sorted by the field that is asked for', async () => {
    const output = 'custom-columns=NAME:.metadata.name,APP:.metadata.labels.app';
    expect(await shown('pods', { output, sortBy: '.metadata.labels.app' })).toBe(
      'NAME         APP\ndb           db\nweb-node-a   web\n',
    );
    expect(await shown('pods', { output, headers: false, sortBy: '{.metadata.uid}' })).toBe(
      'db           db\nweb-node-a   web\n',
    );
  });
});

test('an unknown format is refused with the list of known formats', () => {
  expect(outputFormat('jsonpath={.kind}')).toBe('jsonpath={.kind}');
  expect(() => outputFormat('jsonpath=')).toThrow(
    '--output: "jsonpath=" is none of wide, json, yaml, name, jsonpath=…',
  );
  expect(() => outputFormat('xml')).toThrow('--output: "xml" is none of');
  expect(() => outputFormat('go-template={{.kind}}')).toThrow(
    '--output: go-template is not there; write it as jsonpath={.items[*].metadata.name} or',
  );
});
