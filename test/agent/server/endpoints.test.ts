import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { askDaemon } from '../../../src/commands/daemon-request.ts';
import { writeAddress } from '../../../src/agent/server/control-socket.ts';
import { systemClock } from '../../../src/system/timer.ts';
import { Endpoints, type EndpointsParts } from '../../../src/agent/server/endpoints.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { outputAsNobody } from '../../support/as-nobody.ts';
import { mountSmallDisk, testAsRoot } from '../../support/as-root.ts';
import { waitFor } from '../../support/wait-for.ts';
import { warnings } from '../../support/warnings.ts';
import { testContext } from '../../support/test-context.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'c', env: [{ name: 'PASSWORD', value: 'hunter2' }] }] },
};
const sources = { health: () => undefined, pods: () => [{ pod, state: 'Syncing.Settled' }] };
const LOOPBACK = { host: '127.0.0.1', port: 0 };

let dir: string;
let rootDir: string;
const closing: (() => unknown)[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-endpoints-'));
  rootDir = join(dir, 'root');
  mkdirSync(rootDir);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(dir, { recursive: true });
});

async function open(parts: Partial<EndpointsParts> = {}) {
  const { logger, messages } = warnings();
  const endpoints = await Endpoints.open(testContext({ clock: systemClock, logger }), {
    rootDir,
    nodeName: 'node-a',
    address: LOOPBACK,
    sources,
    ...parts,
  });
  closing.push(() => endpoints.close());
  return { endpoints, messages };
}

const isList = (body: unknown): body is { items: Pod[] } => typeof body === 'object' && body !== null;

async function passwordSeen(flags: { rootDir?: string; server?: string }): Promise<string | undefined> {
  const { items } = await askDaemon('/pods', flags, isList);
  return items[0]?.spec.containers[0]?.env?.[0]?.value;
}

const socket = () => join(rootDir, 'statelet.sock');

describe('the socket in the root folder', () => {
  test('serves everything; the address leaves out secrets', async () => {
    const { endpoints, messages } = await open();
    expect(await passwordSeen({ rootDir })).toBe('hunter2');
    expect(await passwordSeen({ server: endpoints.address ?? '' })).toBe('***');
    expect(statSync(socket()).mode & 0o777).toBe(0o600);
    expect(messages).toEqual([]);
  });

  test('exists also if the daemon has no address, and is removed when the daemon closes it', async () => {
    const { endpoints } = await open({ address: undefined });
    expect(endpoints.address).toBeUndefined();
    expect(await passwordSeen({ rootDir })).toBe('hunter2');
    await endpoints.close();
    expect(existsSync(socket())).toBe(false);
    await expect(passwordSeen({ rootDir })).rejects.toThrow(
      `no statelet serves from ${rootDir}, the root folder given by --root-dir: there is no ${socket()}`,
    );
  });

  test('replaces the socket of a killed daemon, at which clients get a clear error', async () => {
    const script = `require('net').createServer().listen(${JSON.stringify(socket())}, () => console.log('up'))`;
    const dead = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(dead.stdout, 'data');
    dead.kill('SIGKILL');
    await once(dead, 'exit');
    await expect(passwordSeen({ rootDir })).rejects.toThrow(
      `no statelet answers at ${socket()}; is it running? (ECONNREFUSED)`,
    );
    await open();
    expect(await passwordSeen({ rootDir })).toBe('hunter2');
  });

  test('works in a folder with a path longer than a socket can have', async () => {
    rootDir = join(dir, 'a'.repeat(100), 'b'.repeat(100));
    mkdirSync(rootDir, { recursive: true });
    const { endpoints } = await open();
    expect(await passwordSeen({ rootDir })).toBe('hunter2');
    await endpoints.close();
    expect(existsSync(socket())).toBe(false);
  });

  test('is tried again, with one warning, until it can be created', async () => {
    mkdirSync(socket());
    const { endpoints, messages } = await open({ retryMs: 10 });
    expect(messages).toEqual([expect.stringContaining(`${socket()} cannot be made`)]);
    expect((await fetch(`http://${endpoints.address}/healthz`)).status).toBe(200);
    // Until then clients are served at the address.
    expect(await passwordSeen({ server: readFileSync(join(rootDir, 'statelet.addr'), 'utf8').trim() })).toBe(
      '***',
    );
    rmdirSync(socket());
    await waitFor(() => existsSync(socket()), { what: 'the socket' });
    expect(await passwordSeen({ rootDir })).toBe('hunter2');
    expect(messages).toHaveLength(1);
  });

  testAsRoot('cannot be opened by another user', async () => {
    chmodSync(dir, 0o755);
    await open();
    const script = `own.connect(${JSON.stringify(socket())}).on('error', (e) => console.log(e.code)).on('connect', () => process.exit(9))`;
    expect(outputAsNobody('node:net', script)).toBe('EACCES\n');
  });
});

describe('an address that other machines can reach', () => {
  test('is a warning', async () => {
    const { messages } = await open({ address: { host: '0.0.0.0', port: 0 } });
    expect(messages).toEqual([
      expect.stringMatching(
        /^anyone who can reach 0\.0\.0\.0:\d+ may read .* without a password; .* 127\.0\.0\.1/,
      ),
    ]);
  });
});

describe('on a full disk', () => {
  testAsRoot(
    'it serves, leaves no half-written file, and writes the address when there is space',
    async () => {
      const disk = mountSmallDisk(dir);
      try {
        rootDir = join(disk.path, 'root');
        mkdirSync(rootDir);
        writeFileSync(join(rootDir, 'statelet.addr'), '127.0.0.1:1\n');
        disk.fill();
        // The address of an earlier daemon must not stay.
        await expect(writeAddress(rootDir, '127.0.0.1:2')).rejects.toThrow('ENOSPC');
        expect(readdirSync(rootDir)).toEqual([]);
        disk.fill();
        const { endpoints, messages } = await open({ retryMs: 10 });
        expect(messages).toEqual([expect.stringMatching(/statelet\.addr cannot be made.*ENOSPC/)]);
        expect((await fetch(`http://${endpoints.address}/healthz`)).status).toBe(200);
        expect(await passwordSeen({ rootDir })).toBe('hunter2');
        disk.empty();
        const file = join(rootDir, 'statelet.addr');
        await waitFor(() => existsSync(file), { what: 'the address' });
        expect(readFileSync(file, 'utf8')).toBe(`${endpoints.address}\n`);
        await endpoints.close();
      } finally {
        disk.unmount();
      }
    },
  );
});
