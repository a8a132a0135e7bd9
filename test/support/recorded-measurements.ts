import type { Measurements, PodEffect, ProbedContainer, Stopwatch } from '../../src/types/measurements.ts';

/** Measurements as lines: what began, and how it ended. */
export class RecordedMeasurements implements Measurements {
  readonly told: string[] = [];

  runtimeOperation(operation: string): Stopwatch {
    return this.#begin(`runtime ${operation}`);
  }

  cgroupOperation(operation: string): Stopwatch {
    return this.#begin(`cgroup ${operation}`);
  }

  volumeOperation(operation: string, plugin: string): Stopwatch {
    return this.#begin(`${operation} ${plugin}`);
  }

  apiRequest(method: string): (host: string, status?: number) => void {
    return (host, status) => void this.told.push(`${method} ${host} ${status ?? 'no answer'}`);
  }

  probe({ pod, container, probe }: ProbedContainer): (result?: 'Success' | 'Failure') => void {
    return (result) => void this.told.push(`${pod} ${container} ${probe} ${result ?? 'no result'}`);
  }

  probeRemoved({ pod, container, probe }: ProbedContainer): void {
    this.told.push(`${pod} ${container} ${probe} removed`);
  }

  podAdded(uid: string, isNew: boolean): void {
    this.told.push(`${uid} ${isNew ? 'new' : 'known'}`);
  }

  podState(uid: string, state: string): void {
    this.told.push(`${uid} in ${state}`);
  }

  podEvent(uid: string, event: string): void {
    this.told.push(`${uid} gets ${event}`);
  }

  podPhase(uid: string, phase: string): void {
    this.told.push(`${uid} is ${phase}`);
  }

  podForgotten(uid: string): void {
    this.told.push(`${uid} forgotten`);
  }

  podEffect(uid: string, effect: PodEffect): Stopwatch {
    return this.#begin(`${uid} ${effect}`);
  }

  relist(): Stopwatch {
    return this.#begin('relist');
  }

  evicted(signal: string): void {
    this.told.push(`evicted for ${signal}`);
  }

  pluginAnswered(plugin: string, call: string, result: string): void {
    this.told.push(`${plugin} ${call}: ${result}`);
  }

  pluginVictim(plugin: string, isDryRun: boolean): void {
    this.told.push(`${isDryRun ? 'dry-run victim' : 'victim'} of ${plugin}`);
  }

  renewalFailed(kind: string): void {
    this.told.push(`${kind} certificate not renewed`);
  }

  #begin(what: string): Stopwatch {
    this.told.push(`${what} begins`);
    return (outcome) => void this.told.push(`${what} ends${outcome === 'failure' ? ' in failure' : ''}`);
  }
}
