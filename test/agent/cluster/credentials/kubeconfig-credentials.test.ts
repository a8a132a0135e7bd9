import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { KubeconfigCredentials } from '../../../../src/agent/cluster/credentials/kubeconfig-credentials.ts';
import type { LoadedKubeconfig } from '../../../../src/agent/cluster/credentials/load-kubeconfig.ts';
import { promiseOf } from '../../../../src/system/promises.ts';
import { testContext, clockOf } from '../../../support/test-context.ts';

let folder: string;
let token: string;
let now: number;
/** How often the kubeconfig was loaded. */
let loads: number;
/** For each load. */
let deadlines: (number | undefined)[];
let next: () => Partial<LoadedKubeconfig>;
let changes: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-credentials-'));
  token = join(folder, 'token');
  replace('one');
  [now, loads, changes] = [1_000_000, 0, 0];
  next = () => ({});
  deadlines = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Another file, so that its version differs whatever the clock says. */
function replace(content: string): void {
  writeFileSync(`${token}.new`, content);
  renameSync(`${token}.new`, token);
}

const details = (text: string, cert?: string) => ({
  server: 'https://10.0.0.1',
  headers: { Authorization: text },
  ...(cert !== undefined && { cert }),
});

function open(): KubeconfigCredentials {
  const load = (_path: string, deadlineMs?: number) =>
    promiseOf(() => {
      loads += 1;
      deadlines.push(deadlineMs);
      return { details: details(`token ${loads}`), files: [token], isRenewable: false, ...next() };
    });
  const context = testContext({ clock: clockOf(() => now) });
  const credentials = new KubeconfigCredentials(context, join(folder, 'kubeconfig'), load);
  credentials.changes.subscribe(() => (changes += 1));
  return credentials;
}

async function tokenOf(credentials: KubeconfigCredentials): Promise<unknown> {
  return (await credentials.current()).headers.Authorization;
}

describe('credentials of a kubeconfig', () => {
  test('are loaded once for requests that come at the same time, and kept', async () => {
    const credentials = open();
    await Promise.all([credentials.current(), credentials.current()]);
    now += 60_000;
    expect(await tokenOf(credentials)).toBe('token 1');
    expect(loads).toBe(1);
  });

  test('have a minute for their first load, as the start is refused without them, and no more for another', async () => {
    const credentials = open();
    await credentials.current();
    now += 10_000;
    replace('two');
    await credentials.current();
    expect(deadlines).toEqual([60_000, undefined]);
  });

  test('are loaded again when a file has changed, at the next look', async () => {
    const credentials = open();
    await credentials.current();
    replace('two');
    now += 9_999;
    expect(await tokenOf(credentials)).toBe('token 1');
    now += 1;
    expect(await tokenOf(credentials)).toBe('token 2');
    expect(changes).toBe(0);
  });

  test('that are refused are checked at once', async () => {
    const credentials = open();
    await credentials.current();
    credentials.refused();
    expect(await tokenOf(credentials)).toBe('token 1');
    replace('two');
    credentials.refused();
    expect(await tokenOf(credentials)).toBe('token 2');
  });

  test('of a program are requested again when they are refused, and when they expire', async () => {
    next = () => ({ isRenewable: true, expiresAtMs: now + 60_000 });
    const credentials = open();
    await credentials.current();
    now += 5_000;
    credentials.refused();
    expect(await tokenOf(credentials)).toBe('token 2');
    now += 59_999;
    expect(await tokenOf(credentials)).toBe('token 2');
    now += 1;
    expect(await tokenOf(credentials)).toBe('token 3');
  });

  test('of a program that have expired by a wrong clock are used until the server refuses them', async () => {
    next = () => ({ isRenewable: true, expiresAtMs: now - 3_600_000 });
    const credentials = open();
    await credentials.current();
    now += 60_000;
    expect(await tokenOf(credentials)).toBe('token 1');
    credentials.refused();
    expect(await tokenOf(credentials)).toBe('token 2');
  });

  test('of a program are requested at most every 5 s, however often they are refused', async () => {
    next = () => ({ isRenewable: true });
    const credentials = open();
    await credentials.current();
    now += 4_999;
    credentials.refused();
    expect(await tokenOf(credentials)).toBe('token 1');
    expect(await tokenOf(credentials)).toBe('token 1');
    now += 1;
    expect(await tokenOf(credentials)).toBe('token 2');
  });

  test('of a program are not used again when it fails after they were refused', async () => {
    next = () => ({ isRenewable: true });
    const credentials = open();
    await credentials.current();
    now += 5_000;
    credentials.refused();
    next = () => {
      throw new Error('no network');
    };
    await expect(credentials.current()).rejects.toThrow('no network');
    await expect(credentials.current()).rejects.toThrow('no network');
    expect(loads).toBe(2);
    next = () => ({});
    now += 5_000;
    expect(await tokenOf(credentials)).toBe('token 3');
  });

  test('with another certificate use new connections', async () => {
    let cert = 'one';
    next = () => ({ details: details('', cert) });
    const credentials = open();
    await credentials.current();
    cert = 'two';
    replace('two');
    now += 10_000;
    expect(await credentials.current()).toMatchObject({ cert: 'two' });
    expect(changes).toBe(1);
  });

  test('stay in use while a changed file is not valid', async () => {
    const credentials = open();
    await credentials.current();
    replace('half');
    next = () => {
      throw new Error('half a certificate');
    };
    now += 10_000;
    expect(await tokenOf(credentials)).toBe('token 1');
    now += 10_000;
    await credentials.current();
    expect(loads).toBe(2);
    replace('whole');
    next = () => ({});
    now += 10_000;
    expect(await tokenOf(credentials)).toBe('token 3');
  });

  test('that cannot be loaded at first are tried again after 5 s', async () => {
    next = () => {
      throw new Error('does not exist');
    };
    const credentials = open();
    await expect(credentials.current()).rejects.toThrow('does not exist');
    next = () => ({});
    now += 5_000;
    expect(await tokenOf(credentials)).toBe('token 2');
  });
});
