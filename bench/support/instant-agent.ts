/** The production agent on a simulated runtime that answers at once and never fails. It is for benches of the agent itself. */
import { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import type { NodeAgentOptions } from '../../src/agent/actors/node/node-agent-options.ts';
import { NO_LATENCIES } from '../../src/simulation/runtime/chance.ts';
import { SimulatedRuntime } from '../../src/simulation/runtime/simulated-runtime.ts';
import { NO_NODE_FAULTS } from '../../src/simulation/node/node-fault-draws.ts';
import { simulatedNode } from '../../src/simulation/node/simulated-node.ts';
import type { Clock } from '../../src/types/clock.ts';
import type { NodeFacts } from '../../src/types/node-facts.ts';

const nothing = (): void => undefined;
const random = () => 0.5;

export interface InstantAgentOptions {
  readonly clock: Clock;
  /** Its one source is `file`. */
  readonly configuration: NodeAgentOptions['configuration'];
  readonly nodeFacts: NodeFacts;
}

export function instantAgent({ clock, configuration, nodeFacts }: InstantAgentOptions): NodeAgent {
  const runtime = new SimulatedRuntime({ clock, random, latencies: NO_LATENCIES }).connect();
  const node = simulatedNode({
    runtime,
    disk: new Map(),
    clock,
    random,
    faults: () => NO_NODE_FAULTS,
  });
  const recorder = { event: nothing, nodeEvent: nothing };
  const logger = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };
  return new NodeAgent(
    { clock, random, recorder, logger },
    {
      parts: { runtime, node, start: nothing, stop: () => Promise.resolve() },
      sources: ['file'],
      configuration,
      hostIPs: ['192.0.2.1'],
      syncFrequencyMs: 60_000,
      nodeFacts: () => nodeFacts,
      preemptionLowerPriorityFirst: true,
      maxContainerRestartPeriodMs: 300_000,
      maximumDeadContainersPerContainer: 1,
      startsAtOnce: 16,
    },
  );
}
