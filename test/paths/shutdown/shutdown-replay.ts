/** Replays steps against the production actor, and checks after each what the actor has done in it. */
import { expect } from '@jest/globals';
import type { InspectionEvent } from 'xstate';
import { NodeShutdown } from '../../../src/agent/actors/node/node-shutdown.ts';
import type { shutdownMachine } from '../../../src/agent/machines/shutdown-machine.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { Coverage } from '../coverage.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import { testContext } from '../../support/test-context.ts';
import type { Step } from '../paths.ts';
import {
  essence,
  isEndingGroup,
  type Name,
  NOW,
  PERIODS,
  PODS,
  type ShutdownState,
} from './shutdown-environment.ts';

export class ShutdownReplay {
  readonly #clock = new VirtualClock(NOW);
  readonly #shutdown: NodeShutdown;
  readonly #hasPodsToEnd: boolean;
  #pods: readonly Pod[] = PODS;
  #state: ShutdownState | undefined;
  /** Calls of `shutDown` that have not resolved. */
  #waiting = 0;
  #done = nothingDone();

  /** `hasPodsToEnd`: false when nothing of the pods is left to end. */
  constructor(coverage: Coverage, hasPodsToEnd = true) {
    this.#hasPodsToEnd = hasPodsToEnd;
    const context = testContext({
      clock: this.#clock,
      recorder: {
        event: () => undefined,
        nodeEvent: (_type, reason) => void this.#done.events.push(reason),
      },
      logger: {
        ...silentLogger,
        warn: ({ uid = '' }: { readonly uid?: string }) => void this.#done.late.push(uid),
      },
      inspect: (event: InspectionEvent) => {
        coverage.inspect(event);
        if (event.type === '@xstate.snapshot') this.#state = event.snapshot as ShutdownState;
      },
    });
    this.#shutdown = new NodeShutdown(context, {
      periods: PERIODS,
      pods: () => this.#pods,
      phaseOf: () => 'Running',
      kill: (uid) => {
        this.#done.killed.push(uid);
        return this.#hasPodsToEnd;
      },
      onChange: () => this.#done.changes.push(this.#shutdown.isShuttingDown),
    });
  }

  async step({ name, before, after }: Step<typeof shutdownMachine>): Promise<void> {
    await this.bringAbout(name as Name);
    expect(this.#state && essence(this.#state)).toEqual(essence(after));
    expect(this.#done).toEqual(expectedOf(name as Name, before, after));
    this.#checkWaiting(after);
  }

  async bringAbout(name: Name): Promise<void> {
    this.#done = nothingDone();
    await this.#ways[name]();
    await this.#clock.advance(0);
  }

  get state(): ShutdownState | undefined {
    return this.#state;
  }

  get killed(): readonly string[] {
    return this.#done.killed;
  }

  async stop(): Promise<void> {
    this.#shutdown.stop();
    await this.#clock.advance(0);
    expect([this.#clock.armed, this.#waiting]).toEqual([0, 0]);
  }

  readonly #ways: Readonly<Record<Name, () => void | Promise<void>>> = {
    shutdown: () => this.#shutDown(PODS),
    shutdownWithoutPods: () => this.#shutDown([]),
    cancelled: () => this.#shutdown.cancel(),
    webEnded: () => this.#shutdown.podEnded('uid-of-web'),
    shopEnded: () => this.#shutdown.podEnded('uid-of-shop'),
    dnsEnded: () => this.#shutdown.podEnded('uid-of-dns'),
    timeOver: () => this.#clock.step(),
  };

  #shutDown(pods: readonly Pod[]): void {
    this.#pods = pods;
    this.#waiting += 1;
    void this.#shutdown.shutDown().then(() => (this.#waiting -= 1));
  }

  /** The machine waits, and a timer is armed, only while a group ends. */
  #checkWaiting(after: ShutdownState): void {
    expect([this.#waiting > 0, this.#clock.armed]).toEqual(isEndingGroup(after) ? [true, 1] : [false, 0]);
  }
}

interface Done {
  /** UIDs. */
  readonly killed: string[];
  /** UIDs of the pods of which it was said that they have not ended in time. */
  readonly late: string[];
  /** Whether the node was shutting down, each time that a change was told. */
  readonly changes: boolean[];
  /** Reasons. */
  readonly events: string[];
}

function nothingDone(): Done {
  return { killed: [], late: [], changes: [], events: [] };
}

/** What the actor must do in a step: above all, it kills the pods of a group when the group's turn comes, and only then. */
function expectedOf(name: Name, before: ShutdownState, after: ShutdownState): Done {
  const isDown = after.hasTag('shuttingDown');
  const isChange = isDown !== before.hasTag('shuttingDown');
  const [group] = after.context.groups;
  const isNewGroup = group !== before.context.groups[0];
  return {
    killed: isNewGroup ? [...(group?.uids ?? [])] : [],
    late: name === 'timeOver' ? inOrderOfPods(before.context.awaited) : [],
    changes: isChange ? [isDown] : [],
    events: isChange && isDown ? ['Shutdown'] : [],
  };
}

function inOrderOfPods(uids: readonly string[]): string[] {
  return PODS.map(({ metadata }) => metadata.uid).filter((uid) => uids.includes(uid));
}
