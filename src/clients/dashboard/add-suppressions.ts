import { ApiError, call } from './api/client.ts'

/** An address to suppress, and where it stood: a line of a file or of a field. */
export interface GivenAddress {
  line: number
  address: string
}

export interface RefusedAddress extends GivenAddress {
  why: string
}

export interface Added {
  /** How many are on the list now, also those that were before. */
  done: number
  refused: RefusedAddress[]
}

/** The most that the API takes at once. */
const atOnce = 1_000
const pauseMs = 2_000

/**
 * Suppresses any number of addresses, a thousand a request, and leaves out those that the API refuses. Goes on where the server cannot
 * be reached for a while or asks for patience. `onProgress` is told after each request; ends early when `stopped` is.
 * @throws ApiError
 */
export async function addSuppressions(
  given: readonly GivenAddress[],
  reason: string,
  { onProgress, stopped }: { onProgress?(added: Added): void; stopped?: AbortSignal } = {},
): Promise<Added> {
  const added: Added = { done: 0, refused: [] }
  for (let at = 0; at < given.length && !stopped?.aborted; at += atOnce) {
    const refused = await addPiece(given.slice(at, at + atOnce), reason, stopped)
    added.done += Math.min(atOnce, given.length - at) - refused.length
    added.refused.push(...refused)
    onProgress?.({ ...added })
  }
  return added
}

/** One request, and another without each hundred that the API refuses. */
async function addPiece(piece: readonly GivenAddress[], reason: string, stopped: AbortSignal | undefined): Promise<RefusedAddress[]> {
  const refused: RefusedAddress[] = []
  for (let left = piece; left.length > 0;) {
    try {
      const body = { emails: left.map(({ address }) => address), ...(reason === '' ? {} : { reason }) }
      await call('/api/suppressions/batch/add', { method: 'POST', body })
      return refused
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (mayPass(error) && stopped && !stopped.aborted) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        continue
      }
      const faults = new Map(error.faults.flatMap(({ field, message }) => placed(field, message)))
      if (faults.size === 0) throw error
      refused.push(...left.flatMap((given, place) => (faults.has(place) ? [{ ...given, why: faults.get(place) ?? '' }] : [])))
      left = left.filter((_, place) => !faults.has(place))
    }
  }
  return refused
}

const mayPass = ({ status }: ApiError): boolean => status === 0 || status === 429 || status === 503

/** ``emails.3``: the place in the request, and what is wrong without the name of the field. */
function placed(field: string, message: string): [number, string][] {
  const place = /^emails\.(\d+)$/.exec(field)?.[1]
  return place === undefined ? [] : [[Number(place), message.replace(/^The `[^`]*` field /, '')]]
}
