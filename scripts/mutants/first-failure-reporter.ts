/** A Jest reporter that prints the first failed test. With `FAIL_FAST` the process exits then: Jest itself would finish the file. */
interface CaseResult {
  readonly status: string;
  readonly fullName: string;
}

interface FileResult {
  readonly testResults: readonly CaseResult[];
  readonly failureMessage?: string | null;
}

export default class FirstFailureReporter {
  #found = false;

  onTestCaseResult(_test: unknown, { status, fullName }: CaseResult): void {
    if (status !== 'failed') return;
    this.#tell(`“${fullName}”`);
    if (process.env.FAIL_FAST !== undefined) process.exit(1);
  }

  /** A file that fails before its first test has no test results. */
  onTestResult(_test: unknown, { testResults, failureMessage }: FileResult): void {
    if (testResults.length === 0 && failureMessage) this.#tell(failureMessage);
  }

  #tell(what: string): void {
    if (!this.#found) console.log(what);
    this.#found = true;
  }
}
