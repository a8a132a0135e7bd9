/** The pods that the flight recorder saw end lately. */
import type { RecordedLife } from '../agent/policies/why/why-gone.ts';
import type { Transition } from '../types/transition.ts';
import { podOfActor } from './policies/record-entry.ts';
import { NEW_STATES, recordedLife } from './policies/recorded-life.ts';
import { recordedHistory } from './recorded-history.ts';

/** Of an end there are three or four transitions. */
const TRANSITIONS_MAX = 600;

/** By UID, with what is known of their ends. Rejects with the system's error where the record cannot be read. */
export async function recordedGone(folder: string): Promise<readonly RecordedLife[]> {
  const ends = await recordedHistory(folder, {
    limit: TRANSITIONS_MAX,
    wants: (actor) => podOfActor(actor)?.part === '',
    keeps: isOfEnd,
  });
  const lives = [...Map.groupBy(ends, ({ actor }) => actor).values()].map((own) => recordedLife(own));
  return lives.filter((life) => life !== undefined);
}

/** A life that begins is kept too: what came before it is not of the last one. */
function isOfEnd({ from, to }: Transition): boolean {
  return NEW_STATES.has(from) || to.startsWith('Terminat') || to === 'Syncing.Draining';
}
