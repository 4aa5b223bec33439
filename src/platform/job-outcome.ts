import { SternaError, type ErrorCode, type FieldFault } from './errors.ts'

/** How a job ended, in the form in which it crosses threads. Errors keep their kind; `failure` is an internal fault. */
export type JobOutcome = { result: unknown } | { refusal: Refusal } | { failure: string }

export interface Refusal {
  code: ErrorCode
  message: string
  faults: FieldFault[] | undefined
}

/** An error in the form in which it crosses threads. */
export const refusalOf = ({ code, message, faults }: SternaError): Refusal => ({ code, message, faults })

/** The error received from the other thread. */
export const errorOf = ({ code, message, faults }: Refusal): SternaError => new SternaError(code, message, faults ? { faults } : {})

export async function outcomeOf(work: () => unknown): Promise<JobOutcome> {
  try {
    return { result: await work() }
  } catch (error) {
    if (error instanceof SternaError) return { refusal: refusalOf(error) }
    return { failure: error instanceof Error ? String(error.stack) : String(error) }
  }
}

/** The result; throws the error of a job that failed. */
export function resultOf(outcome: JobOutcome): unknown {
  if ('result' in outcome) return outcome.result
  throw 'refusal' in outcome ? errorOf(outcome.refusal) : new Error(outcome.failure)
}
