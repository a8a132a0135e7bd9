/** How a simulated plugin answers one question: as it should, or in one of the ways in which plugins misbehave. */
import type { KeyedRandom } from '../resources/growth.ts';
import { pick } from './plugins-plan.ts';

export type Manner =
  | 'honest'
  /** Names what it must not name, and says what makes no sense. */
  | 'lying'
  /** Answers with something of another form. */
  | 'nonsense'
  | 'rejects'
  /** Throws before it returns anything. */
  | 'throws'
  /** Never answers, and hears when it is not waited for any longer. */
  | 'hangs'
  /** Never answers, and hears nothing. */
  | 'deaf'
  /** Answers when nobody waits any longer. */
  | 'late';

export interface Mood {
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
/** How a plugin is as long as its socket is there. */
const TEMPERS = ['honest', 'honest', 'slow', 'lying', 'lying', 'stuck', 'failing', 'mixed'] as const;
const QUICK_MS = 20;

export interface MoodDrawn {
  readonly random: KeyedRandom;
  /** Of the plugin, as long as its socket is there. */
  readonly life: string;
  /** Of this question. */
  readonly question: string;
  readonly timeoutMs: number;
}

export function drawnMood({ random, life, question, timeoutMs }: MoodDrawn): Mood {
  const temper = pick(TEMPERS, random(`${life}/temper`));
  const quickMs = 1 + Math.floor(QUICK_MS * random(`${question}/quick`));
  const value = random(`${question}/manner`);
  switch (temper) {
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

export function honestMood({ random, question }: MoodDrawn): Mood {
  return { manner: 'honest', delayMs: 1 + Math.floor(QUICK_MS * random(`${question}/quick`)) };
}

function stuck(manner: Manner, quickMs: number, timeoutMs: number): Mood {
  return { manner, delayMs: manner === 'late' ? timeoutMs + quickMs : quickMs };
}
