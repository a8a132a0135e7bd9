/** Pods that come and go at a steady rate on the production agent, whose runtime is simulated and answers at once. */
import { Subject } from 'rxjs';
import type { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import type { SupervisorEvent } from '../../src/agent/machines/supervisor-machine.ts';
import { systemClock } from '../../src/system/timer.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { testNode } from '../../test/support/admission.ts';
import { instantAgent } from './instant-agent.ts';

/** How many pods run at a time. */
const PODS = 100;
const TICK_MS = 10;

export class SteadyLives {
  readonly agent: NodeAgent;
  readonly #events = new Subject<SupervisorEvent>();
  readonly #running: Pod[] = [];
  #count = 0;

  constructor() {
    this.agent = instantAgent({
      clock: systemClock,
      configuration: this.#events,
      nodeFacts: testNode({ allocatable: { cpu: '1', memory: '1Gi', pods: '1000' } }),
    });
  }

  async start(): Promise<void> {
    this.agent.start();
    await pause(100);
    this.#events.next({ type: 'SOURCE_SEEN', source: 'file' });
    while (this.#running.length < PODS) this.#add();
    await pause(500);
  }

  /** For each pod that comes, the oldest one goes. Returns how many. */
  async run(livesPerSecond: number, seconds: number): Promise<number> {
    const began = performance.now();
    let lives = 0;
    for (;;) {
      const elapsedMs = performance.now() - began;
      if (elapsedMs >= seconds * 1000) return lives;
      for (; lives < (livesPerSecond * elapsedMs) / 1000; lives++) {
        this.#add();
        const oldest = this.#running.shift();
        if (oldest) this.#events.next({ type: 'CONFIG.REMOVE', source: 'file', pods: [oldest] });
      }
      await pause(TICK_MS);
    }
  }

  #add(): void {
    const name = `pod-${String(this.#count++)}`;
    const pod: Pod = {
      metadata: {
        name,
        namespace: 'default',
        uid: `5b3a0f6e-0000-4000-8000-${name.slice(4).padStart(12, '0')}`,
      },
      spec: {
        containers: [{ name: 'main', image: 'registry.example/app:1', command: ['run'] }],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
      },
    };
    this.#running.push(pod);
    this.#events.next({ type: 'CONFIG.ADD', source: 'file', pods: [pod] });
  }
}

export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(() => resolve(undefined), ms));
}
