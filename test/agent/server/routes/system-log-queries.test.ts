import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemLogRoutes } from '../../../../src/agent/server/routes/system-logs.ts';
import { RouteServer } from '../../../support/route-server.ts';
import { waitFor } from '../../../support/wait-for.ts';

const ENABLED = { isSystemLogQueryEnabled: true };

let root: string;
let dir: string;
let server: RouteServer;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'statelet-log-queries-'));
  dir = join(root, 'log');
  mkdirSync(join(dir, 'own'), { recursive: true });
  writeFileSync(join(root, 'secret'), 'secret');
  writeFileSync(join(dir, 'syslog'), 'from syslog\n');
  writeFileSync(join(dir, 'cron.log'), 'from cron\n');
  writeFileSync(join(dir, 'own/own.log'), 'from own\n');
  symlinkSync(join(root, 'secret'), join(dir, 'outside'));
  symlinkSync('syslog', join(dir, 'inside'));
  server = await new RouteServer(
    systemLogRoutes(ENABLED, { dir, journalctl: join(root, 'journalctl') }),
  ).open();
});
afterEach(() => {
  server.close();
  expect(server.defects).toEqual([]);
  rmSync(root, { recursive: true });
});

/** A journal that has heard of the units `kubelet` and `crio`. */
function hasJournal(shows = 'echo "$@"'): void {
  const script = `#!/bin/sh
if [ "$1" = --field ]; then printf 'crio.service\\nkubelet.service\\n'; exit; fi
${shows}
`;
  writeFileSync(join(root, 'journalctl'), script);
  chmodSync(join(root, 'journalctl'), 0o755);
}

const readIfThere = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

const ask = async (query: string, path = '') => {
  const { status, body } = await server.ask(`/logs/${path}?${query}`);
  return { status, body };
};
const shown = (body: string) => ({ status: 200, body });

test.each(['identity', 'gzip'])(
  'a client that is slow gets what was shown within the time limit, and the end of the answer (%s)',
  async (encoding) => {
    // What cannot be compressed fills the buffers in both cases.
    hasJournal(`echo $$ > ${root}/pid; exec cat /dev/urandom`);
    // Long enough for a busy machine to start journalctl twice.
    const places = { dir, journalctl: join(root, 'journalctl'), limitMs: 5_000 };
    const limited = await new RouteServer(systemLogRoutes(ENABLED, places)).open();
    try {
      const sent = get(`${limited.url}/logs/?query=kubelet`, { headers: { 'accept-encoding': encoding } });
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const pid = await waitFor(() => Number(readIfThere(join(root, 'pid'))), { what: 'journalctl' });
      await waitFor(() => !existsSync(`/proc/${pid}`), { what: 'the end of journalctl' });
      const shown = await buffer(response);
      expect((encoding === 'gzip' ? gunzipSync(shown) : shown).length).toBeGreaterThan(0);
      expect(limited.defects).toEqual([]);
    } finally {
      limited.close();
    }
  },
);

