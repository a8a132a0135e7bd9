/** A program on a kernel of its own passes its findings to the test that has started it as a line of its output. */
const REPORT = 'REPORT ';

/** The path at which the program finds the folder of this machine that it may change, if there is one. */
export const DISK = '/mnt';

export function report(found: object): void {
  process.stdout.write(`\n${REPORT}${JSON.stringify(found)}\n`);
}

/** Throws where the output has no report. */
export function reportIn(output: string): unknown {
  const line = output.split(/\r?\n/).find((one) => one.startsWith(REPORT));
  if (line === undefined) throw new Error(`the program has not reported:\n${output}`);
  return JSON.parse(line.slice(REPORT.length));
}
