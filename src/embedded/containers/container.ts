import { systemClock, Timer } from '../../system/timer.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { ContainerEventType } from '../../types/cri.ts';
import { terminationMessage } from '../../agent/runtime/pods/termination-message.ts';
import { nowNs } from '../../agent/runtime/logs/start-clock.ts';
import { ContainerInput } from '../streams/container-input.ts';
import type { StreamedCommand } from '../streams/streamed-command.ts';
import type { ContainerCgroup, ContainerCgroups } from './container-cgroup.ts';
import { exitAfter } from './container-exit.ts';
import { ContainerLog, type Copies } from './container-log.ts';
import { containerStreams, messageFile, processSpec, stopSignal } from './container-spec.ts';
import { execCommand, type ExecLimits } from './exec.ts';
import { type ProcessSpec, StartError, userOf } from './launch.ts';
import { openForReading } from './pipes.ts';
import type { RuntimeLayout } from '../layout.ts';
import { LogFile } from './log-file.ts';
import { adoptedProcess, type Ending, type MainProcess, startMain } from './main-process.ts';
import type { OomKills } from './oom-kills.ts';
import { isRunning, type ProcessIdentity, startedAtMs } from './proc.ts';
import { MountNamespace } from '../mounts/mount-namespace.ts';
import type { ExecResult } from '../monitor/protocol.ts';
import type { RecordStore } from '../monitor/record-store.ts';
import type { ContainerRecord, SandboxRecord } from '../monitor/records.ts';
import type { Sweeper } from './sweeper.ts';
import { logFilePath } from '../monitor/views.ts';

/** What the containers of a monitor share. */
export interface ContainerHost {
  readonly layout: RuntimeLayout;
  readonly store: RecordStore;
  readonly sweeper: Sweeper;
  readonly oomKills: OomKills;
  readonly cgroups: ContainerCgroups;
  readonly log: (message: string) => void;
  readonly emit: (type: ContainerEventType, record: ContainerRecord) => void;
}

/** One container, from its creation to its end. */
export class Container {
  readonly record: ContainerRecord;
  readonly #sandbox: SandboxRecord;
  readonly #host: ContainerHost;
  #starting: Promise<void> | undefined;
  #log: ContainerLog | undefined;
  readonly #input: ContainerInput;
  #main: MainProcess | undefined;
  #finished: Promise<void> | undefined;
  /** Of a container with mounts, from its start to its end. */
  #namespace: MountNamespace | undefined;
  readonly #cgroup: ContainerCgroup | undefined;
  readonly #killTimer = new Timer(systemClock);
  #killAtMs = Infinity;
  #killed = false;

  constructor(host: ContainerHost, sandbox: SandboxRecord, record: ContainerRecord) {
    this.#host = host;
    this.#sandbox = sandbox;
    this.record = record;
    this.#cgroup = host.cgroups.of(sandbox, record);
    this.#input = new ContainerInput(host.layout.pipe(record.id, 'stdin'), record.config);
  }

  /** Whether it runs, is being started, or processes of it are left. */
  get busy(): boolean {
    return this.record.state === 'CONTAINER_RUNNING' || this.#starting !== undefined;
  }

