import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { containerLogRoutes } from '../../../../src/agent/server/routes/container-logs.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { ContainerStatus } from '../../../../src/types/kubernetes.ts';
import type { RuntimeContainerState } from '../../../../src/types/runtime-pod.ts';
import type { ServedPod } from '../../../../src/types/served-pod.ts';
import { openBelow } from '../../../support/held-open.ts';
import { testPod } from '../../../support/pods.ts';
import { RouteServer } from '../../../support/route-server.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { waitFor } from '../../../support/wait-for.ts';

const line = (words: string) => `2030-01-01T00:00:00Z stdout F ${words}\n`;
const PATH = '/containerLogs/default/web/main';

/** A node with the pod default/web, whose container has been started twice. */
class Node {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
  readonly server = new RouteServer(containerLogRoutes(this.#api()));
  state: RuntimeContainerState = 'running';
  container: Partial<ContainerStatus> = {
    containerID: 'containerd://now',
    state: { running: {} },
    lastState: { terminated: { exitCode: 1, containerID: 'containerd://before' } },
  };

  /** Called when the runtime is asked about a container. */
  onAsked: (id: string) => void = () => undefined;

  path(id: string): string {
    return join(this.dir, `${id}.log`);
  }

  say(...lines: readonly string[]): void {
    appendFileSync(this.path('now'), lines.map(line).join(''));
  }

  /** How many files of this node are open. */
  openFiles(): number {
    return openBelow(this.dir);
  }

  #api() {
    const containerStatus = (id: string) => {
      this.onAsked(id);
      return id === 'gone'
        ? Promise.reject(new StateletError('NotFound', 'no such container'))
        : Promise.resolve({ logPath: this.path(id) });
    };
    return {
      runtime: { containerStatus } as unknown as RuntimeService,
      pod: (namespace: string, name: string): ServedPod | undefined => {
        const base = { name: 'main', image: '', imageID: '', ready: true, restartCount: 1 };
        const status = { phase: 'Running', containerStatuses: [{ ...base, ...this.container }] };
        return `${namespace}/${name}` === 'default/web'
          ? { pod: testPod(), status, state: 'Syncing.Settled' }
          : undefined;
      },
      runtimePod: () => runtimePodStatus({ containers: [{ id: 'now', name: 'main', state: this.state }] }),
    };
  }
}

let node: Node;
beforeEach(async () => {
  node = new Node();
  writeFileSync(node.path('now'), '');
  writeFileSync(node.path('before'), line('older'));
  await node.server.open();
});
afterEach(() => {
  node.server.close();
  rmSync(node.dir, { recursive: true });
});

/** What has arrived of an answer. */
function arrived(response: IncomingMessage): { text: string } {
  const seen = { text: '' };
  response.setEncoding('utf8').on('data', (chunk: string) => (seen.text += chunk));
  return seen;
}

describe('a log', () => {
  test('is sent with the options of the query', async () => {
    node.say('a', 'b', 'c');
    const { status, headers, body } = await node.server.ask(`${PATH}?tailLines=2&timestamps=true`);
    const stamp = '2030-01-01T00:00:00.000000000Z';
    expect({ status, body }).toEqual({ status: 200, body: `${stamp} b\n${stamp} c\n` });
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(headers['content-type']).toBeUndefined();
  });

  test('of the previous instance is that of the one that ended last', async () => {
    node.say('a');
    expect(await node.server.ask(`${PATH}?previous=true`)).toMatchObject({ status: 200, body: 'older\n' });
  });

  test.each(['gone', 'before'])(
    'of an instance (%s) that is removed after the request was understood is that of the next one',
    async (id) => {
      const state = { terminated: { exitCode: 1, containerID: `containerd://${id}` } };
      node.container = { containerID: `containerd://${id}`, state };
      node.say('a');
      const asked: string[] = [];
      node.onAsked = (containerId) => {
        asked.push(containerId);
        rmSync(node.path('before'), { force: true });
        node.container = { containerID: 'containerd://now', state: { running: {} } };
      };
      expect(await node.server.ask(PATH)).toMatchObject({ status: 200, body: 'a\n' });
      expect(asked).toEqual([id, 'now']);
    },
  );

  test('that is followed has its headers before its first line, and ends with the container', async () => {
    const response = await node.server.begin(`${PATH}?follow=true`);
    expect(response.statusCode).toBe(200);
    const body = text(response);
    node.say('a');
    node.state = 'exited';
    expect(await body).toBe('a\n');
  });
});

describe('a request that cannot be served', () => {
  test.each([
    [`${PATH}?tailLines=x`, 400, '{"message": "Unable to decode query."}'],
    [`${PATH}?tailLines=-1`, 422, '{"message": "Invalid request."}'],
    ['/containerLogs/default/other/main', 404, 'pod "other" does not exist'],
    ['/containerLogs/default/web/other', 404, 'container "other" not found in pod "web"'],
  ])('%s is answered with %i %s', async (path, status, body) => {
    expect(await node.server.ask(path)).toMatchObject({ status, body });
  });

  test('says why a container has no log', async () => {
    node.container = { state: { waiting: { reason: 'ContainerCreating' } } };
    const body = 'container "main" in pod "web" is waiting to start: ContainerCreating';
    expect(await node.server.ask(PATH)).toMatchObject({ status: 400, body });
    const previous = 'previous terminated container "main" in pod "web" not found';
    expect(await node.server.ask(`${PATH}?previous=1`)).toMatchObject({ status: 400, body: previous });
  });

  test('may fail after its status has been sent: then the error is the log', async () => {
    node.container = { containerID: 'containerd://gone', state: { running: {} } };
    const unknown = 'unable to retrieve container logs for containerd://gone';
    expect(await node.server.ask(PATH)).toMatchObject({ status: 200, body: unknown });
    rmSync(node.path('now'));
    node.container = { containerID: 'containerd://now', state: { running: {} } };
    const { body } = await node.server.ask(PATH);
    const path = node.path('now');
    expect(body).toBe(
      `failed to try resolving symlinks in path "${path}": lstat ${path}: no such file or directory`,
    );
  });
});

describe('a client', () => {
  test('that reads slowly gets all, and delays no other client', async () => {
    const words = 'x'.repeat(1000);
    node.say(...Array.from({ length: 30_000 }, () => words));
    const slow = await node.server.begin(PATH);
    slow.pause();
    const { body } = await node.server.ask(PATH);
    expect(body.length).toBe(30_000 * 1001);
    expect(node.openFiles()).toBe(1);
    expect((await text(slow)).length).toBe(body.length);
    await waitFor(() => node.openFiles() === 0, { what: 'the log to be closed' });
  });

  test('that disconnects while it follows leaves no open file', async () => {
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => node.server.begin(`${PATH}?follow=true`)),
    );
    const seen = clients.map(arrived);
    node.say('a');
    await waitFor(() => seen.every((one) => one.text === 'a\n'), { what: 'the first line' });
    expect(node.openFiles()).toBe(10);
    for (const client of clients) client.destroy();
    await waitFor(() => node.openFiles() === 0, { what: 'the logs to be closed' });
    expect(node.server.defects).toEqual([]);
  });

  test('that disconnects while the log is awaited leaves no open file', async () => {
    node.say(...Array.from({ length: 30_000 }, () => 'x'.repeat(1000)));
    const slow = await node.server.begin(PATH);
    await once(slow, 'readable');
    slow.destroy();
    await waitFor(() => node.openFiles() === 0, { what: 'the log to be closed' });
    expect(node.server.defects).toEqual([]);
  });
});
