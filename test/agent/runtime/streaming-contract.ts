import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  StreamingRuntime,
  StreamSelection,
} from '../../../src/agent/runtime/service/streaming-runtime.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import { askPort, hold, type HeldStreams } from '../../support/held-streams.ts';
import { podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { RuntimeBed } from './runtime-contract.ts';

const kind = (name: string): object => expect.objectContaining({ kind: name });
const OUTPUT: StreamSelection = { stdin: false, stdout: true, stderr: true, tty: false };
const TERMINAL: StreamSelection = { stdin: true, stdout: true, stderr: false, tty: true };
/** A line that a typed command does not have itself. */
const SAY_READY = 'echo rea""dy';

/** What every runtime with streams has to do. */
export function streamingContract(
  name: string,
  createRuntime: () => Promise<RuntimeBed>,
  setUpTimeoutMs?: number,
): void {
  describe(`${name} fulfils the contract of StreamingRuntime:`, () => {
    let logsDir: string;
    let bed: RuntimeBed;
    let streaming: StreamingRuntime;

    beforeAll(async () => {
      logsDir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
      bed = await createRuntime();
      if (!bed.runtime.streaming) throw new Error(`${name} has no streams`);
      ({ streaming } = bed.runtime);
    }, setUpTimeoutMs);

    afterAll(async () => {
      await bed.cleanup();
      rmSync(logsDir, { recursive: true });
    });

    const start = (script: string, more: Partial<ContainerConfig> = {}) =>
      startPod(bed.runtime, logsDir, shell(script, { ...bed.container, ...more }), bed.sandbox);
    const ended = async () => {
      const pod = await start('exit 0');
      await whenExited(bed.runtime, pod.id);
      return pod;
    };
    const exec = async (containerId: string, script: string, more: Partial<StreamSelection> = {}) =>
      hold(await streaming.exec({ containerId, command: ['sh', '-c', script], ...OUTPUT, ...more }));
    const attach = async (containerId: string, more: Partial<StreamSelection> = {}) =>
      hold(await streaming.attach({ containerId, ...OUTPUT, ...more }));

    describe('exec', () => {
      test('gives output, errors and exit code of a command', async () => {
        const { id } = await start('sleep 1000');
        const held = await exec(id, 'echo out; echo err >&2; exit 7');
        expect([await held.exit, held.stdout, held.stderr]).toEqual([7, 'out\n', 'err\n']);
      });

      test('gives the exit code 128 and its number for a command that a signal has ended', async () => {
        const { id } = await start('sleep 1000');
        expect(await (await exec(id, 'kill -9 $$')).exit).toBe(137);
      });

      test('lets a command open its streams again', async () => {
        const { id } = await start('sleep 1000');
        const held = await exec(id, 'echo out > /dev/stdout; echo err > /dev/stderr');
        expect([await held.exit, held.stdout, held.stderr]).toEqual([0, 'out\n', 'err\n']);
      });

      test('passes on what is typed, when it is typed', async () => {
        const { id } = await start('sleep 1000');
        const held = await exec(id, 'read a; echo "got $a"; read b; echo "got $b"', { stdin: true });
        held.type('one\n');
        await held.shows('got one');
        held.type('two\n');
        await held.shows('got two');
        expect(await held.exit).toBe(0);
      });

      test('tells why a command cannot be started', async () => {
        const { id } = await start('sleep 1000');
        const held = await hold(
          await streaming.exec({ containerId: id, command: ['/no/such/program'], ...OUTPUT }),
        );
        await expect(held.exit).rejects.toThrow('/no/such/program');
      });

      test('gives a terminal, of the size that the client has', async () => {
        const { id } = await start('sleep 1000');
        const held = await exec(id, `[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && ${SAY_READY}; sh; exit 5`, TERMINAL);
        await held.shows('ready\r\n');
        held.resize({ width: 132, height: 43 });
        await whenSized(held, '43 132');
        held.type('echo $TERM >&2\n');
        await held.shows('xterm\r\n');
        held.type('exit\n');
        expect([await held.exit, held.stderr]).toEqual([5, '']);
      });

      test('needs a container that runs', async () => {
        const { id } = await ended();
        await expect(exec(id, 'true')).rejects.toEqual(kind('FailedPrecondition'));
        await expect(exec('unknown', 'true')).rejects.toEqual(kind('NotFound'));
      });
    });

    describe('attach', () => {
      test('gives what the main process writes from then on, also to several clients, and to the log', async () => {
        const script = 'while read a; do echo "out $a"; echo "err $a" >&2; [ $a = end ] && exit; done';
        const { id, logFile } = await start(script, { stdin: true });
        const [first, second] = [await attach(id, { stdin: true }), await attach(id, { stdin: true })];
        // A client may be attached a little later than it is connected.
        const haveAll = () => {
          first.type('x\n');
          return [first, second].every(
            ({ stdout, stderr }) => stdout.includes('out x\n') && stderr.includes('err x\n'),
          );
        };
        await waitFor(haveAll, { what: 'the output at both clients', pauseMs: 100 });
        await waitFor(() => readFileSync(logFile, 'utf8').includes('stdout F out x\n'), { what: 'the log' });
        const third = await attach(id, { stdin: true });
        third.type('end\n');
        expect(await Promise.all([first, second, third].map(({ exit }) => exit))).toEqual([0, 0, 0]);
      });

      test('leaves the main process alone when the client disappears', async () => {
        const { id } = await start('while read a; do echo "got $a"; done', { stdin: true });
        const first = await attach(id, { stdin: true });
        first.type('1\n');
        await first.shows('got 1');
        first.leave();
        const second = await attach(id, { stdin: true });
        second.type('2\n');
        await second.shows('got 2');
        expect((await bed.runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
      });

      test('gives the terminal of a container that has one', async () => {
        const { id } = await start('sh; exit 6', { stdin: true, tty: true });
        const held = await attach(id, TERMINAL);
        held.type(`${SAY_READY}; tty\n`);
        await held.shows('ready\r\n');
        held.resize({ width: 90, height: 21 });
        await whenSized(held, '21 90');
        held.type('exit\n');
        await held.exit;
        expect(await whenExited(bed.runtime, id)).toMatchObject({ exitCode: 6 });
      });

      test('needs a container that runs', async () => {
        const { id } = await ended();
        await expect(attach(id)).rejects.toEqual(kind('FailedPrecondition'));
        await expect(attach('unknown')).rejects.toEqual(kind('NotFound'));
      });
    });

    describe('portForward', () => {
      let server: Server;
      let port: number;

      beforeAll(async () => {
        server = createServer((socket) => {
          socket.on('error', () => undefined);
          socket.on('data', (words) => socket.write(`you said ${words.toString()}`));
        }).listen(0, '127.0.0.1');
        await once(server, 'listening');
        ({ port } = server.address() as AddressInfo);
      });
      afterAll(() => void server.close());

      const open = (podSandboxId: string) => streaming.portForward({ podSandboxId, ports: [port] });

      test('connects to a port of the pod', async () => {
        const { sandboxId } = await start('sleep 1000');
        expect(await askPort(await open(sandboxId), port, 'hello')).toBe('you said hello');
      });

      test('needs a sandbox that is ready', async () => {
        const id = await bed.runtime.runPodSandbox(podConfig(logsDir, bed.sandbox));
        await bed.runtime.stopPodSandbox(id);
        await expect(open(id)).rejects.toEqual(kind('FailedPrecondition'));
        await expect(open('unknown')).rejects.toEqual(kind('NotFound'));
      });
    });
  });
}

/** A new size reaches the terminal at some time after the call. */
async function whenSized(held: HeldStreams, size: string): Promise<void> {
  await waitFor(
    () => {
      held.type('stty size\n');
      return held.stdout.includes(`\n${size}\r\n`) || held.stdout.includes(` ${size}\r\n`);
    },
    { what: `a terminal of ${size}`, pauseMs: 100 },
  );
}
