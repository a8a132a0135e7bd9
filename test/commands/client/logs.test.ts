import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { logs, type LogsFlags } from '../../../src/commands/client/logs.ts';

const POD = {
  metadata: { name: 'web-node-a', namespace: 'default', uid: 'u', labels: { app: 'web' } },
  spec: {
    nodeName: 'node-a',
    initContainers: [{ name: 'setup' }],
    containers: [{ name: 'app' }, { name: 'side' }],
  },
};

let rootDir: string;
/** What was asked for, and how it is answered: by the name of the container. */
let asked: string[];
let answers: Record<string, (response: ServerResponse) => void>;
const server = createServer((request, response) => {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/healthz') response.end('ok');
  else if (pathname === '/pods') response.end(JSON.stringify({ items: [POD] }));
  else {
    asked.push(pathname + search);
    answers[pathname.split('/').at(-1) ?? '']?.(response);
  }
});

beforeEach(async () => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
  asked = [];
  answers = {
    setup: (response) => response.end('ready\n'),
    app: (response) => response.end('a\nb'),
    side: (response) => response.end('c\n'),
  };
  await once(server.listen(join(rootDir, 'statelet.sock')), 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(rootDir, { recursive: true });
});

/** Rejects as the command does; otherwise returns what was printed. */
async function printed(flags: LogsFlags = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = text(stdout);
  const errors = text(stderr);
  try {
    await logs(flags.selector === undefined ? 'web' : undefined, { rootDir, ...flags }, { stdout, stderr });
  } finally {
    stdout.end();
    stderr.end();
  }
  return { output: await output, errors: await errors };
}

describe('the logs of pods that are chosen by their labels', () => {
  test('are the last ten lines of each, with its prefix', async () => {
    const { output } = await printed({ selector: 'app=web', allContainers: true, prefix: true });
    expect(output).toMatch(/^\[pod\/web-node-a\/setup\] ready\n\[pod\/web-node-a\/app\] a\n/u);
    expect(asked[0]).toBe('/containerLogs/default/web-node-a/setup?tailLines=10');
  });

  test('are none where there is no such pod, which is an error', async () => {
    const { output, errors } = await printed({ selector: 'app=db' });
    expect([output, errors, asked]).toEqual(['', 'No resources found in default namespace.\n', []]);
  });

  test('are not asked for where a pod is named, too, or nothing is', async () => {
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
    const refused = 'name a pod, or choose pods by their labels with --selector';
    await expect(logs('web', { rootDir, selector: 'a' }, streams)).rejects.toThrow(refused);
    await expect(logs(undefined, { rootDir }, streams)).rejects.toThrow(refused);
  });
});

describe('the log of a container', () => {
  test('is that of the first one, and the others are named', async () => {
    const errors = 'Defaulted container "app" out of: app, side, setup (init)\n';
    expect(await printed()).toEqual({ output: 'a\nb', errors });
    expect(asked).toEqual(['/containerLogs/default/web-node-a/app']);
  });

  test('is asked for with the flags', async () => {
    const flags = {
      container: 'side',
      follow: true,
      previous: true,
      timestamps: true,
      tail: 0,
      limitBytes: 9,
    };
    await printed({ ...flags, since: '90s' });
    await printed({ container: 'side', sinceTime: '2030-01-01T02:00:00+02:00', tail: -1, limitBytes: 0 });
    expect(asked).toEqual([
      '/containerLogs/default/web-node-a/side?follow=true&previous=true&timestamps=true&tailLines=0&limitBytes=9&sinceSeconds=90',
      '/containerLogs/default/web-node-a/side?sinceTime=2030-01-01T02%3A00%3A00%2B02%3A00',
    ]);
  });

  test('is not there for the reason that the daemon gives', async () => {
    const words = 'container "app" in pod "web-node-a" is waiting to start: ContainerCreating';
    answers.app = (response) => response.writeHead(400).end(words);
    await expect(printed()).rejects.toMatchObject({ kind: 'FailedPrecondition', message: words });
  });

  test('breaks off where the daemon ends', async () => {
    answers.app = (response) => void response.write('a\n', () => response.destroy());
    await expect(printed({ follow: true })).rejects.toMatchObject({ kind: 'Unavailable' });
  });
});

describe('the logs of all containers', () => {
  const all = { allContainers: true };

  test('follow each other in the order in which containers start', async () => {
    expect(await printed(all)).toEqual({ output: 'ready\na\nbc\n', errors: '' });
  });

  test('have the names of pod and container before each line where that is wanted', async () => {
    const { output } = await printed({ ...all, prefix: true });
    const [setup, app, side] = ['setup', 'app', 'side'].map((name) => `[pod/web-node-a/${name}] `);
    expect(output).toBe(`${setup}ready\n${app}a\n${app}b${side}c\n`);
  });

  test('do not mix within a line while they are followed', async () => {
    const held: ServerResponse[] = [];
    answers.setup = (response) => response.end();
    answers.app = (response) => {
      held.push(response);
      response.write('beginning ');
      if (held.length === 2) finish();
    };
    answers.side = answers.app;
    const finish = () => {
      for (const response of held) response.end(`end\n`);
    };
    const { output } = await printed({ ...all, follow: true });
    expect(output).toBe('beginning end\nbeginning end\n');
  });

  test('show a line of any length', async () => {
    const long = 'x'.repeat(3_000_000);
    answers.app = (response) => response.end(`${long}\ny\n`);
    const { output } = await printed({ ...all, prefix: true });
    expect(output).toContain(`app] ${long}\n[pod/web-node-a/app] y\n`);
  });

  test('end at the first error, unless errors are to be ignored', async () => {
    answers.setup = (response) => response.writeHead(400).end('no log');
    await expect(printed(all)).rejects.toThrow('no log');
    expect(await printed({ ...all, ignoreErrors: true })).toEqual({
      output: 'a\nbc\n',
      errors: 'error: no log\n',
    });
  });

  test('are followed up to a number', async () => {
    await expect(printed({ ...all, follow: true, maxLogRequests: 2 })).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringContaining('--max-log-requests allows 2') as unknown,
    });
  });
});

test.each([
  [{ since: '5s', sinceTime: '2030-01-01T00:00:00Z' }, '--since and --since-time exclude each other'],
  [{ allContainers: true, container: 'app' }, '--all-containers and --container exclude each other'],
  [{ since: 'soon' }, '--since: "soon" is no duration above zero, such as 5s, 2m or 3h'],
  [{ since: '0' }, '--since: "0" is no duration above zero, such as 5s, 2m or 3h'],
  [{ sinceTime: 'noon' }, '--since-time: "noon" is no time in RFC 3339, such as 2030-01-01T00:00:00Z'],
])('%j is refused', async (flags, message) => {
  await expect(printed(flags)).rejects.toMatchObject({ kind: 'InvalidArgument', message });
});
