/** systemd's manager, as far as slices need it: `org.freedesktop.systemd1.Manager`. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { textOf } from '../../policies/formats/json-values.ts';
import type { UnitProperty } from '../../policies/cgroups/systemd-properties.ts';
import { systemClock, Timer } from '../../../system/timer.ts';
import { DBusConnection, DBusError } from '../../../system/dbus/dbus-connection.ts';
import type { DBusMessage } from '../../../system/dbus/dbus-message.ts';
import type { DBusValue, DBusVariant } from '../../../system/dbus/dbus-types.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';

/** The sockets at which systemd takes calls, the best first. */
export interface SystemdSockets {
  /** systemd's own, for root. It needs no message bus, and shows at once when systemd executes itself anew. */
  readonly direct: string;
  /** The message bus: all there is for an agent in a container that has only this mounted. */
  readonly bus: string;
}

export interface SystemdManagerOptions {
  readonly sockets: SystemdSockets;
  /** How long systemd may take for a call with its job. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 30_000;
/** A connection that is not used is closed: systemd would send it every change of a unit. */
const IDLE_MS = 10_000;
/** systemd takes about half a second to execute itself anew. */
const RETRY_MS = [50, 200, 500, 1000];

const SYSTEMD = 'org.freedesktop.systemd1';
const MANAGER = {
  destination: SYSTEMD,
  path: '/org/freedesktop/systemd1',
  interface: `${SYSTEMD}.Manager`,
};
const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};
const JOBS = `type='signal',sender='${SYSTEMD}',interface='${SYSTEMD}.Manager',member='JobRemoved'`;
const UNIT_EXISTS = `${SYSTEMD}.UnitExists`;
const NO_SUCH_UNIT = `${SYSTEMD}.NoSuchUnit`;
/** Of the bus: the peer has left it before it answered, or is not there. */
const GONE = ['NoReply', 'Disconnected', 'ServiceUnknown', 'NameHasNoOwner'].map(
  (name) => `org.freedesktop.DBus.Error.${name}`,
);

export class SystemdManager {
  readonly #sockets: SystemdSockets;
  readonly #patienceMs: number;
  readonly #idle = new Timer(systemClock);
  #connection: Promise<DBusConnection> | undefined;
  /** Calls that wait for their job, or do not know it yet. */
  #calls = 0;
  /** Results of jobs that ended before their call was answered. */
  readonly #ended = new Map<string, string>();
  readonly #jobs = new Map<string, PromiseWithResolvers<string>>();
  #sending = 0;
  #isClosed = false;

  constructor({ sockets, patienceMs = PATIENCE_MS }: SystemdManagerOptions) {
    this.#sockets = sockets;
    this.#patienceMs = patienceMs;
  }

