/** How a simulated plugin answers one question: as it should, or in one of the ways in which plugins misbehave. */
import type { KeyedRandom } from '../resources/growth.ts';
import { pick } from './plugins-plan.ts';

export type Manner =
  | 'honest'
  /** Names pods that it must not name, and sends values without sense. */
  | 'lying'
  /** Answers with something of another form. */
  | 'nonsense'
  | 'rejects'
  /** Throws before it returns anything. */
  | 'throws'
  /** Never answers, and rejects when the question is aborted. */
  | 'hangs'
  /** Never answers, and ignores that the question is aborted. */
  | 'deaf'
  /** Answers after the deadline. */
  | 'late';

export interface Behaviour {
  readonly manner: Manner;
  readonly delayMs: number;
}

const MANNERS: readonly Manner[] = [
  'honest',
  'lying',
  'nonsense',
  'rejects',
  'throws',
  'hangs',
  'deaf',
  'late',
];
/** How a plugin behaves for as long as its socket is there. */
const CHARACTERS = ['honest', 'honest', 'slow', 'lying', 'lying', 'stuck', 'failing', 'mixed'] as const;
const QUICK_MS = 20;

export interface BehaviourDraw {
  readonly random: KeyedRandom;
  /** Of the plugin, as long as its socket is there. */
  readonly life: string;
  /** Of this question. */
  readonly question: string;
  readonly timeoutMs: number;
}

export function drawnBehaviour({ random, life, question, timeoutMs }: BehaviourDraw): Behaviour {
  const character = pick(CHARACTERS, random(`${life}/temper`));
  const quickMs = 1 + Math.floor(QUICK_MS * random(`${question}/quick`));
  const value = random(`${question}/manner`);
  switch (character) {
    case 'honest':
      return { manner: 'honest', delayMs: quickMs };
    case 'slow':
      // Never at the deadline itself, where either may come first.
      return { manner: 'honest', delayMs: 1 + Math.floor((timeoutMs - 2) * random(`${question}/slow`)) };
    case 'lying':
      return { manner: value < 0.8 ? 'lying' : 'nonsense', delayMs: quickMs };
    case 'stuck':
      return stuck(pick(['hangs', 'deaf', 'late', 'honest'], value), quickMs, timeoutMs);
    case 'failing':
      return { manner: pick(['rejects', 'throws', 'nonsense', 'honest'], value), delayMs: quickMs };
    case 'mixed':
      return stuck(pick(MANNERS, value), quickMs, timeoutMs);
  }
}

export function honestBehaviour({ random, question }: BehaviourDraw): Behaviour {
  return { manner: 'honest', delayMs: 1 + Math.floor(QUICK_MS * random(`${question}/quick`)) };
}

function stuck(manner: Manner, quickMs: number, timeoutMs: number): Behaviour {
  return { manner, delayMs: manner === 'late' ? timeoutMs + quickMs : quickMs };
}
