/** The recorded figures of how much the node had left. Records of former versions have none. */
import type { PressureFigure } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { listAt, memberOf } from './recorded-life.ts';

export function recordedFigures({ chart, event, data }: Transition): readonly PressureFigure[] {
  if (chart !== 'eviction' || event !== 'EVALUATED') return [];
  return listAt(memberOf(data, 'evaluation'), 'figures').filter(isFigure);
}

function isFigure(figure: unknown): figure is PressureFigure {
  const isNumber = (name: string) => Number.isFinite(memberOf(figure, name));
  const isLimit = (name: string) => memberOf(figure, name) === undefined || isNumber(name);
  return (
    typeof memberOf(figure, 'signal') === 'string' &&
    ['left', 'whole'].every(isNumber) &&
    ['hard', 'soft'].every(isLimit)
  );
}
