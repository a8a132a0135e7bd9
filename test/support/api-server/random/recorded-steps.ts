/** The answers of a real server to the steps of some seeds, a line for each step, so that any machine can compare the double with them. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Played } from './play-steps.ts';

export const RECORDED_SEEDS = [1, 2, 209, 212];
export const RECORDED_STEPS = 80;

export const recordFile = (seed: number): string =>
  fileURLToPath(new URL(`./recorded/seed-${seed}.jsonl`, import.meta.url));

/** Stands for a part that the line has already. */
const AS_ANSWERED = 'as answered';

export function recordText(played: readonly Played[]): string {
  return played
    .map(({ answer, events, ...rest }) => {
      const told = JSON.stringify(answer);
      const heard = (events as { object: unknown }[]).map((event) =>
        JSON.stringify(event.object) === told ? { ...event, object: AS_ANSWERED } : event,
      );
      return `${JSON.stringify({ ...rest, answer, events: heard })}\n`;
    })
    .join('');
}

export function recordedSteps(seed: number): Played[] {
  const lines = readFileSync(recordFile(seed), 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const { answer, events, ...rest } = JSON.parse(line) as Omit<Played, 'events'> & {
      readonly events: readonly { readonly object: unknown }[];
    };
    const heard = events.map((event) =>
      event.object === AS_ANSWERED ? { ...event, object: answer } : event,
    );
    return { ...rest, answer, events: heard };
  });
}