describe('the logs of services', () => {
  test('are those of the journal', async () => {
    hasJournal();
    const { status, headers, body } = await server.ask(
      '/logs/?query=kubelet&query=crio&tailLines=2&pattern=a%20b',
    );
    const options = '--utc --no-pager --output=short-precise --pager-end --lines=2';
    expect({ status, body }).toEqual(shown(`${options} --unit=kubelet --unit=crio --grep=a b\n`));
    expect(headers['content-type']).toBe('text/plain;charset=UTF-8');
  });

  test('are the output of journalctl, also if it fails', async () => {
    hasJournal('echo shown; echo told >&2; exit 1');
    const { body } = await ask('query=kubelet');
    expect(body.split('\n').sort()).toEqual(['', 'shown', 'told']);
  });

  test('are files where the journal does not know the service', async () => {
    hasJournal('echo journal');
    expect(await ask('query=kubelet&query=cron')).toEqual(shown('journal\nfrom cron\n'));
    expect(await ask('query=cron&tailLines=1')).toEqual(
      shown('\noptions present and query resolved to log files for [cron]\ntry without specifying options\n'),
    );
  });

  test('are files where there is no journal', async () => {
    expect(await ask('query=syslog&query=cron&query=own&query=none')).toEqual(
      shown('from syslog\nfrom cron\nfrom own\n\nlog not found for none\n'),
    );
  });

  test('are never files outside of the folder', async () => {
    expect(await ask('query=outside')).toEqual(
      shown('\nerror getting log for outside: openat outside: path escapes from parent\n'),
    );
    expect(await ask('query=inside')).toEqual(shown('from syslog\n'));
  });

  test('are not found where the journal goes away', async () => {
    hasJournal('echo "$@"');
    writeFileSync(
      join(root, 'journalctl'),
      `#!/bin/sh\nprintf 'kubelet.service\\n'; rm ${join(root, 'journalctl')}\n`,
    );
    expect(await ask('query=kubelet')).toEqual(shown('\nerror: journal output not available\n'));
  });

  test('are not found for a pattern that no command can have', async () => {
    hasJournal();
    for (const pattern of ['x'.repeat(200_000), 'a%00b'])
      expect(await ask(`query=kubelet&pattern=${pattern}`)).toEqual(
        shown('\nerror: journal output not available\n'),
      );
  });

  test('are compressed for a client that accepts it', async () => {
    hasJournal();
    const url = `${server.url}/logs/?query=kubelet`;
    const request = get(url, { headers: { 'accept-encoding': 'gzip' }, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(await buffer(response)).toString()).toContain('--unit=kubelet\n');
  });

  test('end with the client that reads them', async () => {
    hasJournal(`echo $$ > ${join(root, 'pid')}; exec cat /dev/zero`);
    const response = await server.begin('/logs/?query=kubelet');
    await once(response, 'readable');
    response.destroy();
    const pid = Number(readFileSync(join(root, 'pid'), 'utf8'));
    await waitFor(() => !isRunning(pid), { what: 'journalctl to end' });
  });
});

describe('a file', () => {
  test('is served by its name', async () => {
    expect(await ask('query=/syslog')).toEqual(shown('from syslog\n'));
    expect(await ask('query=own/own.log')).toEqual(shown('from own\n'));
    expect(await ask('query=own/../syslog')).toEqual(shown('from syslog\n'));
  });

  test('that is not there is refused', async () => {
    expect(await ask('query=/none')).toEqual({
      status: 406,
      body: `query: Invalid value: ["/none"]: statat none: no such file or directory\n`,
    });
    expect(await ask('query=../secret')).toEqual({
      status: 406,
      body: 'query: Invalid value: ["../secret"]: statat ../secret: path escapes from parent\n',
    });
    for (const name of ['/outside', '/own/../..', '/a%00b', `/${'x'.repeat(300)}`, '/syslog/x'])
      expect(await ask(`query=${name}`)).toMatchObject({ status: 406 });
  });

  test('is served by its path without a query, as before', async () => {
    expect(await ask('', 'syslog')).toEqual(shown('from syslog\n'));
    expect(await ask('other=1', 'syslog')).toEqual(shown('from syslog\n'));
  });
});

describe('a query', () => {
  test('that cannot be read is 400, and one that cannot be asked 406', async () => {
    expect(await ask('query=')).toEqual({
      status: 400,
      body: 'query: Invalid value: [""]: query cannot be empty\n',
    });
    expect(await ask('query=a&boot=1')).toEqual({
      status: 406,
      body: 'boot: Invalid value: 1: must be less than 1\n',
    });
  });

  test('has no path', async () => {
    expect(await ask('query=kubelet', 'syslog')).toEqual({
      status: 406,
      body: 'path not allowed in query mode\n',
    });
  });
});

function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
