import type { ConnectionObserver } from '../../../src/agent/cluster/service/api-server.ts';

/** Keeps what a client reported of its requests. */
export class ObservedConnection implements ConnectionObserver {
  readonly heard: string[] = [];
  readonly clockDifferences: number[] = [];

  answered(): void {
    this.heard.push('answered');
  }

  unauthorized(problem: string): void {
    this.heard.push(`unauthorized: ${problem}`);
  }

  failed(problem: string): void {
    this.heard.push(`failed: ${problem}`);
  }

  clockDifference(differenceMs: number): void {
    this.clockDifferences.push(differenceMs);
  }
}
