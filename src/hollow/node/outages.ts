/** What fails by plan, comes back after a while, and fails again. */
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { within } from '../../simulation/runtime/chance.ts';
import { systemClock, Timer } from '../../system/timer.ts';
import type { PlannedOutages } from '../plan/plan-field.ts';

/** `random`: of this thing alone. The result ends it: nothing fails or comes back after that. */
export function failByPlan(
  { everyMs, downMs }: PlannedOutages,
  random: KeyedRandom,
  { fail, recover }: { readonly fail: () => void; readonly recover: () => void },
): () => void {
  const timer = new Timer(systemClock);
  let count = 0;
  const chance = (what: string) => random(`${what}/${String(count)}`);
  const work = () => {
    count += 1;
    timer.arm(within(everyMs, chance('every')), down);
  };
  const down = () => {
    fail();
    timer.arm(within(downMs, chance('down')), () => {
      recover();
      work();
    });
  };
  work();
  return () => timer.disarm();
}
