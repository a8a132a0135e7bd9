/** The flags of a bench. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** For each number that can be given as a flag: the number without it, and the one that `--quick` means. */
type Numbers = Readonly<Record<string, { readonly usual: number; readonly quick: number }>>;

/** Numbers that are at least 1, `--quick`, and the bench's `other` flags. A wrong flag ends the process with 2 and says what is right. */
export function benchOptions<N extends Numbers, O extends ParseArgsOptionsConfig>(numbers: N, other: O) {
  const names = Object.keys(numbers);
  const asText = Object.fromEntries(names.map((name) => [name, { type: 'string' }] as const));
  const options = { ...asText, quick: { type: 'boolean' } as const, ...other };
  try {
    const { values } = parseArgs({ options });
    const given = values as Readonly<Record<string, string | boolean | undefined>>;
    const isQuick = given.quick === true;
    const found = Object.entries(numbers).map(([name, { usual, quick }]) => [
      name,
      positive(name, given[name]) ?? (isQuick ? quick : usual),
    ]);
    return {
      ...values,
      ...(Object.fromEntries(found) as { readonly [K in keyof N]: number }),
      quick: isQuick,
    };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

function positive(name: string, text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new Error(`--${name}: ${JSON.stringify(text)} is not a whole number of at least 1`);
}
