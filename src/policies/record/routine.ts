/** What happens all the time and says nothing: it would push what matters out of the record. */
import type { TransitionKind } from '../../types/transition.ts';

/** Runs of probes whose result is as before, and the supervisor's housekeeping. */
export function isRoutine({ chart, event, from, to, guard }: TransitionKind): boolean {
  if (chart === 'probe')
    return (event === 'DUE' && guard === 'isDue') || (event === 'PROBED' && guard === undefined);
  return chart === 'supervisor' && event === 'HOUSEKEEPING' && from === to;
}
