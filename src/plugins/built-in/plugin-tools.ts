import type { BuiltInSettings } from '../../policies/eviction-plugins/built-in/built-in-settings.ts';
import type { Clock } from '../../types/clock.ts';
import type { Excuses } from './excuses.ts';
import type { QuestionFigures } from './question-figures.ts';

/** What a built-in plugin works with. */
export interface PluginTools {
  readonly settings: BuiltInSettings;
  readonly figures: QuestionFigures;
  /** Of the node, by the name of the resource. */
  readonly allocatable: () => Readonly<Record<string, string>>;
  readonly clock: Pick<Clock, 'now'>;
  readonly excuses: Excuses;
}
