/**
 * The monitor: the one process of a root directory that owns the containers of the embedded runtime, as containerd owns
 * those of a kubelet. The daemon starts it when it needs it and talks to it over a socket; it is a session of its own,
 * so that neither the daemon's end nor a Ctrl-C in its terminal reaches it or the containers.
 *
 * It lives as long as it holds a ready sandbox, a container that runs, or a client. SIGHUP, SIGUSR1 and SIGUSR2 are
 * ignored. SIGTERM and SIGINT are meant for it alone (the daemon's do not come through), and it obeys as a service
 * manager or a machine that shuts down expects: it ends its containers in good order, records their exit codes and ends.
 * Leaving them behind would lose those codes, and stall the containers as soon as nobody reads their output. A second
 * signal, or SIGQUIT, kills them at once. After `kill -9` the next monitor adopts what runs.
 *
 * It imports nothing but Node and small modules: it stays in memory for as long as any pod.
 */
import { closeSync, writeSync } from 'node:fs';
import { errorMessage } from '../../../types/errors.ts';
import { Engine } from '../containers/engine.ts';
import { engineHandlers } from './handlers.ts';
import { closeInheritedDescriptors } from '../containers/inherited-descriptors.ts';
import { runtimeLayout } from '../layout.ts';
import { becomeMonitor } from './monitor-lock.ts';
import { MonitorServer } from './monitor-server.ts';

const TICK_MS = 1000;
/** Kubernetes' own default. */
const SHUTDOWN_GRACE_SECONDS = 30;

function log(message: string): void {
  try {
    writeSync(2, `${new Date().toISOString()} ${message}\n`);
  } catch {
    // A full disk: there is nowhere to say so.
  }
}

/** Tells the client that started the monitor that it may connect. */
function reportReady(fd: number): void {
  try {
    writeSync(fd, 'ready\n');
    closeSync(fd);
  } catch {
    // The client has gone; another will come.
  }
}

async function main(rootDir: string, readyFd: number): Promise<void> {
  process.title = 'statelet-monitor';
  // What containers and their files look like must not depend on who started the daemon.
  process.umask(0o022);
  closeInheritedDescriptors(readyFd);
  // At SIGUSR1 Node would open its debugger, which every user of the machine can reach.
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => log(`${signal} is ignored`));
  const layout = runtimeLayout(rootDir);
  if (await becomeMonitor(layout.runtimeDir)) await serve(rootDir);
  reportReady(readyFd);
}

async function serve(rootDir: string): Promise<void> {
  const layout = runtimeLayout(rootDir);
  // Whoever holds containers must outlive its own mistakes: an end would lose their exit codes.
  process.on('uncaughtException', (error) => log(`unexpected: ${error.stack ?? errorMessage(error)}`));
  const engine = new Engine(layout, log, (event) => server.broadcast(event));
  const server = new MonitorServer(layout.runtimeDir, engineHandlers(engine));
  await server.listen();
  log(`started as process ${process.pid} on Node ${process.version}`);
  endOnSignals(engine, server);
  endWhenUnneeded(engine, server);
}

function endWhenUnneeded(engine: Engine, server: MonitorServer): void {
  let idle = false;
  const tick = (): void => {
    if (server.homeless) return void end(engine, server, 0, 'the runtime folder was removed');
    void server.ensureReachable();
    const wasIdle = idle;
    idle = server.clients === 0 && !engine.busy;
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
  // Answers that are under way get a moment.
  setTimeout(() => process.exit(0), 50);
}

const [, , root, readyFd] = process.argv;
if (root === undefined || readyFd === undefined) {
  throw new Error('usage: monitor <root directory> <file descriptor to report to>');
}
main(root, Number(readyFd)).catch((error: unknown) => {
  log(`cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exit(1);
});
