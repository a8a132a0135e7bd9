/** Reads YAML in time and memory proportional to its length, and stops at the limits of a manifest. */
import {
  Composer,
  isScalar,
  Lexer,
  LineCounter,
  Parser,
  visit,
  type CST,
  type Document,
  type Tags,
  type YAMLMap,
} from 'yaml';
import { asInt64 } from '../../policies/formats/go-text.ts';
import {
  ALIASES_MAX,
  DEPTH_MAX,
  ManifestLimitError,
  PODS_MAX,
  tooDeep,
  tooManyValues,
  VALUES_MAX,
} from './manifest-limits.ts';

/** The values of all documents that are not empty. Throws `YamlSyntaxError` and `ManifestLimitError`. */
export function parseYaml(text: string): unknown[] {
  const lines = new LineCounter();
  const composer = new Composer({
    schema: 'yaml-1.1',
    customTags: kubernetesTags,
    // The library compares each key with all keys before it, which takes quadratic time: `repeatedKey` does it below.
    uniqueKeys: false,
  });
  const values: unknown[] = [];
  const problems: string[] = [];
  let failure: Error | undefined;
  for (const document of composer.compose(boundedTokens(text, lines))) {
    problems.push(...syntaxProblems(document, lines));
    if (problems.length > 0 || failure !== undefined) continue;
    try {
      // At once: the tree of a document takes many times the memory of its values, and can then be collected.
      mendScalars(document);
      values.push(document.toJS());
    } catch (error) {
      failure = error as Error;
    }
  }
  if (problems.length > 0) throw new YamlSyntaxError(problems);
  if (failure !== undefined) throw failure;
  return values.filter((value) => value != null);
}

export class YamlSyntaxError extends Error {
  /** One for each document that has any. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems[0]);
    this.problems = problems;
  }
}

/**
 * Kubernetes reads YAML 1.1, where `0644` is octal and `yes` is true. Unlike YAML 1.1 it reads times as texts, and numbers to
 * the base of 60 too: `80:80` is a text. So are `.` and `e5`, which the library reads as numbers.
 */
function kubernetesTags(tags: Tags): Tags {
  return tags.flatMap((tag): Tags => {
    if (typeof tag === 'string') return [tag];
    if (tag.tag.endsWith(':timestamp') || ('format' in tag && tag.format === 'TIME')) return [];
    if (!tag.tag.endsWith(':float') || !('test' in tag) || tag.test === undefined) return [tag];
    return [{ ...tag, test: new RegExp(FLOAT_BEGINS.source + tag.test.source) }];
  });
}

/** A float begins with a digit, or with the letters of `.inf` and `.nan`. */
const FLOAT_BEGINS = /^(?=[-+]?\.?[\dinIN])/;

/** Lexemes include indents, line ends, comments and signs: more than `VALUES_MAX` values need. */
const LEXEMES_MAX = 12 * VALUES_MAX;
/** The lexer's mark before the text of a scalar. */
const SCALAR = '\u001f';
/** The tokens of the library's parser. Stops at a limit before the composer runs, which takes many times the memory. */
function* boundedTokens(text: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let [lexemes, values, aliases, documents] = [0, 0, 0, 0];
  let isText = false;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      if (token.type === 'document' && ++documents > PODS_MAX) throw tooManyDocuments();
      yield token;
    }
    if (!isText && isValue(lexeme) && ++values > 2 * VALUES_MAX) throw tooManyValues();
    if (!isText && lexeme.startsWith('*') && ++aliases > ALIASES_MAX) throw tooManyAliases();
    if (parser.stack.length > DEPTH_MAX) throw tooDeep();
    if (++lexemes > LEXEMES_MAX)
      throw new ManifestLimitError('has too many lines and punctuation marks: split it into several files');
    isText = lexeme === SCALAR;
  }
  yield* parser.end();
}

/** Keys count as values here, so twice as many are allowed. */
function isValue(lexeme: string): boolean {
  return lexeme === SCALAR || lexeme === '[' || lexeme === '{' || lexeme === '-' || /^["']/.test(lexeme);
}

function tooManyDocuments(): ManifestLimitError {
  return new ManifestLimitError(`has more than ${PODS_MAX} documents: split it into several files`);
}

function tooManyAliases(): ManifestLimitError {
  return new ManifestLimitError(`has more than ${ALIASES_MAX} aliases`);
}

/** Only the first problem of a document: the later ones mostly follow from it. */
function syntaxProblems(document: Document.Parsed, lines: LineCounter): string[] {
  const [error] = document.errors;
  const duplicate = error ? undefined : repeatedKey(document);
  const offset = error?.pos[0] ?? duplicate;
  if (offset === undefined) return [];
  const { line, col } = lines.linePos(offset);
  return [`${error?.message ?? 'Map keys must be unique'} at line ${line}, column ${col}`];
}

/** Never matches. */
const NOTHING = /(?!)/u;

/**
 * Whole numbers that are a little too large for an int64, which a number of JavaScript cannot show, get a value that shows it. The library builds
 * quoted texts character by character. V8 keeps such a text as a tree of some 30 bytes for each character until something searches it.
 */
function mendScalars(document: Document): void {
  visit(document, {
    Scalar: (_key, scalar) => {
      const { value, source } = scalar;
      if (typeof value === 'string') scalar.value = value.replace(NOTHING, '');
      else if (typeof value === 'number') scalar.value = asInt64(value, source);
    },
  });
}

/** The offset of the first key that stands twice in its map. */
function repeatedKey(document: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Map: (_key, map) => {
      offset = repeatedKeyOf(map);
      return offset === undefined ? undefined : visit.BREAK;
    },
  });
  return offset;
}

function repeatedKeyOf({ items }: YAMLMap): number | undefined {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (seen.has(key.value)) return key.range?.[0];
    seen.add(key.value);
  }
  return undefined;
}
