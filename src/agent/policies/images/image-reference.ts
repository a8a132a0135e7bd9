/** Names of images as the kubelet reads them: `registry:port/path:tag@digest`. Without a registry, it is Docker Hub. */
import { StateletError } from '../../../types/errors.ts';

export interface ImageReference {
  /** The registry with its port; `docker.io` if the name has none. */
  readonly domain: string;
  /** The path within the registry: `library/busybox` for Docker Hub's own images. */
  readonly path: string;
  readonly tag?: string;
  readonly digest?: string;
}

const DOCKER_HUB = 'docker.io';
const DOCKER_HUB_INDEX = 'index.docker.io';
const NAME_MAX_LENGTH = 255;

const DOMAIN =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[a-f0-9:]+\])(?::\d+)?$/iu;
const PATH = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*$/u;
const TAG = /^\w[\w.-]{0,127}$/u;
const DIGEST = /^[a-z][a-z0-9]*(?:[-_+.][a-z][a-z0-9]*)*:[a-f0-9]{32,}$/iu;
/** A runtime's own id of an image, which has no repository. */
const IDENTIFIER = /^[a-f0-9]{64}$/u;

/** Throws `InvalidArgument` with the kubelet's words if the text is no name of an image. */
export function parseImageReference(image: string): ImageReference {
  if (IDENTIFIER.test(image)) {
    throw invalid(image, `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const [named, digest] = cut(image, image.indexOf('@'));
  const [name, tag] = cut(named, named.indexOf(':', named.lastIndexOf('/') + 1));
  const { domain, path } = located(name);
  if (path !== path.toLowerCase()) {
    throw invalid(image, `invalid reference format: repository name (${path}) must be lowercase`);
  }
  const fits = DOMAIN.test(domain) && PATH.test(path) && fitsOrNone(TAG, tag) && fitsOrNone(DIGEST, digest);
  if (!fits) throw invalid(image, 'invalid reference format');
  if (domain.length + 1 + path.length > NAME_MAX_LENGTH) {
    throw invalid(image, `repository name must not be more than ${NAME_MAX_LENGTH} characters`);
  }
  return { domain, path, tag, digest };
}

/** The name, with `:latest` added if it has neither tag nor digest. Throws as `parseImageReference` does. */
export function withDefaultTag(image: string): string {
  const { tag, digest } = parseImageReference(image);
  return tag === undefined && digest === undefined ? `${image}:latest` : image;
}

export type ImagePullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** The API server's default: `Always` for the tag `latest`, and for a name with neither tag nor digest. */
export function defaultImagePullPolicy(image: string): ImagePullPolicy {
  try {
    const { tag, digest } = parseImageReference(image);
    return (tag ?? (digest === undefined ? 'latest' : '')) === 'latest' ? 'Always' : 'IfNotPresent';
  } catch {
    return 'IfNotPresent';
  }
}

function cut(text: string, at: number): [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** The first part is a registry if it has a dot, a port or capitals, or is `localhost`: it cannot be part of a path then. */
function located(name: string): { domain: string; path: string } {
  const [first, others] = cut(name, name.indexOf('/'));
  const isDomain = /[.:]/u.test(first) || first === 'localhost' || first !== first.toLowerCase();
  if (others !== undefined && isDomain && first !== DOCKER_HUB && first !== DOCKER_HUB_INDEX) {
    return { domain: first, path: others };
  }
  const path = others !== undefined && isDomain ? others : name;
  return { domain: DOCKER_HUB, path: path.includes('/') ? path : `library/${path}` };
}

function fitsOrNone(pattern: RegExp, text: string | undefined): boolean {
  return text === undefined || pattern.test(text);
}

function invalid(image: string, problem: string): StateletError {
  return new StateletError('InvalidArgument', `couldn't parse image name "${image}": ${problem}`);
}

// Patterns of host names in docker's configurations. They come from Secrets of pods, so that they are matched without a regular expression.

/** A name of a host has 253 characters at most. */
const LABEL_LENGTH_MAX = 253;

const PATTERN_LENGTH_MAX = 4_096;

type Token =
  | { readonly kind: 'any' | 'one' }
  | { readonly kind: 'character'; readonly character: string }
  | { readonly kind: 'range'; readonly expression: RegExp };

const SPECIAL = /[*?[]/u;

/** `*` matches any text, `?` any character, `[a-c]` and `[^a-c]` a range, each within one label of a host name. */
export function globFits(pattern: string, label: string): boolean {
  if (!SPECIAL.test(pattern)) return pattern === label;
  if (label.length > LABEL_LENGTH_MAX || pattern.length > PATTERN_LENGTH_MAX) return false;
  const tokens = tokensOf(pattern);
  return tokens !== undefined && tokensFit(tokens, Array.from(label));
}

/** Undefined for a range that is none. */
function tokensOf(pattern: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  const lastBracket = pattern.lastIndexOf(']');
  for (let at = 0; at < pattern.length;) {
    const character = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    const end = character === '[' && at < lastBracket ? rangeEnd(pattern, at) : undefined;
    const token = end === undefined ? plainToken(character) : rangeToken(pattern.slice(at + 1, end));
    if (token === undefined) return undefined;
    // Of several stars in a row one is enough.
    if (token.kind !== 'any' || tokens.at(-1)?.kind !== 'any') tokens.push(token);
    at = end === undefined ? at + character.length : end + 1;
  }
  return tokens;
}

/** Undefined where there is nothing between the brackets. */
function rangeEnd(pattern: string, at: number): number | undefined {
  const begin = pattern[at + 1] === '^' ? at + 2 : at + 1;
  const end = pattern.indexOf(']', begin);
  return end > begin ? end : undefined;
}

function plainToken(character: string): Token {
  if (character === '*') return { kind: 'any' };
  return character === '?' ? { kind: 'one' } : { kind: 'character', character };
}

function rangeToken(inner: string): Token | undefined {
  const [not, range] = inner.startsWith('^') ? ['^', inner.slice(1)] : ['', inner];
  try {
    const expression = new RegExp(`^[${not}${range.replaceAll(/[\\[]/gu, String.raw`\$&`)}]$`, 'u');
    return { kind: 'range', expression };
  } catch {
    return undefined;
  }
}

/** Only the last star is tried with a longer text: what an earlier one takes less, a later one can take. */
function tokensFit(tokens: readonly Token[], characters: readonly string[]): boolean {
  let [token, at] = [0, 0];
  let star: { readonly token: number; at: number } | undefined;
  while (at < characters.length) {
    const next = tokens[token];
    if (next?.kind === 'any') {
      star = { token, at };
      token += 1;
    } else if (next !== undefined && fitsOne(next, characters[at] ?? '')) {
      [token, at] = [token + 1, at + 1];
    } else {
      if (star === undefined) return false;
      star.at += 1;
      [token, at] = [star.token + 1, star.at];
    }
  }
  return tokens.slice(token).every(({ kind }) => kind === 'any');
}

function fitsOne(token: Token, character: string): boolean {
  if (token.kind === 'character') return token.character === character;
  return token.kind === 'one' || (token.kind === 'range' && token.expression.test(character));
}
