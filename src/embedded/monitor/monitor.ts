/**
 * The monitor: the one process of a root directory that owns the containers of the embedded runtime, as containerd
 * owns those of a kubelet. The daemon starts it when needed, and talks to it over a socket. The monitor is a session
 * of its own, so that neither the daemon's end nor a Ctrl-C in its terminal reaches it or the containers.
 *
 * It runs as long as there is a ready sandbox, a running container or a client. SIGHUP, SIGUSR1 and SIGUSR2 are
 * ignored. SIGTERM and SIGINT do what a service manager, or a machine that shuts down, expects: the monitor stops its
 * containers with a grace period, records their exit codes and ends. If it left them running, their exit codes would
 * be lost, and they would wait as soon as their pipes are full. A second signal, or SIGQUIT, kills the containers at
 * once. After `kill -9` the next monitor adopts the containers that run.
 *
 * It imports only Node and small modules, because it stays in memory as long as any pod.
 */
import { closeSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { endProcess } from '../../system/run-command.ts';
import { errorMessage } from '../../types/errors.ts';
import { Engine } from '../containers/engine.ts';
import { engineHandlers, MonitorServer } from './monitor-server.ts';
import { closeInheritedDescriptors } from '../containers/inherited-descriptors.ts';
import { type RuntimeLayout, runtimeLayout } from '../layout.ts';
import { StreamDesk } from '../streams/stream-desk.ts';
import { type Finding, lockReplaced } from './findings.ts';
import { becomeMonitor } from './monitor-lock.ts';

const TICK_MS = 1000;
/** The default of a pod's terminationGracePeriodSeconds. */
const SHUTDOWN_GRACE_SECONDS = 30;
/** How long the monitor waits for the end of processes that it has killed at its start. */
const LOST_END_MS = 5_000;

function log(message: string): void {
  try {
    writeSync(2, `${new Date().toISOString()} ${message}\n`);
  } catch {
    // The disk is full: this cannot be logged either.
  }
}

/** Tells the client that started the monitor that it may connect. */
function reportReady(fd: number): void {
  try {
    writeSync(fd, 'ready\n');
    closeSync(fd);
  } catch {
    // The client is gone. The monitor waits for the next one.
  }
}

async function main(rootDir: string, readyFd: number): Promise<void> {
  process.title = 'statelet-monitor';
  // The umask of the shell that started the daemon must not reach containers and their files.
  process.umask(0o022);
  closeInheritedDescriptors(readyFd);
  // On SIGUSR1 Node would open its debugger, which every user of the machine can connect to.
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => log(`${signal} is ignored`));
  const layout = runtimeLayout(rootDir);
  const lock = await becomeMonitor(layout.runtimeDir);
  if (lock.isMonitor) await serve(layout, lock.problem === undefined ? [] : [lockReplaced(lock.problem)]);
  reportReady(readyFd);
}

async function serve(layout: RuntimeLayout, findings: readonly Finding[]): Promise<void> {
  // If the monitor ended at its own mistakes, the exit codes of its containers would be lost.
  process.on('uncaughtException', (error) => log(`unexpected: ${error.stack ?? errorMessage(error)}`));
  const engine = new Engine(layout, log, (event) => server.broadcast(event), findings);
  // A process that cannot be killed must not keep the other pods waiting.
  await Promise.race([engine.lostEnded, delay(LOST_END_MS)]);
  const streams = new StreamDesk(layout, engine);
  const server = new MonitorServer(layout.runtimeDir, engineHandlers(engine, streams));
  await server.listen();
  log(`started as process ${process.pid} on Node ${process.version}`);
  endOnSignals(engine, server);
  endWhenUnneeded(engine, server);
}

function endWhenUnneeded(engine: Engine, server: MonitorServer): void {
  let idle = false;
  const tick = (): void => {
    if (server.isFolderRemoved) return void end(engine, server, 0, 'the runtime folder was removed');
    void server.ensureReachable();
    const wasIdle = idle;
    idle = server.clientCount === 0 && !engine.busy;
    if (idle && wasIdle) void end(engine, server, 0, 'nothing to do');
  };
  setInterval(tick, TICK_MS);
}

function endOnSignals(engine: Engine, server: MonitorServer): void {
  let graceSeconds = SHUTDOWN_GRACE_SECONDS;
  const onSignal = (signal: NodeJS.Signals): void => {
    void end(engine, server, graceSeconds, signal);
    graceSeconds = 0;
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('SIGQUIT', (signal) => {
    graceSeconds = 0;
    onSignal(signal);
  });
}

async function end(engine: Engine, server: MonitorServer, graceSeconds: number, why: string): Promise<void> {
  log(`ending: ${why}`);
  await engine.shutDown(graceSeconds);
  server.close();
  // Time for the answers that are being sent.
  setTimeout(() => endProcess(0), 50);
}

const [, , root, readyFd] = process.argv;
if (root === undefined || readyFd === undefined) {
  throw new Error('usage: monitor <root directory> <file descriptor to report to>');
}
main(root, Number(readyFd)).catch((error: unknown) => {
  log(`cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  endProcess(1);
});
