/** Apart from `pods.ts`, so that the bundle loads yaml only for this output: by `import('yaml')` it has no named exports there. */
import { Document, visit } from 'yaml';
import { isPrintable } from '../agent/policies/formats/terminal-text.ts';

/** What is printed with escapes stands between double quotes, where escapes have their meaning. */
export function toYAML(value: unknown): string {
  // Others read YAML 1.1, in which `no` and a date are no texts.
  const document = new Document(value, { compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && !isPrintable(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  // YAML has one escape for a character of which JSON escapes both halves.
  return document
    .toString()
    .replace(/[\u{10000}-\u{10ffff}]/gu, (one) => (isPrintable(one) ? one : longEscape(one)));
}

function longEscape(character: string): string {
  return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
}
