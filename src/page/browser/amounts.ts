/** Amounts of resources as people read them. */

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** `cpu` in thousandths; pods as a count; all others in bytes. */
export function amount(resource: string, value: number): string {
  if (resource === 'cpu') return String(Math.round(value / 10) / 100);
  if (resource === 'pods') return String(value);
  const power = value === 0 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled >= 100 ? Math.round(scaled) : Math.round(scaled * 10) / 10}${UNITS[power] ?? ''}`;
}

/** Of a signal of eviction: bytes, a count, or the share of the time in which no task waits. */
export function figureText(signal: string, value: number): string {
  if (isOfTime(signal)) return `${value}%`;
  const isBytes = signal.endsWith('.available') && signal !== 'pid.available';
  return isBytes ? amount('memory', value) : value.toLocaleString('en');
}

/** `3.1Gi of 7.8Gi left`. */
export function leftText(signal: string, left: number, whole: number): string {
  if (isOfTime(signal)) return `${figureText(signal, left)} of the time without a wait`;
  return `${figureText(signal, left)} of ${figureText(signal, whole)} left`;
}

const isOfTime = (signal: string): boolean => signal.endsWith('.avg10');
