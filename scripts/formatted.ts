import { basename } from 'node:path';
import { format } from 'oxfmt';
import config from '../.oxfmtrc.json' with { type: 'json' };

/** The text as `npm run format` would leave it in this file. */
export async function formatted(file: string | URL, text: string): Promise<string> {
  const { code, errors } = await format(basename(String(file)), text, config);
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('; '));
  return code;
}