  /** Resolves once its main process runs. If that cannot be started, it rejects, and the container is exited. */
  start(): Promise<void> {
    const state = this.#starting ? 'being started' : this.record.state;
    if (state !== 'CONTAINER_CREATED') {
      const message = `container ${this.record.id} cannot be started: it is ${state}`;
      throw new StateletError('FailedPrecondition', message);
    }
    this.#starting = this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /**
   * Sends the stop signal to the main process, and SIGKILL to all of the container after the timeout. Processes that
   * the main process leaves behind are killed once it has ended. Resolves when nothing of the container runs. A later
   * call can only make the SIGKILL come earlier.
   */
  async stop(timeoutSeconds: number): Promise<void> {
    await this.#starting?.catch(() => undefined);
    if (this.record.state !== 'CONTAINER_RUNNING') return;
    const first = this.#killAtMs === Infinity;
    this.#killWithin(timeoutSeconds * 1000);
    if (first && timeoutSeconds > 0) this.#askToEnd();
    await this.#finished;
  }

  /** Throws a StateletError of kind FailedPrecondition if it does not run. */
  requireRunning(): void {
    if (this.record.state === 'CONTAINER_RUNNING' && !this.record.exit) return;
    throw new StateletError('FailedPrecondition', `container ${this.record.id} is not running`);
  }

  exec(command: readonly string[], limits: ExecLimits): Promise<ExecResult> {
    this.requireRunning();
    return execCommand(this.#spec(command), limits, this.#host.sweeper);
  }

  /** Resolves with the exit code of the command, which has its streams already. */
  runStreamed(streamed: StreamedCommand, command: readonly string[], signal: AbortSignal): Promise<number> {
    this.requireRunning();
    return streamed.run(this.#spec(command), signal, this.#host.sweeper);
  }

  /** The pipe of its standard input; undefined if it has none for clients, or that has ended. */
  get inputPipe(): string | undefined {
    return this.#input.pipe;
  }

  /** An attached client has ended its input, or is gone. */
  clientInputEnded(): void {
    this.#input.clientEnded();
  }

  /** Copies its output to a client from now on, until the function that is returned is called. */
  copyOutput(copies: Copies): () => void {
    if (this.#log) return this.#log.copyTo(copies);
    throw new StateletError('FailedPrecondition', `the output of container ${this.record.id} cannot be read`);
  }

  /** Resolves when its end is recorded. */
  get ended(): Promise<void> {
    return this.#finished ?? Promise.resolve();
  }

  /** Opens the log file again, after it was moved away. Resolves when the last write to the old file is done. */
  async reopenLog(): Promise<void> {
    if (this.record.state !== 'CONTAINER_RUNNING' || !this.#log) {
      const message = `the log of container ${this.record.id} cannot be opened anew: nothing is written to it`;
      throw new StateletError('FailedPrecondition', message);
    }
    await this.#log.reopen();
  }

  /** The container's process, started by a monitor that was killed before it could record the start. */
  adopt(identity: ProcessIdentity): void {
    this.#tryOpenLog();
    this.#joinNamespace(identity);
    this.#run(adoptedProcess(identity), startedAtMs(identity.startTicks) * 1e6);
  }

  /**
   * Takes over a container that ran under an earlier monitor: follows its process, or does what is left to do after
   * its end.
   */
  resume(sameBoot: boolean): void {
    const { process: identity, exit } = this.record;
    if (sameBoot) this.#tryOpenLog();
    if (!sameBoot || !identity || exit || !isRunning(identity)) {
      this.#finished = this.#finish(undefined, undefined);
      return;
    }
    this.#joinNamespace(identity);
    const adopted = adoptedProcess(identity);
    // The end of the output is the first sign of the container's end.
    void this.#log?.ended.then(() => adopted.check());
    this.#follow(adopted);
  }

  async #start(): Promise<void> {
    const { layout, oomKills } = this.#host;
    const { id, config } = this.record;
    const streams = containerStreams(config);
    const input = streams.includes('stdin') ? this.#input : undefined;
    const outputs = streams.filter((stream) => stream !== 'stdin').map((stream) => layout.pipe(id, stream));
    oomKills.grew();
    try {
      if (this.#hasMounts)
        this.#namespace = await MountNamespace.make(config.mounts ?? [], layout.mountDir(id));
      this.#cgroup?.make();
      const spec = this.#spec([...config.command, ...config.args]);
      this.#log = this.#openLog();
      // Taken before the launch: the container may have written its termination message, and ended, when `launch` resolves.
      const startedAt = Number(nowNs());
      const main = await startMain(spec, { input, outputs, tty: config.tty === true });
      this.#run(main, startedAt);
      await this.#namespace?.entered(main.identity.pid);
    } catch (error) {
      const failure = error instanceof StartError ? error : new StartError(128, errorMessage(error), error);
      await this.#startFailed(failure);
      throw failure;
    }
  }

  #spec(command: readonly string[]): ProcessSpec {
    if (this.#hasMounts && this.#namespace === undefined) {
      const message = `the volumes of container ${this.record.id} are out of reach: the next instance has them`;
      throw new StateletError('FailedPrecondition', message);
    }
    const places = { namespace: this.#namespace, cgroup: this.#cgroup };
    return processSpec(this.#host.layout, this.#sandbox, this.record, command, places);
  }

  get #hasMounts(): boolean {
    return (this.record.config.mounts ?? []).length > 0;
  }

  /** Of a process that an earlier monitor has started. */
  #joinNamespace({ pid }: ProcessIdentity): void {
    if (!this.#hasMounts) return;
    try {
      this.#namespace = MountNamespace.of(pid);
    } catch (error) {
      this.#host.log(`commands of container ${this.record.id} cannot be run: ${errorMessage(error)}`);
    }
  }

  #leaveNamespace(): void {
    this.#namespace?.close();
    this.#namespace = undefined;
  }

  #run(main: MainProcess, startedAt: number): void {
    this.record.state = 'CONTAINER_RUNNING';
    this.record.startedAt = startedAt;
    this.record.process = main.identity;
    this.#save();
    this.#follow(main);
    this.#host.emit('CONTAINER_STARTED_EVENT', this.record);
  }

  #follow(main: MainProcess): void {
    this.#main = main;
    this.#finished = main.ended.then((ending) => this.#finish(ending, main.identity.pid));
  }

  async #startFailed({ exitCode, message }: StartError): Promise<void> {
    const finishedAt = Number(nowNs());
    this.record.exit = { exitCode, reason: 'StartError', message, finishedAt };
    await this.#removeCgroup();
    await this.#log?.finish();
    this.#settle('');
  }

