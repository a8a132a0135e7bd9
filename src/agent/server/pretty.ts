/** Log lines as text: `12:01:02.345 INFO: default/web: container started container=web attempt=0`. */
import type { DestinationStream } from 'pino';
import { prettyFactory, type PrettyOptions } from 'pino-pretty';
import { isObject, textOf } from '../policies/formats/json-values.ts';
import { oneLine, printable, printableStyled } from '../policies/formats/terminal-text.ts';

type Line = Readonly<Record<string, unknown>>;
type Dim = (text: string) => string;

/** Fields that are shown elsewhere in the line, or only in JSON (a pod's UID). */
const PLACED = new Set(['level', 'time', 'msg', 'pod', 'uid', 'err']);
const FATAL = 60;

export function prettyStream(destination: DestinationStream, colorize: boolean): DestinationStream {
  const prettify = prettyFactory({ ...OPTIONS, colorize });
  return { write: (line) => destination.write(printableStyled(prettify(line))) };
}

const OPTIONS: PrettyOptions = {
  translateTime: 'SYS:HH:MM:ss.l',
  customPrettifiers: { time: (time) => time as string },
  customColors: 'fatal:bgRed,error:red,warn:yellow,info:green,debug:blue,trace:gray,message:reset',
  hideObject: true,
  messageFormat: (line, messageKey, _, { colors }) => formatLine(line, textOf(line[messageKey]), colors.dim),
};

function formatLine(line: Line, message: string, dim: Dim): string {
  const pod = typeof line.pod === 'string' ? oneLine(`${line.pod}: `) : '';
  const text = [pod + printable(message).replaceAll('\n', '\n    '), errorText(line.err)].filter(
    (part) => part !== '',
  );
  const fields = Object.entries(line).filter(([key, value]) => !PLACED.has(key) && value !== undefined);
  const shown = [
    text.join(': '),
    ...fields.map(([key, value]) => dim(oneLine(`${key}=${valueText(value)}`))),
  ];
  return [shown.join(' '), ...defect(line)].join('\n');
}

function errorText(error: unknown): string {
  return isObject(error) && typeof error.message === 'string' ? printable(error.message) : '';
}

/** The stack trace, only for defects of the daemon. */
function defect({ level, err }: Line): string[] {
  const stack = level === FATAL && isObject(err) ? err.stack : undefined;
  return typeof stack === 'string' ? [printable(stack)] : [];
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^\S+$/u.test(value) ? value : JSON.stringify(value);
}
