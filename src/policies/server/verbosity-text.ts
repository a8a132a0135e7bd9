/** What may be PUT to `/debug/flags/v`: a verbosity of klog, in Go's rules for numbers and with Go's errors. */
import { StateletError } from '../../types/errors.ts';

const UINT32_MAX = 2 ** 32 - 1;
const INT32_MAX = 2 ** 31 - 1;

/** Throws `InvalidArgument` with the kubelet's message. */
export function verbosityOf(text: string): number {
  const quoted = JSON.stringify(text);
  if (!/^\d+$/u.test(text)) throw invalid(`strconv.ParseUint: parsing ${quoted}: invalid syntax`);
  const level = Number(text);
  if (level > UINT32_MAX) throw invalid(`strconv.ParseUint: parsing ${quoted}: value out of range`);
  if (level > INT32_MAX) {
    const problem = `strconv.ParseInt: parsing ${quoted}: value out of range`;
    throw invalid(`failed set klog.logging.verbosity ${text}: ${problem}`);
  }
  return level;
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', message);
}
