/** What a registry answered, from the runtime's message about a pull that failed. */
import { withoutStop } from './sentence.ts';

const STATUS =
  /(?:status code(?: \[[^\]]*\])?|unexpected status(?: code)?(?: from \w+ request to \S+)?): (?<code>\d{3})(?: (?<words>[A-Z][\w' -]*))?/u;
const HOST = /(?:pulling from host |request to https?:\/\/|(?:Head|Get) "https?:\/\/)(?<host>[^\s/"]+)/u;
const NOT_REACHED = /: dial tcp(?: \S+)?: (?<why>.+)$/u;

/** `registry.example answered 403 (Forbidden)`; undefined for a message of another form. `image`: the reference that was pulled. */
export function registryAnswer(message: string, image: string): string | undefined {
  const text = withoutStop(message);
  const host = HOST.exec(text)?.groups?.host ?? hostOf(image);
  const { code, words = '' } = STATUS.exec(text)?.groups ?? {};
  if (code !== undefined) return `${host} answered ${code}${words === '' ? '' : ` (${words})`}`;
  if (text.includes('pull access denied'))
    return `${host} denied access: it does not have the image, or wants credentials`;
  if (text.endsWith(': not found')) return `${host} does not have it (not found)`;
  const { why } = NOT_REACHED.exec(text)?.groups ?? {};
  return why === undefined ? undefined : `${host} was not reached (${why})`;
}

/** The first part is a host where it could be no name: the same rule as the runtimes have. */
function hostOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/u.test(first) || first === 'localhost');
  return isHost ? first : 'docker.io';
}
