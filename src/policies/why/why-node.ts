/** What the node does and what it lacks, in a few sentences. */
import type { Why } from './why-pod.ts';
import { stateSentence } from './state-sentences.ts';
import { type PressureFacts, pressureTexts, type WhyPressure, whyPressure } from './why-pressure.ts';

export interface NodeWhyFacts {
  readonly name: string;
  /** Why it is not ready, in the words of the Ready condition. */
  readonly problems: readonly string[];
  /** Pressure conditions that hold. */
  readonly conditions: readonly string[];
  /** Undefined where no pod is evicted on this node. */
  readonly pressure?: PressureFacts | undefined;
  /** The states of the supervisor's chart: `Runtime.Ready`. */
  readonly states: readonly string[];
  /** Pods that have not ended, and those of them that wait or are ending, by name. */
  readonly pods: number;
  readonly waiting: readonly string[];
  readonly ending: readonly string[];
  readonly nowMs: number;
}

export interface NodeWhy extends Why {
  /** Only under pressure. */
  readonly pressure?: WhyPressure;
}

/** At most so many pods are named. */
const NAMED_MAX = 5;

export function whyNode(facts: NodeWhyFacts): NodeWhy {
  const { name, problems, conditions, states, nowMs } = facts;
  const short = conditions.length === 0 ? undefined : facts.pressure;
  const isReady = problems.length === 0;
  const what = isReady ? 'is ready' : `is not ready: ${problems.join('; ')}`;
  const notable = states.filter((state) => !RESTING.has(state));
  const open = notable.map((state) => stateSentence('supervisor', state) ?? state);
  const pressure = [
    ...(conditions.length === 0 ? [] : [`It is under pressure: ${conditions.join(', ')}`]),
    ...(short === undefined ? [] : pressureTexts(conditions, short, nowMs)),
  ];
  return {
    subject: `node ${name}`,
    state: isReady ? 'Ready' : 'NotReady',
    ...(short && { pressure: whyPressure(short) }),
    sentences: [
      `Node ${name} ${what}`,
      ...open.map((text) => text.slice(0, 1).toUpperCase() + text.slice(1)),
      ...pressure,
      podsText(facts),
    ].map((text) => `${text}.`),
  };
}

/** States that need no word. */
const RESTING: ReadonlySet<string> = new Set(['Sources.Ready', 'Runtime.Ready', 'Loop.Running']);

function podsText({ pods, waiting, ending }: NodeWhyFacts): string {
  const parts = [
    ...(waiting.length === 0 ? [] : [`${waiting.length} of them waiting (${named(waiting)})`]),
    ...(ending.length === 0 ? [] : [`${ending.length} ending (${named(ending)})`]),
  ];
  const count = pods === 1 ? '1 pod is here' : `${pods} pods are here`;
  return parts.length === 0 ? count : `${count}, ${parts.join(', ')}`;
}

function named(names: readonly string[]): string {
  const rest = names.length - NAMED_MAX;
  return names.slice(0, NAMED_MAX).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