  /** Makes the slice, with those above it. One that is there stays as it is; one that has failed is started anew. */
  async startSlice(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    const start = () =>
      this.#job('StartTransientUnit', 'ssa(sv)a(sa(sv))', [unit, 'replace', properties, []]);
    try {
      await start();
    } catch (error) {
      if (!isError(error, UNIT_EXISTS)) throw error;
      if (await this.#isActive(unit)) return;
      await this.#resetFailed(unit);
      await this.#job('StartUnit', 'ss', [unit, 'replace']);
    }
  }

  /** Resolves to false where there is no such unit. */
  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<boolean> {
    return this.#unlessGone(() => this.#call('SetUnitProperties', 'sba(sv)', [unit, true, properties]));
  }

  /** Ends what runs in the unit, and forgets the unit. One that does not exist is no error. */
  async stop(unit: string): Promise<void> {
    await this.#unlessGone(() => this.#job('StopUnit', 'ss', [unit, 'replace']));
    await this.#resetFailed(unit);
  }

  close(): void {
    this.#isClosed = true;
    this.#idle.disarm();
    this.#disconnect();
  }

  async #isActive(unit: string): Promise<boolean> {
    const [path] = await this.#call('LoadUnit', 's', [unit]);
    const [state] = await this.#send((connection) =>
      connection.call(
        {
          destination: SYSTEMD,
          path: textOf(path),
          interface: 'org.freedesktop.DBus.Properties',
          member: 'Get',
          signature: 'ss',
          body: [`${SYSTEMD}.Unit`, 'ActiveState'],
        },
        this.#patienceMs,
      ),
    );
    const { value } = state as DBusVariant;
    return value === 'active' || value === 'activating' || value === 'reloading';
  }

  async #resetFailed(unit: string): Promise<void> {
    await this.#unlessGone(() => this.#call('ResetFailedUnit', 's', [unit]));
  }

  async #unlessGone(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      if (isError(error, NO_SUCH_UNIT)) return false;
      throw error;
    }
  }

  /** Resolves when the job that the call makes has ended. */
  async #job(member: string, signature: string, body: readonly DBusValue[]): Promise<void> {
    const unit = textOf(body[0]);
    this.#calls++;
    try {
      await this.#send(async (connection) => {
        const [job] = await connection.call({ ...MANAGER, member, signature, body }, this.#patienceMs);
        const result = await this.#resultOf(textOf(job), unit);
        if (result !== 'done') throw jobFailed(unit, result);
      });
    } finally {
      if (--this.#calls === 0) this.#ended.clear();
    }
  }

  #call(member: string, signature: string, body: readonly DBusValue[]): Promise<readonly DBusValue[]> {
    return this.#send((connection) =>
      connection.call({ ...MANAGER, member, signature, body }, this.#patienceMs),
    );
  }

  /** Repeats calls whose connection was lost, as when systemd executes itself anew: each of them may be made twice. */
  async #send<T>(work: (connection: DBusConnection) => Promise<T>): Promise<T> {
    this.#idle.disarm();
    this.#sending++;
    try {
      for (const pauseMs of RETRY_MS) {
        try {
          return await work(await this.#connected());
        } catch (error) {
          if (!isLost(error)) throw error;
          await delay(pauseMs);
        }
      }
      return await work(await this.#connected());
    } catch (error) {
      throw isLost(error) ? notThere(error) : error;
    } finally {
      if (--this.#sending === 0 && !this.#isClosed) this.#idle.arm(IDLE_MS, () => this.#disconnect());
    }
  }

  #connected(): Promise<DBusConnection> {
    return (this.#connection ??= this.#connect());
  }

  async #connect(): Promise<DBusConnection> {
    const { direct, bus } = this.#sockets;
    const isDirect = existsSync(direct) || !existsSync(bus);
    const connection = await DBusConnection.open({
      path: isDirect ? direct : bus,
      patienceMs: this.#patienceMs,
      onSignal: (signal) => this.#heard(signal),
      onClosed: () => this.#lost(),
    });
    try {
      if (!isDirect) await subscribe(connection, this.#patienceMs);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #disconnect(): void {
    this.#connection?.then(
      (connection) => connection.close(),
      () => undefined,
    );
  }

  #lost(): void {
    this.#connection = undefined;
    const waiting = [...this.#jobs.values()];
    this.#jobs.clear();
    this.#ended.clear();
    for (const { reject } of waiting) reject(new StateletError('Unavailable', 'the connection was lost'));
  }

  #heard(signal: DBusMessage): void {
    if (signal.member !== 'JobRemoved' || this.#calls === 0) return;
    const [, job, , result] = signal.body().map(textOf);
    if (job === undefined || result === undefined) return;
    const waiting = this.#jobs.get(job);
    if (waiting) waiting.resolve(result);
    else this.#ended.set(job, result);
  }

  async #resultOf(job: string, unit: string): Promise<string> {
    const ended = this.#ended.get(job);
    if (ended !== undefined) return ended;
    const waiting = Promise.withResolvers<string>();
    this.#jobs.set(job, waiting);
    const timer = new Timer(systemClock);
    const seconds = this.#patienceMs / 1000;
    const message = `systemd has not finished its job for ${unit} within ${seconds} s`;
    timer.arm(this.#patienceMs, () => waiting.reject(new StateletError('DeadlineExceeded', message)));
    try {
      return await waiting.promise;
    } finally {
      timer.disarm();
      this.#jobs.delete(job);
    }
  }
}

/** Otherwise the bus passes no signal on. */
async function subscribe(connection: DBusConnection, patienceMs: number): Promise<void> {
  await connection.call({ ...BUS, member: 'Hello' }, patienceMs);
  await connection.call({ ...BUS, member: 'AddMatch', signature: 's', body: [JOBS] }, patienceMs);
  await connection.call({ ...MANAGER, member: 'Subscribe' }, patienceMs);
}

function isError(error: unknown, name: string): boolean {
  return error instanceof DBusError && error.errorName === name;
}

function isLost(error: unknown): boolean {
  return error instanceof DBusError ? GONE.includes(error.errorName) : errorKind(error) === 'Unavailable';
}

function notThere(cause: unknown): StateletError {
  const message = `systemd, which makes the cgroups of pods (cgroupDriver: systemd), does not answer: ${errorMessage(cause)}`;
  return new StateletError('Unavailable', message, { cause });
}

function jobFailed(unit: string, result: string): StateletError {
  return new StateletError('Internal', `systemd's job for ${unit} ended as "${result}" instead of "done"`);
}
