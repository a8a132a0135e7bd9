/** Suites of tests with daemons on their own containerd. The objects that a suite gets can be used in its tests, not before. */
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { type ContainerdBed, type ContainerdOptions, startContainerd } from './containerd/containerd.ts';
import { describeWithContainerd } from './containerd/suite.ts';
import { CriDaemonBed, type CriDaemonOptions } from './cri-daemon.ts';
import type { Daemon } from './daemon.ts';
import { later } from './later.ts';

/** The suite, after optional options. */
type SuiteArgs<Options, Given> =
  | [suite: (given: Given) => void]
  | [options: Options, suite: (given: Given) => void];

export interface OnContainerd {
  readonly containerd: ContainerdBed;
  /** Opens a bed. It is cleaned up after the test, after the suite's own `afterEach`. */
  readonly openBed: (options?: CriDaemonOptions) => CriDaemonBed;
  /** Cleans the beds up at once, for a suite that has to clean up something else after them. */
  readonly closeBeds: () => Promise<void>;
}

/** A suite with one containerd, in which each test has a bed of its own. */
export function describeOnContainerd(
  name: string,
  ...args: SuiteArgs<ContainerdOptions, OnContainerd>
): void {
  const [suite, options = {}] = suiteFirst(args);
  describeWithContainerd(name, () => {
    let started: ContainerdBed | undefined;
    const containerd = later('containerd', () => started);
    const beds: CriDaemonBed[] = [];
    const openBed = (bedOptions?: CriDaemonOptions) => {
      const bed = new CriDaemonBed(containerd, bedOptions);
      beds.push(bed);
      return bed;
    };
    const closeBeds = async () => {
      for (const bed of beds.splice(0)) await bed.cleanUp();
    };

    beforeAll(async () => {
      started = await startContainerd(options);
    });
    suite({ containerd, openBed, closeBeds });
    afterEach(closeBeds);
    afterAll(() => started?.stop());
  });
}

/** A suite in which all tests share one bed. Each test starts its own daemons. */
export function describeOnBed(name: string, ...args: SuiteArgs<ContainerdOptions, CriDaemonBed>): void {
  const [suite, options = {}] = suiteFirst(args);
  describeWithContainerd(name, () => {
    let started: CriDaemonBed | undefined;
    beforeAll(async () => {
      started = new CriDaemonBed(await startContainerd(options));
    });
    suite(later('the bed', () => started));
    afterAll(() => started?.tearDown());
  });
}

export interface DaemonSuiteOptions extends CriDaemonOptions {
  readonly containerd?: ContainerdOptions;
  /** The least version of containerd. */
  readonly major?: number;
  /** Prepares files for the daemon before it starts, and returns its flags. */
  readonly beforeStart?: (bed: CriDaemonBed) => readonly string[];
}

export interface OnDaemon {
  readonly bed: CriDaemonBed;
  readonly daemon: Daemon;
  /** Starts another daemon after the last one has ended. */
  readonly restart: () => Promise<void>;
}

/** A suite in which all tests share one daemon. */
export function describeOnDaemon(name: string, ...args: SuiteArgs<DaemonSuiteOptions, OnDaemon>): void {
  const [suite, { containerd = {}, major, beforeStart = () => [], ...options } = {}] = suiteFirst(args);
  const declare = () => {
    let bed: CriDaemonBed | undefined;
    let daemon: Daemon | undefined;
    beforeAll(async () => {
      bed = new CriDaemonBed(await startContainerd(containerd), options);
      daemon = await bed.start(...beforeStart(bed));
    });
    const restart = async () => {
      daemon = await bed?.start();
    };
    suite({ bed: later('the bed', () => bed), daemon: later('the daemon', () => daemon), restart });
    afterAll(() => bed?.tearDown());
  };
  describeWithContainerd(name, declare, major);
}

function suiteFirst<Options, Given>(
  args: SuiteArgs<Options, Given>,
): [suite: (given: Given) => void, options?: Options] {
  return args.length === 1 ? args : [args[1], args[0]];
}