  /** After the end of the main process: records how it ended, and kills what is left of the container. */
  async #finish(ending: Ending, sessionId: number | undefined): Promise<void> {
    this.#killTimer.disarm();
    this.#input.close();
    const { oomKills } = this.#host;
    this.record.exit ??= exitAfter({ ending, isKilled: this.#killed, cgroup: this.#cgroup, oomKills });
    this.#save();
    const { id, process: main } = this.record;
    const remains = { sessionId, containerId: id, sinceTicks: main?.startTicks ?? 0 };
    await this.#removeCgroup();
    // Also what has left the group.
    await this.#host.sweeper.clear(remains);
    await this.#log?.finish();
    this.#settle(this.#message(this.record.exit.exitCode));
  }

  async #removeCgroup(): Promise<void> {
    const problem = await this.#cgroup?.remove();
    if (problem !== undefined) this.#host.log(`the cgroup of container ${this.record.id}: ${problem}`);
  }

  #message(exitCode: number): string {
    const message = messageFile(this.#host.layout, this.record).place;
    const log = logFilePath(this.record, this.#sandbox);
    const { annotations, linux } = this.record.config;
    const user = userOf(this.record.config);
    const gids = user && [user.gid, ...(linux?.securityContext?.supplementalGroups ?? [])];
    const writtenSinceMs = this.record.startedAt / 1e6;
    const files = { message, writer: user && { uid: user.uid, gids: gids ?? [] }, writtenSinceMs, log };
    return terminationMessage({ annotations, exitCode }, files);
  }

  #settle(message: string): void {
    this.#leaveNamespace();
    if (this.record.exit && message !== '') this.record.exit = { ...this.record.exit, message };
    this.record.state = 'CONTAINER_EXITED';
    this.#save();
    this.#host.emit('CONTAINER_STOPPED_EVENT', this.record);
  }

  #askToEnd(): void {
    const signal = stopSignal(this.record.config);
    this.#send(String(signal), (main) => main.signal(signal));
  }

  #killWithin(timeoutMs: number): void {
    const killAtMs = performance.now() + timeoutMs;
    if (killAtMs >= this.#killAtMs || this.record.exit) return;
    this.#killAtMs = killAtMs;
    const kill = (): void => {
      this.#killed = true;
      this.#send('SIGKILL', (main) => main.killGroup());
    };
    this.#killTimer.disarm();
    if (timeoutMs <= 0) kill();
    else this.#killTimer.arm(timeoutMs, kill);
  }

  #send(signal: string, send: (main: MainProcess) => void): void {
    try {
      if (this.#main) send(this.#main);
    } catch (error) {
      this.#host.log(`container ${this.record.id} could not be sent ${signal}: ${errorMessage(error)}`);
    }
  }

  #openLog(): ContainerLog {
    const { layout, log } = this.#host;
    const path = logFilePath(this.record, this.#sandbox);
    const onTrouble = (error: Error): void =>
      log(`output of container ${this.record.id} is lost, ${path ?? ''} cannot be written: ${error.message}`);
    const file = path === undefined ? undefined : new LogFile(path, onTrouble);
    const { id, config } = this.record;
    const stdout = openForReading(layout.pipe(id, 'stdout'));
    if (!containerStreams(config).includes('stderr')) return new ContainerLog({ stdout }, file);
    return new ContainerLog({ stdout, stderr: openForReading(layout.pipe(id, 'stderr')) }, file);
  }

  #tryOpenLog(): void {
    try {
      this.#log = this.#openLog();
    } catch (error) {
      this.#host.log(`the output of container ${this.record.id} is lost: ${errorMessage(error)}`);
    }
  }

  /** If the disk is full, the container goes on: only the next monitor would miss the state. */
  #save(): void {
    try {
      this.#host.store.saveContainer(this.record);
    } catch (error) {
      this.#host.log(`the state of container ${this.record.id} could not be saved: ${errorMessage(error)}`);
    }
  }
}
