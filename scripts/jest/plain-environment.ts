import type { EnvironmentContext, JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { endProcess } from '../../src/system/run-command.ts';
import './bundled-monitor.ts';
import { forbidProcesses } from './no-processes.ts';

/** Where `jest-circus` keeps what belongs to one file. */
const KEPT = [Symbol.for('EVENT_HANDLERS'), Symbol.for('TEST_TIMEOUT_SYMBOL'), Symbol.for('RETRY_TIMES')];

// A worker that leaves nothing open ends at once: Node takes half a second to free its memory, and may wait for ever for a thread of V8.
if (process.send) process.once('beforeExit', () => process.once('exit', endProcess));

/** Jest wraps it for each file. */
const EXIT = process.exit.bind(process);

/**
 * Where a test file runs: in Node's own context, which the files of a worker use one after another. Jest's own environments give each file
 * a context. That loads the whole product anew for each file, and makes every use of a global slow.
 */
export default class PlainEnvironment implements Omit<JestEnvironment, 'fakeTimers'> {
  readonly global = globalThis as JestEnvironment['global'];
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #console = globalThis.console;
  readonly #environment = { ...process.env };
  readonly #workingDirectory = process.cwd();
  readonly #allowProcesses: (() => void) | undefined;

  constructor({ projectConfig }: JestEnvironmentConfig, { testPath }: EnvironmentContext) {
    this.#allowProcesses = forbidProcesses(testPath);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  setup(): Promise<void> {
    return Promise.resolve();
  }

  /** Undoes the changes of Jest and of the file. */
  teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    this.#allowProcesses?.();
    for (const key of KEPT) Reflect.deleteProperty(globalThis, key);
    globalThis.console = this.#console;
    process.exit = EXIT;
    for (const name of Object.keys(process.env)) {
      if (!(name in this.#environment)) Reflect.deleteProperty(process.env, name);
    }
    Object.assign(process.env, this.#environment);
    process.chdir(this.#workingDirectory);
    return Promise.resolve();
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  /** There is none. */
  getVmContext(): null {
    return null;
  }
}
