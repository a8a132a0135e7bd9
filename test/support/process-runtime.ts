import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcessRuntime, type ProcessRuntimeOptions } from '../../src/embedded/process-runtime.ts';
import { connectSocket } from '../../src/embedded/monitor/monitor-socket.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import { sendSignal } from './send-signal.ts';
import { waitFor } from './wait-for.ts';

/** An embedded runtime on a root directory of its own. */
export interface ProcessRuntimeBed {
  readonly rootDir: string;
  readonly runtime: RuntimeService;
  /** Another client of the same monitor. `cleanup` closes it as well. */
  connect(options?: Pick<ProcessRuntimeOptions, 'requestTimeoutMs' | 'onFinding'>): RuntimeService;
  cleanup(): Promise<void>;
}

export function processRuntimeBed(rootDir = mkdtempSync(join(tmpdir(), 'statelet-'))): ProcessRuntimeBed {
  const clients: RuntimeService[] = [];
  const connect: ProcessRuntimeBed['connect'] = (options) => {
    const client = createProcessRuntime({ rootDir, ...options });
    clients.push(client);
    return client;
  };
  const cleanup = async (): Promise<void> => {
    const last = connect();
    for (const { id } of await last.listPodSandbox()) await last.removePodSandbox(id);
    const pid = await monitorPid(rootDir);
    await Promise.all(clients.map((client) => client.close()));
    sendSignal(pid, 'SIGTERM');
    await waitFor(() => !isRunning(pid), { what: `the end of monitor ${pid}` });
    await rm(rootDir, { recursive: true });
  };
  return { rootDir, runtime: connect(), connect, cleanup };
}

/** The pid of the monitor, from its first message. */
export async function monitorPid(rootDir: string): Promise<number> {
  const socket = await connectSocket(join(rootDir, 'runtime'));
  const [line] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return (JSON.parse(line.toString()) as { pid: number }).pid;
}

/** Whether a process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** Resolves when the process is gone. */
export async function kill9(pid: number): Promise<void> {
  sendSignal(pid, 'SIGKILL');
  await waitFor(() => !isRunning(pid), { what: `the end of process ${pid}` });
}

/** The lines of a container's log without their times; none while there is no log. */
export function logLines(file: string): string[] {
  const text = existsSync(file) ? readFileSync(file, 'latin1') : '';
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(line.indexOf(' ') + 1));
}
